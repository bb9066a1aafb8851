"""Curves as plain SVG for the docs: panels of equal size, one colour and dash a curve, one legend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import ceil

COLOURS = ("#2f7fc1", "#c8681a", "#2e9a63", "#a65bc0", "#c0504d", "#7d7f1f")
Curves = Mapping[str, Sequence[float]]
"""By name, a value for each place on the x-axis."""

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, ACROSS = 370, 190, 44, 34, 44, 2
"""Pixels; ACROSS panels stand beside each other."""
HEAD, LEGEND = 30, 30
DASHES = ("2 3", "6 3", "1 5", "8 3 2 3", "12 4", "none")
TEXT = 'font-family="sans-serif" font-size="11" fill="#333"'
TICKS, ROUND = 4, 5
"""Marks of the y-axis are multiples of ROUND."""


def curves_svg(panels: Mapping[str, Curves], places: Sequence[str], *, title: str, label: str) -> str:
    """Return the document; all panels have one y-axis from 0, and `places` as their x-axis."""
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    largest = max(max(values) for curves in panels.values() for values in curves.values())
    top = ceil(largest / (TICKS * ROUND)) * TICKS * ROUND
    body = [f'<text x="12" y="20" font-weight="bold" {TEXT}>{escape(title)}</text>']
    for number, (heading, curves) in enumerate(panels.items()):
        x = (number % ACROSS) * (LEFT + WIDTH) + LEFT
        y = (number // ACROSS) * (TOP + HEIGHT + BOTTOM) + HEAD + TOP
        body.append(f'<g transform="translate({x} {y})">')
        body += _axes(heading, places, top, label)
        for name, values in curves.items():
            points = " ".join(
                f"{_x(i, len(places)):.1f},{HEIGHT * (1 - v / top):.1f}" for i, v in enumerate(values)
            )
            body.append(f'<polyline points="{points}" fill="none" {_stroke(names.index(name))}/>')
        body.append("</g>")
    width = ACROSS * (LEFT + WIDTH) + 20
    height = -(-len(panels) // ACROSS) * (TOP + HEIGHT + BOTTOM) + HEAD + LEGEND
    step = (width - LEFT) / len(names)
    for number, name in enumerate(names):
        x, y = LEFT + step * number, height - 14
        body.append(f'<line x1="{x:.0f}" x2="{x + 24:.0f}" y1="{y}" y2="{y}" {_stroke(number)}/>')
        body.append(f'<text x="{x + 28:.0f}" y="{y + 4}" {TEXT}>{escape(name)}</text>')
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    sheet = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', sheet, *body, "</svg>\n"]
    )


def _axes(heading: str, places: Sequence[str], top: float, label: str) -> Iterator[str]:
    yield f'<text x="0" y="-12" {TEXT}>{escape(heading)}</text>'
    for tick in range(TICKS + 1):
        y = HEIGHT * (1 - tick / TICKS)
        yield f'<line x1="0" x2="{WIDTH - 20}" y1="{y}" y2="{y}" stroke="#ddd"/>'
        yield f'<text x="-6" y="{y + 4}" text-anchor="end" {TEXT}>{top * tick / TICKS:.0f}</text>'
    for i, place in enumerate(places):
        words = escape(f"{place} {label}" if i == len(places) - 1 else place)
        at = f'x="{_x(i, len(places)):.1f}" y="{HEIGHT + 16}"'
        yield f'<text {at} text-anchor="middle" {TEXT}>{words}</text>'


def _x(place: int, places: int) -> float:
    return 12 + (WIDTH - 64) * place / (places - 1)


def _stroke(number: int) -> str:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    return f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
