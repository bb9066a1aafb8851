"""Figures as SVG, for papers and release bundles: the same numbers always make the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from grading.figures.base import COLOURS
from grading.figures.leaderboard import Point

ROW, LABEL, PLOT, TOP, BOTTOM = 20, 220, 480, 34, 44
"""Pixels."""
TICKS = 5
CELL = 16
TEXT = 'font-family="sans-serif" font-size="11" fill="#333"'


def leaderboard_svg(points: Sequence[Point], *, title: str, score_label: str) -> str:
    """Return a point a run, best on top, with the interval of its score; runs without a score are left out.

    >>> drawn = leaderboard_svg([Point("bm25", 0.5, 0.25, 0.75, 4)], title="T", score_label="Cover")
    >>> drawn.count("<circle"), "bm25" in drawn
    (1, True)
    """
    scored = sorted((point for point in points if _known(point.score)), key=lambda p: -(p.score or 0.0))
    ends = [end for p in scored for end in (p.score, p.low, p.high) if end is not None and _known(end)]
    low, high = min([0.0, *ends]), max([*ends, 1e-9])
    height = TOP + ROW * len(scored) + BOTTOM
    body = [*_axis(low, high, bottom=height - BOTTOM, label=score_label)]
    for row, point in enumerate(scored):
        body += _point(point, TOP + ROW * row + ROW / 2, low, high)
    return _document(LABEL + PLOT + 30, height, title, body)


def heat_map_svg(
    run_tags: Sequence[str], topics: Sequence[str], scores: Sequence[Sequence[float | None]], *, title: str
) -> str:
    """Return a row a run and a column a topic, darker for higher scores; a gap is no score.

    `scores` has a sequence a run, a score a topic.

    >>> heat_map_svg(["a"], ["t1", "t2"], [[0.5, None]], title="T").count("<title>")
    1
    """
    known = [score for row in scores for score in row if score is not None]
    low, high = min([0.0, *known]), max([*known, 1e-9])
    body = []
    for row, (run_tag, of_run) in enumerate(zip(run_tags, scores, strict=True)):
        body.append(_label(run_tag, TOP + CELL * row + CELL - 4))
        for column, score in enumerate(of_run):
            if score is not None:
                x, y, share = LABEL + CELL * column, TOP + CELL * row, (score - low) / (high - low)
                body.append(_square(x, y, share, words=f"{topics[column]}: {score:z.4f}"))
    bottom = TOP + CELL * len(run_tags) + 6
    for column, topic in enumerate(topics):
        place = f"translate({LABEL + CELL * column + 4} {bottom}) rotate(60)"
        body.append(f'<text transform="{place}" {TEXT}>{escape(topic[:30])}</text>')
    return _document(LABEL + CELL * len(topics) + 120, bottom + 190, title, body)


def _square(x: int, y: int, share: float, *, words: str) -> str:
    side = f'width="{CELL - 1}" height="{CELL - 1}"'
    shade = f'fill="{COLOURS[0]}" fill-opacity="{0.05 + 0.95 * share:z.3f}"'
    return f'<rect x="{x}" y="{y}" {side} {shade}><title>{escape(words)}</title></rect>'


def _known(score: float | None) -> bool:
    return score is not None and score == score


def _point(point: Point, y: float, low: float, high: float) -> Iterator[str]:
    yield _label(point.run_tag, y + 4)
    colour = COLOURS[0]
    if point.low is not None and point.high is not None and _known(point.low) and _known(point.high):
        ends = f'x1="{_x(point.low, low, high)}" x2="{_x(point.high, low, high)}"'
        yield f'<line {ends} y1="{y}" y2="{y}" stroke="{colour}" stroke-width="1.5"/>'
    words = f"<title>{escape(point.run_tag)}: {point.score:z.4f}</title>"
    yield f'<circle cx="{_x(point.score or 0.0, low, high)}" cy="{y}" r="4" fill="{colour}">{words}</circle>'


def _axis(low: float, high: float, *, bottom: int, label: str) -> Iterator[str]:
    for tick in range(TICKS + 1):
        score = low + (high - low) * tick / TICKS
        x = _x(score, low, high)
        yield f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}" stroke="#ddd"/>'
        yield f'<text x="{x}" y="{bottom + 16}" text-anchor="middle" {TEXT}>{score:z.2f}</text>'
    yield f'<text x="{LABEL + PLOT / 2}" y="{bottom + 34}" text-anchor="middle" {TEXT}>{escape(label)}</text>'


def _label(text: str, y: float) -> str:
    shown = text if len(text) <= 34 else f"{text[:33]}\N{HORIZONTAL ELLIPSIS}"
    return f'<text x="{LABEL - 8}" y="{y}" text-anchor="end" {TEXT}>{escape(shown)}</text>'


def _x(score: float, low: float, high: float) -> str:
    return f"{LABEL + PLOT * (score - low) / (high - low):z.2f}"


def _document(width: float, height: float, title: str, body: Sequence[str]) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<text x="12" y="20" font-weight="bold" {TEXT}>{escape(title)}</text>'
    sheet = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', sheet, head, *body, "</svg>"]
    return "\n".join(lines) + "\n"
