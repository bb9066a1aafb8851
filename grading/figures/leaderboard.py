"""The leaderboard as a figure: a point a run, best on top, with the interval of its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grading.arrays import none_if_nan

Json = dict[str, object]

TRANSPARENT = "rgba(0,0,0,0)"
ROW_HEIGHT, FRAME_HEIGHT, MIN_HEIGHT = 22, 110, 220
"""Pixels."""


@dataclass(frozen=True, slots=True)
class Point:
    """A run's score with the ends of its interval; None or NaN is undefined."""

    run_tag: str
    score: float | None
    low: float | None
    high: float | None
    n_topics: int


def leaderboard_figure(
    rows: Sequence[Point],
    *,
    title: str,
    score_label: str,
    theme: Mapping[str, str] | None = None,
) -> Json:
    """Plotly's `data`, `layout` and `config`, sorted by score; runs without a score are left out.

    `theme` may have the colours `text`, `grid` and `mark`; without them they are left to the page, and the
    background is transparent.

    >>> points = [Point("bm25", 0.5, 0.25, 0.625, 4)]
    >>> figure = leaderboard_figure(points, title="T", score_label="Cover@20")
    >>> whiskers = figure["data"][0]["error_x"]
    >>> figure["data"][0]["x"], whiskers["arrayminus"], whiskers["array"]
    ([0.5], [0.25], [0.125])
    """
    scored = [row for row in rows if none_if_nan(row.score) is not None]
    ordered = sorted(scored, key=lambda row: -(row.score or 0.0))
    colours = theme or {}
    return {
        "data": [_points(ordered, score_label, colours)],
        "layout": _layout(ordered, title, score_label, colours),
        "config": {"responsive": True, "displaylogo": False},
    }


def _points(rows: Sequence[Point], score_label: str, colours: Mapping[str, str]) -> Json:
    mark: Json = {"color": colours["mark"]} if "mark" in colours else {}
    whiskers: Json = {
        "type": "data",
        "symmetric": False,
        "array": [_beyond(row.high, row.score) for row in rows],
        "arrayminus": [_beyond(row.score, row.low) for row in rows],
        "thickness": 1.5,
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "orientation": "h",
        "x": [row.score for row in rows],
        "y": list(range(len(rows))),
        "error_x": whiskers | mark,
        "marker": {"size": 8} | mark,
        "text": [_hover(row, score_label) for row in rows],
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def _layout(rows: Sequence[Point], title: str, score_label: str, colours: Mapping[str, str]) -> Json:
    grid: Json = {"gridcolor": colours["grid"], "zerolinecolor": colours["grid"]} if "grid" in colours else {}
    font: Json = {"font": {"color": colours["text"]}} if "text" in colours else {}
    ticks: Json = {
        "tickmode": "array",
        "tickvals": list(range(len(rows))),
        "ticktext": [_escaped(row.run_tag) for row in rows],
        "range": [len(rows) - 0.5, -0.5],
    }
    return {
        "title": {"text": _escaped(title)},
        "xaxis": {"title": {"text": _escaped(score_label)}, "automargin": True, "zeroline": False} | grid,
        "yaxis": {"automargin": True, "zeroline": False} | ticks | grid,
        "height": max(MIN_HEIGHT, FRAME_HEIGHT + ROW_HEIGHT * len(rows)),
        "margin": {"l": 8, "r": 16, "t": 48, "b": 48},
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "hovermode": "closest",
    } | font


def _hover(row: Point, score_label: str) -> str:
    low, high = none_if_nan(row.low), none_if_nan(row.high)
    spread = "" if low is None or high is None else f" ({low:z.3f} to {high:z.3f})"
    topics = "topic" if row.n_topics == 1 else "topics"
    run_tag, label = _escaped(row.run_tag), _escaped(score_label)
    return f"{run_tag}<br>{label} {row.score:z.3f}{spread}<br>{row.n_topics} {topics}"


def _beyond(high: float | None, low: float | None) -> float:
    """The length of a whisker; 0 where there is none."""
    ends = none_if_nan(high), none_if_nan(low)
    return 0.0 if ends[0] is None or ends[1] is None else max(0.0, ends[0] - ends[1])


def _escaped(text: str) -> str:
    """Plotly reads a few HTML tags in text; a run tag is never one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
