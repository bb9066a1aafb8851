"""What the pages of a board and of one run show: rows, columns and the figure; no queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from grading.measures import registry
from grading.statistics.bootstrap import LEVEL
from grading.statistics.influence import TIED_DECIMALS
from rubricweb.corpus.official import RunScores
from rubricweb.leaderboards import rank_changes, score_axis
from rubricweb.leaderboards.board import estimate_words, headline, provenance
from rubricweb.leaderboards.board.types import Board, BoardRow, LeaderTopic, TopicRow
from rubricweb.leaderboards.forms import LabelForm
from rubricweb.leaderboards.score_axis import Whisker
from rubricweb.leaderboards.sorting import changed, heads, in_order, is_ranked, score_head

MAIN_FACTS = ("grader", "ratings", "bank", "threshold", "cutoff", "topics", "made")
"""What of the statements is always in sight."""
WHISKERS = f"{100 * LEVEL:g} % interval over topics"
"""What the whiskers of the table and of the figure are."""
OFFICIAL = "official-"
"""With the number of an official board: its column among the topics of a run."""
BANDS = {False: gettext_lazy("not clearly behind the first"), True: gettext_lazy("clearly behind")}
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
class HeatCell:
    score: float
    shade: int
    """0 to 5, from the lowest to the highest score of the table."""


@dataclass(frozen=True, slots=True)
class Leaders:
    """The first runs on the topics by which they differ most."""

    topics: list[tuple[LeaderTopic, str]]
    """With the addresses of their grids."""
    rows: list[tuple[str, list[HeatCell]]]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row as the table shows it."""

    row: BoardRow
    rose: int
    """Places since the last change of order; below 0 it fell."""
    whisker: Whisker | None
    mark: str
    """Above which percentile of all runs: 85, 75 or none."""
    is_not_behind: bool
    """It is not clearly behind the first run, and some run is."""
    band: str | Promise = ""
    """Empty where the table is in another order, or no run is clearly behind."""
    is_first_of_band: bool = False

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
        "estimate_lacks": estimate_words.lacks(board.sample),
        "estimand": provenance.estimand(board.spec) if board.sample else "",
        "estimate_method": estimate_words.method(board.sample) if board.sample else "",
        "estimate_notes": estimate_words.notes(board.sample),
        "estimate_basis": estimate_words.basis(board.sample) if board.sample else "",
        "sets": measure_sets(board, query),
        "paused": bool(sent.get("paused")),
        "pause": changed(query, paused="" if sent.get("paused") else "1"),
        "leaders": leaders(board),
        "measure_name": label,
        "whiskers": WHISKERS,
        "importance": provenance.importance(board),
        "circularity": provenance.circularity(board),
        "has_closed_book": any(row.is_closed_book for row in board.rows),
        "headline": headline.headline(board.top, board.n_topics),
        "resolution": headline.resolution(board.top, board.n_topics),
        "all_topics": changed(query, topics=""),
        **_facts(board),
    }


def _facts(board: Board) -> dict[str, object]:
    stated = provenance.statements(board)
    return {
        "statements": [(name, value) for name, value in stated if name in MAIN_FACTS],
        "further_statements": [(name, value) for name, value in stated if name not in MAIN_FACTS],
    }


def leaders(board: Board) -> Leaders | None:
    """Return the table of the first runs by topic; None where they do not differ."""
    scores = [score for topic in board.leaders for score in topic.scores]
    low, span = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    if not span:
        return None
    by_run = zip(*(topic.scores for topic in board.leaders), strict=True)
    rows = [
        (row.run_tag, [HeatCell(score, round(5 * (score - low) / span)) for score in of_run])
        for row, of_run in zip(board.rows, by_run, strict=False)
    ]
    bank, chosen = board.spec.bank, {"view": "grid", "grader": board.spec.config.pk}
    grids = [
        reverse("editor:topic", args=[bank.pk, topic.topic_id], query=chosen) if bank else ""
        for topic in board.leaders
    ]
    return Leaders(list(zip(board.leaders, grids, strict=True)), rows)


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
    has_bands = any(row.is_behind for row in board.rows)
    lines: list[TableRow] = []
    for row in in_order(board, sort):
        is_in_band = has_bands and is_ranked(sort) and row.is_behind is not None
        band = BANDS[bool(row.is_behind)] if is_in_band else ""
        line = TableRow(
            row,
            rose[row.run_id],
            axis.whisker(row) if axis else None,
            _mark(board, row),
            is_not_behind=has_bands and row.is_behind is False,
            band=band,
            is_first_of_band=bool(band) and (not lines or lines[-1].band != band),
        )
        lines.append(line)
    return lines


def _mark(board: Board, row: BoardRow) -> str:
    if board.marks is None or row.score is None or len(board.rows) < MARKED_FROM:
        return ""
    score = round(row.score, TIED_DECIMALS)
    return "85" if score > board.marks.upper_15 else "75" if score > board.marks.upper_quarter else ""


def topic_columns(run_tag: str, sort: str, official: Sequence[RunScores] = ()) -> list[SortableColumn]:
    """Return the columns of one run's topics; a first click shows the largest number, or the worst
    difference.
    """
    labels = {
        "topic": "Topic",
        "score": run_tag,
        "mean": "Mean of all runs",
        "difference": "Difference",
        "best": "Best of all runs",
        **{f"{OFFICIAL}{place}": board.label for place, board in enumerate(official)},
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
    name, falling = sort.removeprefix("-"), sort.startswith("-")
    if name in ("score", "mean", "difference", "best"):
        return sorted(rows, key=attrgetter(name), reverse=falling)
    place = name.removeprefix(OFFICIAL)
    if name != place and place.isdecimal() and all(int(place) < len(row.official) for row in rows):
        return sorted(rows, key=lambda row: _or_least(row.official[int(place)]), reverse=falling)
    return rows[::-1] if sort == "-topic" else rows


def _or_least(score: float | None) -> float:
    return -math.inf if score is None else score
