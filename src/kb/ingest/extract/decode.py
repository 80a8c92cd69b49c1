"""Bytes to text: UTF-8, what a byte order mark says, else what the bytes look like."""

from __future__ import annotations

import codecs
import re

from kb.errors import ExtractError
from kb.ingest.source import Source

SNIFF_BYTES = 8192
_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LIKELY = ("euc_kr", "cp949", "shift_jis", "cp932", "euc_jp", "gb18030", "big5", "cp1251", "koi8_r", "cp1252")
_SURROGATE = re.compile("[\udc80-\udcff]")
_DETECT_BYTES = 65_536
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
WESTERN, NEAR = "cp1252", 0.1  # of the charsets that fit about equally well, by far the most common one


def is_binary(head: bytes) -> bool:
    """NUL in the first 8 KiB, unless a byte order mark says that it is UTF-16 or UTF-32 text."""
    return b"\x00" in head[:SNIFF_BYTES] and not any(head.startswith(bom) for bom, _ in _BOMS[1:])


def decode(raw: bytes) -> Source:
    """The text of a file; raises ExtractError where it is none."""
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            try:
                return Source(raw[len(bom) :].decode(encoding), encoding, len(bom))
            except UnicodeDecodeError:
                continue  # UTF-16 that begins with NUL has the mark of UTF-32
    try:
        return Source(raw.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    damaged = _damaged_utf8(raw)
    if damaged is not None:
        return damaged
    detected = _detect(raw)
    if detected is None:
        raise ExtractError("no text in any known encoding", fix="convert the file to UTF-8")
    return Source(raw.decode(detected), detected)


def _damaged_utf8(raw: bytes) -> Source | None:
    """UTF-8 with a few broken bytes, such as a log that was cut in a character; each is kept as one U+FFFD."""
    text = raw.decode("utf-8", "surrogateescape")
    broken = len(_SURROGATE.findall(text))
    good = sum(1 for char in text[:100_000] if char > "\x7f") - broken
    if broken * 10 > good:
        return None
    bom = 3 if raw.startswith(codecs.BOM_UTF8) else 0
    return Source(text[1:] if bom else text, "utf-8", bom, "surrogateescape")


def _detect(raw: bytes) -> str | None:
    """The encoding that charset-normalizer finds most plausible and that decodes all of the file."""
    from charset_normalizer import from_bytes

    head = raw[:_DETECT_BYTES]
    if len(raw) > len(head):  # end at a line, so that no character is cut
        head = head[: head.rfind(b"\n") + 1] or head
    matches = from_bytes(head, cp_exclusion=["utf_7", "utf_16", "utf_32", "utf_16_le", "utf_16_be"])
    names = [match.encoding for match in matches]
    likely = [match for match in matches if match.chaos <= matches[0].chaos + NEAR]
    if any(WESTERN in match.could_be_from_charset for match in likely):
        names.insert(0, WESTERN)
    for name in [*names, *_LIKELY]:
        try:
            text = raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if len(_CONTROLS.findall(text)) * 50 > len(text):
            continue  # control characters: it is another encoding, or no text at all
        return name
    return None
