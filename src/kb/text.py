"""What kb knows about text: normal form, scripts, and the words that the index sees.

The same functions prepare stored text and queries, so that both sides always agree. Spans keep pointing into the
original; only the copy given to the full-text index is changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

LEXICAL_VERSION = "fts5-2"  # raised whenever the same text and query would give other keyword candidates

# Scripts written without spaces between words, and Hangul, whose words carry particles: "CJK" in the contract.
CJK_RANGES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff"  # radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"  # Han, halfwidth kana
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)


@cache
def _scripts() -> dict[str, re.Pattern[str]]:
    """Compiled when a text first needs them: that costs 12 ms, and ASCII never does."""
    return {
        "cjk": re.compile(f"[{CJK_RANGES}]"),
        "cyrillic": re.compile("[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff]"),
        "greek": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
        "arabic": re.compile("[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff]"),
        "hebrew": re.compile("[\u0590-\u05ff\ufb1d-\ufb4f]"),
        "devanagari": re.compile("[\u0900-\u097f]"),
        "latin": re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
    }


@cache
def cjk_char() -> re.Pattern[str]:
    return _scripts()["cjk"]


@cache
def cjk_run() -> re.Pattern[str]:
    return re.compile(f"[{CJK_RANGES}]+")


@cache
def pieces() -> re.Pattern[str]:
    """CJK runs, and what stands between them and white space."""
    return re.compile(rf"[{CJK_RANGES}]+|[^\s{CJK_RANGES}]+")


@cache
def _boundary() -> re.Pattern[str]:
    word = rf"[^\W{CJK_RANGES}]"
    return re.compile(rf"(?<=[{CJK_RANGES}])(?={word})|(?<={word})(?=[{CJK_RANGES}])")


def nfc(text: str) -> str:
    """NFC, with NUL and lone surrogates (which no index can hold) replaced."""
    if text.isascii():
        return text.replace("\x00", " ") if "\x00" in text else text
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def has_cjk(text: str) -> bool:
    return not text.isascii() and cjk_char().search(text) is not None


def index_text(text: str) -> str:
    """The copy of a text that the full-text index reads: NFC, with CJK and other words apart ("etcd는" -> "etcd 는")."""
    text = nfc(text)
    return _boundary().sub(" ", text) if has_cjk(text) else text


def scripts(text: str) -> set[str]:
    """The scripts that occur in a text, of those that models differ in; a text without letters has none."""
    if text.isascii():
        return {"latin"} if any(char.isalpha() for char in text) else set()
    found = {name for name, pattern in _scripts().items() if pattern.search(text)}
    if not found and any(char.isalpha() for char in text):
        return {"other"}
    return found


def unreadable_share(text: str, readable: Iterable[str]) -> float:
    """The share of a text's letters in scripts other than these; a CJK character counts as two, as it says more."""
    known = set(readable)
    if not known or (text.isascii() and "latin" in known):
        return 0.0
    read = unread = 0
    for char in text:
        if char.isalpha():
            script = next(iter(scripts(char)), "other")
            if script in known:
                read += 1
            else:
                unread += 2 if script == "cjk" else 1
    return unread / (read + unread) if read + unread else 0.0
