"""Scores by topic: a heat map of topics and runs, and one run among the others topic by topic."""

from __future__ import annotations

from collections.abc import Sequence

from grading.figures.base import COLOURS, Json, figure, plain, titled

ROW, FRAME, LEAST = 20, 140, 260
SQUARE = 15
"""Pixels."""
_SCALE = [[0, "rgba(47,127,193,0.05)"], [1, "rgba(47,127,193,1)"]]
"""From nothing to full, on whatever the page's colour is."""


def heat_map(
    run_tags: Sequence[str],
    topics: Sequence[str],
    scores: Sequence[Sequence[float | None]],
    *,
    label: str,
    links: Sequence[Sequence[str]] | None = None,
) -> Json:
    """A row a run, best first as given, a column a topic; None is no score. `links` are what clicks open.

    >>> drawn = heat_map(["a"], ["t1", "t2"], [[0.5, None]], label="Cover")["data"][0]
    >>> drawn["x"], drawn["marker"]["color"]
    (['t1'], [0.5])
    """
    cells = [
        (plain(topic), plain(tag), scores[row][column], links[row][column] if links else "")
        for row, tag in enumerate(run_tags)
        for column, topic in enumerate(topics)
        if scores[row][column] is not None
    ]
    x: Json = {"type": "category", "tickangle": -60}
    tags = [plain(tag) for tag in reversed(run_tags)]
    y: Json = {"type": "category", "categoryorder": "array", "categoryarray": tags}
    return figure([_squares(cells, label)], x, y, height=max(LEAST, FRAME + ROW * len(run_tags)))


def strip(
    run_tag: str,
    topics: Sequence[str],
    scores: Sequence[float | None],
    others: Sequence[Sequence[float | None]],
    *,
    label: str,
    links: Sequence[str] | None = None,
) -> Json:
    """One run's score on each topic, over those of all other runs (`others`, by run).

    >>> drawn = strip("a", ["t1"], [0.5], [[0.2], [0.4]], label="Cover")["data"]
    >>> drawn[0]["y"], drawn[1]["y"]
    ([0.2, 0.4], [0.5])
    """
    names = [plain(topic) for topic in topics]
    crowd = _points("other runs", names * len(others), [score for row in others for score in row])
    crowd |= {"marker": {"size": 5, "opacity": 0.35, "color": COLOURS[0]}, "hoverinfo": "skip"}
    own = _points(plain(run_tag), names, list(scores))
    own |= {
        "marker": {"size": 10, "color": COLOURS[1], "symbol": "diamond"},
        "hovertemplate": f"%{{x}}<br>{plain(label)} %{{y:.3f}}<extra></extra>",
    }
    if links is not None:
        own["customdata"] = list(links)
    x: Json = {"type": "category", "tickangle": -60}
    return figure([crowd, own], x, titled(label), height=400)


def _squares(cells: Sequence[tuple[str, str, float | None, str]], label: str) -> Json:
    """Not Plotly's heat map, which draws an image with an inline style, as it does the bar of a scale."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [cell[0] for cell in cells],
        "y": [cell[1] for cell in cells],
        "customdata": [cell[3] for cell in cells],
        "marker": {
            "symbol": "square",
            "size": SQUARE,
            "color": [cell[2] for cell in cells],
            "colorscale": _SCALE,
            "showscale": False,
        },
        "hovertemplate": f"%{{y}}, %{{x}}<br>{plain(label)} %{{marker.color:.3f}}<extra></extra>",
        "showlegend": False,
    }


def _points(name: str, x: list[str], y: list[float | None]) -> Json:
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y}
