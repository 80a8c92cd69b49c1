"""The language of a text, where its script alone tells."""

from __future__ import annotations

import re

SAMPLE_CHARS = 20_000
_LETTERS = re.compile(r"[^\W\d_]")
_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff]")
_KANA = re.compile("[\u3041-\u30ff]")
_SCRIPTS = (
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_UKRAINIAN = re.compile("[іїєґІЇЄҐ]")
CLEAR = 0.3  # of the letters: technical prose in these languages is half English words


def script_language(text: str) -> str | None:
    """An ISO 639-1 code, or None where several languages share the script."""
    sample = text[:SAMPLE_CHARS]
    if sample.isascii():
        return None
    other = sample.encode("ascii", "ignore")
    if (len(sample) - len(other)) * 10 < len(sample):
        return None  # a few dashes, accents and names
    letters = len(_LETTERS.findall(sample))
    if letters < 4:
        return None
    han = len(_SCRIPTS[0][1].findall(sample))
    kana = len(_KANA.findall(sample))
    if kana * 10 > han and (kana + han) > letters * CLEAR and kana:
        return "ja"
    if len(_HANGUL.findall(sample)) > letters * CLEAR:
        return "ko"
    for lang, pattern in _SCRIPTS:
        if len(pattern.findall(sample)) > letters * CLEAR:
            return "uk" if lang == "ru" and len(_UKRAINIAN.findall(sample)) * 50 > letters else lang
    return None
