"""Which of the teacher's tokens the static model keeps."""

from __future__ import annotations

import re
from pathlib import Path

from teacher import FOLDER
from tokenizers import Tokenizer

# Latin letters and digits, and Greek letters for the sciences. Of other scripts the vocabulary has single letters only.
_KEPT = re.compile(r"(##)?[a-z0-9\u00df-\u024f\u0370-\u03ff]+")


def tokens(folder: Path = FOLDER) -> list[str]:
    """Kept tokens, sorted by their bytes: the row order of the model."""
    known = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    return sorted((token for token in known if _KEPT.fullmatch(token)), key=str.encode)
