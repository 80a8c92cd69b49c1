"""Write sample/papers/page-size.pdf: two pages of text as plain PDF objects, the same bytes every time."""

from __future__ import annotations

from pathlib import Path

TARGET = Path(__file__).parent.parent / "sample" / "papers" / "page-size.pdf"
PAGES = (
    (
        "Choosing a page size for a small database",
        (
            "A database reads and writes whole pages. A small page wastes less when single rows",
            "are read at random; a large page needs fewer reads when a table is scanned in order.",
            "We loaded one million rows of about 200 bytes and measured both kinds of access",
            "with pages of 1, 4, 16 and 64 KiB on a solid-state disk.",
            "",
            "Random reads were fastest with 4 KiB pages, which is also the block size of the disk.",
            "Below that size, every read fetched a whole disk block anyway.",
        ),
    ),
    (
        "Results and advice",
        (
            "Scans became 1.7 times faster from 4 to 16 KiB and hardly any faster beyond.",
            "Writes suffered from large pages: changing one row rewrote all of its page, so that",
            "64 KiB pages wrote eleven times as many bytes as 4 KiB pages.",
            "",
            "Our advice is 4 KiB for mixed work, 16 KiB where tables are mostly scanned,",
            "and to measure again when the disk is a spinning one.",
        ),
    ),
)


def content(title: str, lines: tuple[str, ...]) -> bytes:
    shown = "".join(f"({line}) Tj T*\n" for line in lines)
    return f"BT /F1 18 Tf 64 760 Td ({title}) Tj /F1 11 Tf 0 -36 Td 16 TL\n{shown}ET".encode("ascii")


def build() -> bytes:
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(PAGES)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(PAGES)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, (title, lines) in enumerate(PAGES):
        body = content(title, lines)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            + f"/Contents {5 + 2 * number} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(body)} >>\nstream\n".encode() + body + b"\nendstream")
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(build())
