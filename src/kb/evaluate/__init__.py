"""Retrieval quality of a store or a judged collection: how good are the answers, per mode, and what has changed."""

from kb.evaluate.report import Comparison, EvalReport, ModeReport, QueryChange, to_dict
from kb.evaluate.runner import MODES, Request, run
from kb.evaluate.table import as_text

__all__ = ["MODES", "Comparison", "EvalReport", "ModeReport", "QueryChange", "Request", "as_text", "run", "to_dict"]
