"""The leaderboard of a collection, and the columns of one run's topics."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qsl, urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.text import Truncator
from django.views.decorators.http import require_safe

from grading.measures import registry
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part, parse_ids
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import Official, official_boards
from rubricweb.leaderboards import board_plots, live_board, rank_changes
from rubricweb.leaderboards.board import estimate_words, headline, provenance, selectors
from rubricweb.leaderboards.board.topics import parting_topics
from rubricweb.leaderboards.board.types import Board, BoardCorrelation, BoardRow, BoardTopic
from rubricweb.leaderboards.board_plots import Dot, DotAxis, Spread
from rubricweb.leaderboards.forms import BoardToolbar, LabelForm
from rubricweb.leaderboards.sorting import band_rows, changed, further_heads, in_order, is_ranked, score_head
from rubricweb.plots.cells import shade

PAGE = "leaderboards/board.html"
TAU_FROM = 6
"""With fewer runs a correlation of their order says nothing."""
DENSE_FROM = 15
"""From so many runs on the rows are low."""
NAMED_TOPICS = 3
PLOT_TOP, PLOT_ROW = 72, 20
"""Of the file with the dots, in its units: where its rows begin, and how high they are."""
CHECK_CELLS, SECONDS_A_CELL = 400, 15
"""What a random check is, and how long people need for it; its share of errors is known to 5 points."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One topic of one run."""

    shade: int | None
    """0 to 5 as grades are coloured; None where the topic counts for no mean of the run."""
    score: float | None
    topic: BoardTopic

    @property
    def label(self) -> str:
        """What is said of it under the pointer."""
        score = "not counted" if self.score is None else f"{self.score:z.2f}"
        return f"{self.topic.name} {Truncator(self.topic.text).chars(40)} · {score}"


@dataclass(frozen=True, slots=True)
class Line:
    """A run as the table shows it."""

    row: BoardRow
    origin: str
    """Its task and team; empty for readers who know it by a pseudonym."""
    dot: Dot | None
    change: rank_changes.Change | None
    moved: str
    """"up", "down" or "score" if it changed since the browser's last rendering."""
    band: str
    """Empty where no run is clearly behind."""
    band_rows: int
    """How many rows its band has, at the first of them; else 0."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Parting:
    """A topic that parts the runs, with where their scores stand: the first runs, and the others."""

    topic: BoardTopic
    first: list[float]
    others: list[float]


@dataclass(frozen=True, slots=True)
class OfficialTable:
    """An official leaderboard, best run first."""

    board: Official
    axis: DotAxis | None
    rows: list[tuple[str, float, Dot | None]]


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """The page; its part `board` when controls change, `leaderboard` when grades or items do."""
    collection = access.collection_for(request.user, slug)
    return live_board.answer(request, collection, partial(_board, request, collection))


def _board(request: HtmxRequest, collection: Collection) -> HttpResponse:
    form = BoardToolbar(request.GET, collection=collection)
    context = {"collection": collection, "form": form}
    if not form.graders:
        context |= {"officials": official_tables(collection)}
        return page_or_part(request, PAGE, context, part="board")
    if not form.is_valid():
        return refused(form_response(request, PAGE, context, part="board"))
    shown = selectors.board(form.spec)
    if request.GET.get("digest") == rank_changes.digest(shown):
        return HttpResponse(status=204)
    query, is_live = query_of(form), live_board.SEEN in request.GET
    look = rank_changes.Look("") if is_live else _look(request, collection, query, shown)
    context |= {"query": query, "board_fields": parse_qsl(query), "since": look.since}
    context["ticked"] = parse_ids(request.GET.getlist("tick"))
    context |= board_context(shown, query, request.GET, look.before)
    return page_or_part(request, PAGE, context, part="leaderboard" if is_live else "board")


@require_safe
def plot(request: HtmxRequest, slug: str) -> HttpResponse:
    """The dots of the board as an SVG file for papers."""
    collection = access.collection_for(request.user, slug)
    form = BoardToolbar(request.GET, collection=collection)
    if not form.graders or not form.is_valid():
        raise Http404("No such board.")
    context = dict(board_context(selectors.board(form.spec), query_of(form), request.GET))
    rows = [(PLOT_TOP + PLOT_ROW * (place + 1), line) for place, line in enumerate(context["lines"])]
    height = PLOT_TOP + PLOT_ROW * (len(rows) + 1)
    context |= {"title": f"Leaderboard of {collection}", "rows": rows, "height": height}
    response = render(request, "leaderboards/board.svg", context, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{collection.slug}-leaderboard.svg"'
    return response


def _look(request: HtmxRequest, collection: Collection, query: str, shown: Board) -> rank_changes.Look:
    key = f"{collection.pk} {hashlib.sha256(changed(query, sort='').encode()).hexdigest()[:12]}"
    return rank_changes.look(request.session, key, shown)


def refused(response: HttpResponse) -> HttpResponse:
    """Keep the browser's address, so that its history has no refused one."""
    response["HX-Push-Url"] = "false"
    return response


