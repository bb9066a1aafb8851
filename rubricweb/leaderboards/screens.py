"""The rows and figure that the pages of this app show; no queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from grading.figures.leaderboard import leaderboard_figure
from grading.formats.leaderboard_tsv import LeaderboardRow
from grading.measures.influence import TIED_DECIMALS
from rubricweb.leaderboards import moves, stating
from rubricweb.leaderboards.boards import Board, TopicRow
from rubricweb.leaderboards.forms import LabelForm


@dataclass(frozen=True, slots=True)
class Column:
    """A sortable column: how it is sorted now, and the word that a click on its head asks for."""

    name: str
    label: str
    order: str
    next: str


def query_of(form: LabelForm) -> str:
    """The form as the tail of an address, with its defaults spelled out."""
    return urlencode(
        {name: form[name].value() for name in form.fields if form[name].value() not in (None, "")}
    )


def board_screen(board: Board, query: str, sent: Mapping[str, str]) -> dict[str, object]:
    """Context of the board: its rows with their moves, the figure, and what it states."""
    return {
        "board": board,
        "rendering": moves.rendering(board, sent),
        "figure": _figure(board, query),
        "measure_name": stating.measure_name(board.spec),
        "statements": stating.statements(board),
    }


def topic_columns(run_tag: str, sort: str) -> list[Column]:
    """The columns of one run's topics; a first click shows the largest number, or the worst difference."""
    labels = {
        "topic": "Topic",
        "score": run_tag,
        "mean": "Mean of all runs",
        "difference": "Difference",
        "best": "Best of all runs",
    }
    columns = []
    for name, label in labels.items():
        rising, falling = name, f"-{name}"
        order = {rising: "ascending", falling: "descending"}.get(sort, "")
        first = rising if name in ("topic", "difference") else falling
        other = falling if first == rising else rising
        columns.append(Column(name, label, order, other if sort == first else first))
    return columns


def sorted_topics(rows: list[TopicRow], sort: str) -> list[TopicRow]:
    """By a column of `topic_columns`, "-" before it for falling; other words keep the collection's order."""
    name = sort.removeprefix("-")
    if name not in ("score", "mean", "difference", "best"):
        return rows[::-1] if sort == "-topic" else rows
    return sorted(rows, key=lambda row: getattr(row, name), reverse=sort.startswith("-"))


def _figure(board: Board, query: str) -> dict[str, object]:
    """The figure in the table's order; each point carries the address of its run's page."""
    rows = [row for row in board.rows if row.score is not None]
    points = [
        LeaderboardRow(row.run_tag, round(row.score or 0, TIED_DECIMALS), row.stderr, row.n_topics)
        for row in rows
    ]
    name = stating.measure_name(board.spec)
    figure = leaderboard_figure(points, title="", score_label=f"{name} ± std. err.")
    slug = board.spec.collection.slug
    addresses = [f"{reverse('leaderboards:run', args=[slug, row.run_id])}?{query}" for row in rows]
    figure["data"][0]["customdata"] = addresses  # type: ignore[index]  # Plotly JSON is nested dicts
    figure["layout"]["margin"] |= {"t": 16, "b": 60}  # type: ignore[index]  # the page has the title
    return figure
