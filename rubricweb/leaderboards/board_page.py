"""What the pages of a board and of one run show: rows, columns and the figure; no queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from django.urls import reverse

from grading.figures.leaderboard import Point, leaderboard_figure
from grading.measures import registry
from grading.statistics.bootstrap import LEVEL
from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.paired_tests import PairedTest
from rubricweb.leaderboards import rank_changes, score_axis
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.types import Board, BoardRow, TopicRow
from rubricweb.leaderboards.forms import LabelForm
from rubricweb.leaderboards.score_axis import Whisker
from rubricweb.leaderboards.sorting import changed, heads, in_order, is_ranked, score_head

REFINEMENTS = (
    *("topics", "source", "version", "relevant", "units", "topic", "facet", "missing", "definition", "test"),
)
"""Controls that stay out of sight until they are used."""
WHISKERS = f"{100 * LEVEL:g} % bootstrap interval over topics"
"""What the whiskers of the table and of the figure are."""
MARKED_FROM = 5
"""With fewer runs percentiles say nothing."""


@dataclass(frozen=True, slots=True)
class SortableColumn:
    """A sortable column: how it is sorted now, and the word that a click on its head asks for."""

    name: str
    label: str
    order: str
    next: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row as the table shows it."""

    row: BoardRow
    rose: int
    """Places since the last change of order; below 0 it fell."""
    whisker: Whisker | None
    lanes: tuple[str, ...]
    mark: str
    """Above which percentile of all runs: 85, 75 or none."""

    @property
    def fell(self) -> int:
        return -self.rose


def query_of(form: LabelForm) -> str:
    """Return the form as the tail of an address, with its defaults spelled out."""
    values = {name: form[name].value() for name in form.fields}
    return urlencode({name: value for name, value in values.items() if value not in (None, "", False)})


def board_context(board: Board, query: str, sent: Mapping[str, str]) -> dict[str, object]:
    """Return the context of the board: its rows with their moves, the figure, and what it states."""
    sort = sent.get("sort", "")
    rendering, label = rank_changes.rendering(board, sent), provenance.measure_name(board.spec)
    axis = score_axis.axis(board)
    return {
        "board": board,
        "rendering": rendering,
        "lines": _lines(board, rendering, axis, sort),
        "axis": axis,
        "score_head": score_head(board, label, query, sort),
        "heads": heads(board, query, sort),
        "has_estimates": any(row.estimate for row in board.rows),
        "estimate_lacks": provenance.estimate_lacks(board),
        "estimand": provenance.estimand(board.spec) if board.sample else "",
        "estimate_method": provenance.estimate_method(board.sample) if board.sample else "",
        "estimate_basis": provenance.estimate_basis(board.sample) if board.sample else "",
        "sets": measure_sets(board, query),
        "refined": any(name in dict(parse_qsl(query)) for name in REFINEMENTS),
        "paused": bool(sent.get("paused")),
        "pause": changed(query, paused="" if sent.get("paused") else "1"),
        "figure": _figure(board, query),
        "measure_name": label,
        "whiskers": WHISKERS,
        "importance": provenance.importance(board),
        "without_power": provenance.without_power(board) if board.top and board.top.topics_needed else "",
        "all_topics": changed(query, topics=""),
        "by_t": changed(query, test=str(PairedTest.T)),
        "statements": provenance.statements(board),
    }


def measure_sets(board: Board, query: str) -> list[tuple[str, str]]:
    """Return sets of columns that one click shows: pairs of label and query."""
    if board.spec.bank is None:
        return []
    return [
        (one.label, changed(query, measure=one.ranked_by, columns=",".join(one.others), sort=""))
        for one in registry.SETS
        if one.kind is None or one.kind in board.spec.kinds
    ]


def _lines(
    board: Board, rendering: rank_changes.Rendering, axis: score_axis.Axis | None, sort: str
) -> list[TableRow]:
    rose = {line.row.run_id: line.rose for line in rendering.lines}
    shown = score_axis.lanes(board.brackets, len(board.rows)) if is_ranked(sort) else [()] * len(board.rows)
    return [
        TableRow(row, rose[row.run_id], axis.whisker(row) if axis else None, parts, _mark(board, row))
        for row, parts in zip(in_order(board, sort), shown, strict=True)
    ]


def _mark(board: Board, row: BoardRow) -> str:
    if board.marks is None or row.score is None or len(board.rows) < MARKED_FROM:
        return ""
    score = round(row.score, TIED_DECIMALS)
    return "85" if score > board.marks.upper_15 else "75" if score > board.marks.upper_quarter else ""


def topic_columns(run_tag: str, sort: str) -> list[SortableColumn]:
    """Return the columns of one run's topics; a first click shows the largest number, or the worst
    difference.
    """
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
        columns.append(SortableColumn(name, label, order, other if sort == first else first))
    return columns


def sorted_topics(rows: list[TopicRow], sort: str) -> list[TopicRow]:
    """By a column of `topic_columns`, "-" before it for falling; other words keep the collection's order."""
    name = sort.removeprefix("-")
    if name not in ("score", "mean", "difference", "best"):
        return rows[::-1] if sort == "-topic" else rows
    return sorted(rows, key=lambda row: getattr(row, name), reverse=sort.startswith("-"))


def _figure(board: Board, query: str) -> dict[str, object]:
    """Return the figure in the table's order; each point carries the address of its run's page."""
    rows = [row for row in board.rows if row.score is not None]
    points = [
        Point(row.run_tag, round(row.score or 0, TIED_DECIMALS), row.low, row.high, row.n_topics)
        for row in rows
    ]
    label = f"{provenance.measure_name(board.spec)} with {WHISKERS}"
    figure = leaderboard_figure(points, title="", score_label=label)
    slug = board.spec.collection.slug
    addresses = [f"{reverse('leaderboards:run', args=[slug, row.run_id])}?{query}" for row in rows]
    figure["data"][0]["customdata"] = addresses  # type: ignore[index]  # Plotly JSON is nested dicts
    figure["layout"]["margin"] |= {"t": 16, "b": 60}  # type: ignore[index]  # the page has the title
    return figure
