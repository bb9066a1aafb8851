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
    trace: Json = {
        # Squares, not Plotly's heat map: that one draws an image with an inline style.
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
            "showscale": False,  # its bar would be drawn with inline styles
        },
        "hovertemplate": f"%{{y}}, %{{x}}<br>{plain(label)} %{{marker.color:.3f}}<extra></extra>",
        "showlegend": False,
    }
    x: Json = {"type": "category", "tickangle": -60}
    y: Json = {"type": "category", "categoryarray": [plain(tag) for tag in reversed(run_tags)]}
    y["categoryorder"] = "array"
    return figure([trace], x, y, height=max(LEAST, FRAME + ROW * len(run_tags)))


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
    crowd: Json = {
        "type": "scatter",
        "mode": "markers",
        "name": "other runs",
        "x": names * len(others),
        "y": [score for row in others for score in row],
        "marker": {"size": 5, "opacity": 0.35, "color": COLOURS[0]},
        "hoverinfo": "skip",
    }
    own: Json = {
        "type": "scatter",
        "mode": "markers",
        "name": plain(run_tag),
        "x": names,
        "y": list(scores),
        "marker": {"size": 10, "color": COLOURS[1], "symbol": "diamond"},
        "hovertemplate": f"%{{x}}<br>{plain(label)} %{{y:.3f}}<extra></extra>",
    }
    if links is not None:
        own["customdata"] = list(links)
    x: Json = {"type": "category", "tickangle": -60}
    return figure([crowd, own], x, titled(label), height=400)
