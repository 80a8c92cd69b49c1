"""Which setting of the search answers a store's own questions best, and whether that is more than chance."""

from kb.tune.report import TuneReport, to_dict
from kb.tune.runner import Request, run
from kb.tune.table import as_text

__all__ = ["Request", "TuneReport", "as_text", "run", "to_dict"]
