"""The report as a picture: a dot with its interval for every measure, profile and mode. SVG, written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from kb.evaluate.report import EvalReport, ModeReport

LEFT, WIDTH, RIGHT = 250, 520, 120  # of labels, of the scale, of values; in pixels
LINE, GAP, TOP = 20, 26, 56
# After Okabe and Ito, the blue lighter: they stay apart for every kind of colour vision, on white and on dark grey.
COLOURS = ("#2f86c8", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .quiet { fill: #59636e; font-size: 12px }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .quiet { fill: #9198a1 } .page { fill: #0d1117 } .grid { stroke: #3d444d }
  }
"""
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML may not hold even escaped


def write(report: EvalReport, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_svg(report), encoding="utf-8")


def as_svg(report: EvalReport) -> str:
    """One block per measure, one line per profile and mode, all on one scale from 0 to 1."""
    names = list(report.modes[0].means) if report.modes else []
    rows = len(report.modes)
    bottom = TOP + len(names) * (rows * LINE + GAP)
    width, height = LEFT + WIDTH + RIGHT, bottom + 34
    blocks = [part for at, name in enumerate(names) for part in _block(report, name, TOP + at * (rows * LINE + GAP))]
    title = f"{report.name}: {report.documents:,} documents, model {report.model or 'none'}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{_clean(title)}">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{width}" height="{height}"/>',
            f'<text class="title" x="16" y="28">{_clean(title)}</text>',
            *_scale(TOP - 10, bottom - GAP + 8),
            *blocks,
            f'<text class="quiet" x="16" y="{height - 12}">dot: mean over the queries; bar: 95 % bootstrap interval</text>',
            "</svg>\n",
        ]
    )


def _scale(top: int, bottom: int) -> Iterator[str]:
    for step in range(0, 11, 2):
        x = _x(step / 10)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
        yield f'<text class="quiet" x="{x}" y="{bottom + 14}" text-anchor="middle">{step / 10:g}</text>'


def _block(report: EvalReport, name: str, top: int) -> Iterator[str]:
    for number, row in enumerate(report.modes):
        y = top + number * LINE + LINE // 2
        if number == 0:
            yield f'<text x="16" y="{y + 4}">{_clean(name)}</text>'
        yield f'<text class="quiet" x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{_clean(_label(row))}</text>'
        yield from _dot(row, name, y, COLOURS[number % len(COLOURS)])


def _dot(row: ModeReport, name: str, y: int, colour: str) -> Iterator[str]:
    low, high = row.intervals[name]
    mean = row.means[name]
    told = f"{_label(row)}, {name}: {mean:.3f} [{low:.3f} {high:.3f}]"
    yield f'<line x1="{_x(low)}" x2="{_x(high)}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3" stroke-opacity="0.65"/>'
    yield f'<circle cx="{_x(mean)}" cy="{y}" r="4.5" fill="{colour}"><title>{_clean(told)}</title></circle>'
    yield f'<text class="quiet" x="{LEFT + WIDTH + 12}" y="{y + 4}">{mean:.3f} ± {(high - low) / 2:.3f}</text>'


def _label(row: ModeReport) -> str:
    label = f"{row.profile} {row.mode}"
    return label if len(label) <= 18 else f"{row.profile[: 17 - len(row.mode)]}… {row.mode}"


def _x(value: float) -> float:
    return round(LEFT + value * WIDTH, 1)


def _clean(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))