def query_of(form: LabelForm) -> str:
    """Return the form as the tail of an address, with its defaults spelled out."""
    values = {name: form[name].value() for name in form.fields}
    return urlencode({name: value for name, value in values.items() if value not in (None, "", False)})


def board_context(shown: Board, query: str, sent: Mapping[str, str], before: str = "") -> Context:
    """Return the context of the board: its rows with their changes, the plots, and what it states."""
    sort = sent.get("sort", "")
    rendering = rank_changes.rendering(shown, sent, before)
    label, sample = provenance.measure_name(shown.spec), shown.sample
    is_mixed = _is_mixed(shown.rows)
    spreads = {row.run_id: _spread(row, rendering) for row in shown.rows}
    axis = board_plots.dot_axis([spread for spread in spreads.values() if spread])
    return {
        "board": shown,
        "rendering": rendering,
        "changed": rank_changes.summary(shown, rendering.changes),
        "axis": axis,
        "lines": _lines(shown, rendering, axis, sort),
        "is_dense": len(shown.rows) >= DENSE_FROM,
        "is_mixed": is_mixed and is_ranked(sort),
        "score_head": score_head(shown, query, sort or ("" if is_mixed else "-score")),
        "heads": further_heads(shown, query, sort),
        "has_estimates": any(row.estimate for row in shown.rows),
        "estimate_lacks": estimate_words.lacks(sample),
        "estimand": provenance.estimand(shown.spec) if sample else "",
        "estimate_method": estimate_words.method(sample) if sample else "",
        "estimate_notes": estimate_words.notes(sample),
        "estimate_basis": estimate_words.basis(sample) if sample else "",
        "sets": measure_sets(shown, query),
        "paused": bool(sent.get("paused")),
        "pause": changed(query, paused="" if sent.get("paused") else "1"),
        "measure_name": label,
        "importance": provenance.importance(shown),
        "circularity": provenance.circularity(shown),
        "headline": headline.headline(shown.top, shown.n_topics),
        "resolution": headline.resolution(shown.top, shown.n_topics),
        "uncertainty": provenance.uncertainty(shown),
        "n_asked": shown.n_topics + shown.n_undefined,
        "n_topics_in_all": shown.n_topics + shown.n_left_out,
        "unasked": shown.without_items[:NAMED_TOPICS],
        "n_unasked_more": max(len(shown.without_items) - NAMED_TOPICS, 0),
        "agreements": [_agreement(one, shown, label) for one in shown.correlations],
        "parting": _parting(shown),
        "check": {"cells": CHECK_CELLS, "seconds": CHECK_CELLS * SECONDS_A_CELL},
        "share_checked": shown.verified[0] / (shown.verified[1] or 1),
        "all_topics": changed(query, topics=""),
        "statements": provenance.statements(shown),
    }


def _spread(row: BoardRow, rendering: rank_changes.Rendering) -> Spread | None:
    change = rendering.changes.get(row.run_id)
    before = change.before.score if change else None
    return None if row.score is None else Spread(row.score, row.low, row.high, before)


