"""Boards against each other: two measures as a scatter plot, several renormalised in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grading.figures.base import COLOURS, SYMBOLS, Json, figure, plain, titled

Scores = Mapping[str, float]
"""By run tag."""
HEIGHT = 440


@dataclass(frozen=True, slots=True)
class Series:
    """One board: its name, and scores of which higher is better."""

    name: str
    scores: Scores


def scatter(x: Series, y: Series, *, links: Mapping[str, str] | None = None) -> Json:
    """Each run in both boards as a point; `links` by run tag are what a click opens.

    >>> points = scatter(Series("P", {"a": 0.1, "b": 0.2}), Series("R", {"b": 0.4}))["data"][0]
    >>> points["x"], points["y"], points["text"]
    ([0.2], [0.4], ['b'])
    """
    shared = [tag for tag in x.scores if tag in y.scores]
    points: Json = {
        "type": "scatter",
        "mode": "markers",
        "x": [x.scores[tag] for tag in shared],
        "y": [y.scores[tag] for tag in shared],
        "text": [plain(tag) for tag in shared],
        "hovertemplate": "%{text}<br>%{x:.3f}, %{y:.3f}<extra></extra>",
        "marker": {"size": 9},
        "showlegend": False,
    }
    if links:
        points["customdata"] = [links.get(tag, "") for tag in shared]
    return figure([points], titled(x.name), titled(y.name), height=HEIGHT)


def renormalised(scores: Scores) -> dict[str, float]:
    """The best run at 1 and the worst at 0 (EXAM++ Figure 2); all 0 where all are tied.

    >>> renormalised({"a": 0.2, "b": 0.4, "c": 0.3})["c"]
    0.5
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    span = high - low
    return {tag: round((score - low) / span, 12) if span else 0.0 for tag, score in scores.items()}


def several(boards: Sequence[Series]) -> Json:
    """All boards renormalised, runs in the order of the first; a run that a board lacks leaves a gap.

    >>> drawn = several([Series("P", {"a": 1, "b": 2}), Series("R", {"a": 5})])["data"]
    >>> drawn[0]["x"], drawn[1]["y"]
    (['b', 'a'], [None, 0.0])
    """
    order = ordered(boards)
    data = []
    for place, board in enumerate(boards):
        by_tag = renormalised(board.scores)
        colour, symbol = COLOURS[place % len(COLOURS)], SYMBOLS[place % len(SYMBOLS)]
        trace: Json = {
            "type": "scatter",
            "mode": "lines+markers",
            "name": plain(board.name),
            "x": [plain(tag) for tag in order],
            "y": [by_tag.get(tag) for tag in order],
            "line": {"color": colour, "width": 1.5, "dash": ("solid", "dash", "dot")[place % 3]},
            "marker": {"color": colour, "symbol": symbol, "size": 7},
            "connectgaps": False,
            "hovertemplate": f"%{{x}}<br>{plain(board.name)} %{{y:.3f}}<extra></extra>",
        }
        data.append(trace)
    x: Json = {"type": "category", "tickangle": -60}
    return figure(data, x, titled("renormalised score"), height=HEIGHT)


def ordered(boards: Sequence[Series]) -> list[str]:
    """The runs of all boards, by the first board's scores, then those that it lacks."""
    first = boards[0].scores if boards else {}
    known = dict.fromkeys(sorted(first, key=lambda tag: (-first[tag], tag)))
    return list(known | dict.fromkeys(tag for board in boards for tag in board.scores))
