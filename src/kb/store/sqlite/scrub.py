"""Wipes what SQLite leaves in the unused middle of its pages.

``secure_delete`` clears a cell where it is deleted, but not the copy that stays behind when a page is rearranged and
the cell moves to another one first: after 16 of 120 removals words of the removed text were still in the file.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from kb.store.sqlite.connect import Place

HEADER_BYTES = {2: 12, 5: 12, 10: 8, 13: 8}  # by the first byte of a page: inner and leaf pages of indexes and tables
FILE_HEADER = 100  # before the header of the first page
AT_ONCE = 128  # pages that are read together
MOST_PAGES = 1 << 24  # an overflow page begins with a page number: below this its first byte is 0, which no header is


def scrub(connection: apsw.Connection, place: Place) -> bool:
    """Clear the gaps, with the lease held and the log folded in; False when a log is there, whose pages are newer."""
    page_size = int(connection.execute("PRAGMA page_size").get)
    connection.execute("BEGIN IMMEDIATE")  # nobody else can bring pages into the file meanwhile
    try:
        if not place.quiet():
            return False
        # By SQLite's own file layer: with any other, closing the file would drop this process's locks on it.
        file = apsw.VFSFile("", str(place.db.absolute()), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
        try:
            gaps = list(_gaps(file, page_size))
            for start, end in gaps:
                file.xWrite(bytes(end - start), start)
            if gaps:
                file.xSync(apsw.SQLITE_SYNC_FULL)
        finally:
            file.xClose()
        return True
    finally:
        connection.execute("ROLLBACK")


def _gaps(file: apsw.VFSFile, page_size: int) -> Iterator[tuple[int, int]]:
    """From where to where in the file a page has unused bytes that are not zero."""
    size = file.xFileSize()
    if size > MOST_PAGES * page_size:
        return
    for at in range(0, size - size % page_size, AT_ONCE * page_size):
        data = file.xRead(min(AT_ONCE * page_size, size - size % page_size - at), at)
        for page in range(0, len(data), page_size):
            header = page + (FILE_HEADER if at + page == 0 else 0)
            if (length := HEADER_BYTES.get(data[header])) is None:
                continue
            cells = int.from_bytes(data[header + 3 : header + 5], "big")
            start = header + length + 2 * cells
            end = page + int.from_bytes(data[header + 5 : header + 7], "big")
            if start < end <= page + page_size and data.count(0, start, end) < end - start:
                yield at + start, at + end