def _lines(shown: Board, rendering: rank_changes.Rendering, axis: DotAxis | None, sort: str) -> list[Line]:
    """Return the rows by their bands and in these by score, or in the order that the reader chose."""
    has_bands = any(row.is_behind for row in shown.rows)
    rows = list(in_order(shown, sort))
    if has_bands and not sort:
        rows.sort(key=lambda row: (row.is_behind is None, row.is_behind))
    origins = selectors.run_origins(shown.spec.collection)
    highest = max((score for row in rows for score in row.by_topic if score is not None), default=1.0)
    lines = []
    for row, n_rows in zip(rows, band_rows([row.is_behind for row in rows]), strict=True):
        spread, moved = _spread(row, rendering), rendering.moved.get(row.run_id)
        is_banded = has_bands and row.is_behind is not None
        line = Line(
            row,
            origins.get(row.run_id, ""),
            axis.dot(spread) if axis and spread else None,
            rendering.changes.get(row.run_id),
            "" if moved is None else "up" if moved > 0 else "down" if moved < 0 else "score",
            band=board_plots.BANDS[bool(row.is_behind)] if is_banded else "",
            band_rows=n_rows if is_banded else 0,
            cells=tuple(
                Cell(None if score is None else shade(score / max(highest, 1.0)), score, topic)
                for score, topic in zip(row.by_topic, shown.topics, strict=True)
            ),
        )
        lines.append(line)
    return lines


def _is_mixed(rows: Sequence[BoardRow]) -> bool:
    """Return whether a run that is clearly behind scores higher than one that is not."""
    known = [row.is_behind for row in rows if row.is_behind is not None]
    return known != sorted(known)


def _agreement(other: BoardCorrelation, shown: Board, name: str) -> dict[str, object]:
    """Return how far the order of runs agrees with another board, with a drawing of both scores."""
    scores = {row.run_tag: row.score for row in shown.rows}
    pairs = [(tag, theirs, ours) for tag, theirs in other.scores if (ours := scores.get(tag)) is not None]
    first = shown.top.first if shown.top else ()
    enough = len(pairs) >= TAU_FROM
    return {
        "against": other.against,
        "measure": other.measure,
        "n_runs": other.kendall.n,
        "tau": other.kendall.value if enough else None,
        "reason": other.kendall.reason if enough else "",
        "scatter": board_plots.scatter(pairs, first, (other.measure, name)) if len(pairs) > 1 else None,
    }


def _parting(shown: Board) -> list[Parting]:
    scores = [score for row in shown.rows for score in row.by_topic if score is not None]
    low, high = min(scores, default=0.0), max(scores, default=1.0)
    return [
        Parting(
            shown.topics[place],
            board_plots.ticks([row.by_topic[place] for row in shown.rows if row.rank == 1], low, high),
            board_plots.ticks([row.by_topic[place] for row in shown.rows if row.rank != 1], low, high),
        )
        for place in parting_topics(shown.topics, shown.rows)
    ]


def official_tables(collection: Collection) -> list[OfficialTable]:
    """Return the official leaderboards, which are to be seen before there is a bank."""
    tables = []
    for one in official_boards(collection):
        axis = None if one.is_rank else board_plots.dot_axis([Spread(value) for value in one.values.values()])
        best = sorted(one.scores, key=lambda tag: (-one.scores[tag], tag))
        rows = [(tag, one.values[tag], axis.dot(Spread(one.values[tag])) if axis else None) for tag in best]
        tables.append(OfficialTable(one, axis, rows))
    return tables


def measure_sets(shown: Board, query: str) -> list[tuple[str, str]]:
    """Return sets of columns that one click shows: pairs of label and query."""
    if shown.spec.bank is None:
        return []
    return [
        (one.label, changed(query, measure=one.ranked_by, columns=",".join(one.others), sort=""))
        for one in registry.SETS
        if one.kind is None or one.kind in shown.spec.kinds
    ]
