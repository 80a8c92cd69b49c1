"""Retrieval quality of a store or a judged collection: how good are the answers, per mode, and what has changed."""

from kb.evaluate.gate import parse as parse_gates
from kb.evaluate.plot import as_svg
from kb.evaluate.report import Comparison, EvalReport, ModeReport, QueryChange, to_dict
from kb.evaluate.runner import BUDGETS, MODES, Request, run
from kb.evaluate.table import as_text

__all__ = [
    "BUDGETS",
    "MODES",
    "Comparison",
    "EvalReport",
    "ModeReport",
    "QueryChange",
    "Request",
    "as_svg",
    "as_text",
    "parse_gates",
    "run",
    "to_dict",
]
