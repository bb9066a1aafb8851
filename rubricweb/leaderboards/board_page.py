"""The leaderboard of a collection, and the columns of one run's topics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qsl, urlencode

from django.http import Http404, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from grading.measures import registry
from rubricweb.campaigns.selectors import rating_pace
from rubricweb.core import events
from rubricweb.core.formatting import clipped
from rubricweb.core.http import Context, HtmxRequest, download, form_response, page_or_part, parse_ids
from rubricweb.core.shared_answers import shared_answer
from rubricweb.core.tags import as_html
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import Official, official_boards
from rubricweb.grades import visibility
from rubricweb.leaderboards import plots, rank_changes
from rubricweb.leaderboards.board import (
    Board,
    BoardCorrelation,
    BoardRow,
    BoardTopic,
    columns as board_columns,
    files,
    provenance,
    selectors,
    sentences,
)
from rubricweb.leaderboards.board.columns import Column, Place, changed
from rubricweb.leaderboards.board.scores import parting_topics
from rubricweb.leaderboards.forms import BoardForm, LabelForm
from rubricweb.leaderboards.plots import Dot, DotAxis, Spread
from rubricweb.leaderboards.tags import topic_marks
from rubricweb.plots.cells import MOST_TOPICS, topic_groups

PAGE = "leaderboards/board.html"
SEEN = "seen"
"""The order of runs that the browser shows, which only a live refetch sends."""
TAU_FROM = 6
"""The fewest runs for a correlation of their orders to mean anything."""
DENSE_FROM = 15
"""From so many runs on the rows are low."""
NAMED_TOPICS = 3
PLOT_TOP, PLOT_ROW = 72, 20
"""Where the rows of the file with the dots begin, and how high they are, in its units."""
CHECK_CELLS = 400
"""The pairs of a random check, whose share of errors is known to 5 points."""


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A run as the table shows it."""

    row: BoardRow
    origin: str
    """Its task and team; empty for readers who know it by a pseudonym."""
    dot: Dot | None
    change: rank_changes.RankChange | None
    moved: str
    """"up", "down" or "score" if it changed since the browser's last rendering."""
    band: str
    """Empty where no run is clearly behind."""
    band_rows: int
    """How many rows its band has, at the first of them; else 0."""
    numbers: tuple[board_columns.BoardCell, ...]
    """The cells of the columns that the page has."""
    topics: SafeString
    """A mark for each topic, or for several."""


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
    """Show the page, or its part: `board` when controls change, `leaderboard` when grades or items do."""
    collection = access.collection_for(request.user, slug)
    return _shared(request, collection, partial(_board, request, collection))


def _shared(
    request: HtmxRequest, collection: Collection, respond: Callable[[], HttpResponse]
) -> HttpResponse:
    """Return `respond`'s answer to a live refetch, shared by all that ask since the same event.

    A page that somebody opens or changes is computed for them: a setting may have changed without an event.
    """
    asks_page = request.htmx.boosted or request.htmx.history_restore_request
    is_live = bool(request.htmx) and not asks_page and SEEN in request.GET
    last = events.last_event(collection.channel) if is_live else ""
    if not last:
        return respond()
    parameters = sorted((name, request.GET.getlist(name)) for name in request.GET)
    may_see = visibility.what_reader_may_see(collection)
    response = shared_answer(
        json.dumps([request.get_host(), request.path, parameters, last, may_see]), respond
    )
    patch_vary_headers(response, ["HX-Request"])
    return response


def _board(request: HtmxRequest, collection: Collection) -> HttpResponse:
    form = BoardForm(request.GET, collection=collection)
    context = {"collection": collection, "form": form}
    if not form.graders:
        context |= {"officials": official_tables(collection)}
        return page_or_part(request, PAGE, context, part="board")
    if not form.is_valid():
        return refused(form_response(request, PAGE, context, part="board"))
    current = selectors.board(form.spec)
    if "digest" in request.GET and request.GET["digest"] == rank_changes.digest(current):
        return HttpResponse(status=204)
    query, is_live = query_of(form), SEEN in request.GET
    look = rank_changes.Look("") if is_live else _look(request, collection, query, current)
    context |= {"query": query, "board_fields": parse_qsl(query), "since": look.since}
    context["of_runs"] = files.OF_RUNS
    context["ticked"] = parse_ids(request.GET.getlist("tick"))
    context |= board_context(current, query, request.GET, look.before)
    return page_or_part(request, PAGE, context, part="leaderboard" if is_live else "board")


@require_safe
def plot(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the dots of the board as an SVG file for papers."""
    collection = access.collection_for(request.user, slug)
    form = BoardForm(request.GET, collection=collection)
    if not form.graders or not form.is_valid():
        raise Http404("No such board.")
    context = dict(board_context(selectors.board(form.spec), query_of(form), request.GET))
    rows = [(PLOT_TOP + PLOT_ROW * (place + 1), line) for place, line in enumerate(context["lines"])]
    height = PLOT_TOP + PLOT_ROW * (len(rows) + 1)
    context |= {"title": f"Leaderboard of {collection}", "rows": rows, "height": height}
    text = render_to_string("leaderboards/board.svg", context, request)
    return download(text, name=f"{collection.slug}-leaderboard.svg", content_type="image/svg+xml")


def _look(request: HtmxRequest, collection: Collection, query: str, current: Board) -> rank_changes.Look:
    key = f"{collection.pk} {hashlib.sha256(changed(query, sort='').encode()).hexdigest()[:12]}"
    return rank_changes.look(request.session, key, current)


def refused(response: HttpResponse) -> HttpResponse:
    """Keep the browser's address, so that its history has no refused one."""
    response["HX-Push-Url"] = "false"
    return response


def query_of(form: LabelForm) -> str:
    """Return the form as the tail of an address, with its defaults spelled out."""
    values = {name: form[name].value() for name in form.fields}
    return urlencode({name: value for name, value in values.items() if value not in (None, "", False)})


def board_context(current: Board, query: str, parameters: Mapping[str, str], before: str = "") -> Context:
    """Return the context of the board: its rows with their changes, the plots, and what it states."""
    sort = parameters.get("sort", "")
    rendering = rank_changes.rendering(current, parameters, before)
    label, sample = provenance.measure_name(current.spec), current.sample
    tested = [row.is_behind for row in current.rows if row.is_behind is not None]
    is_mixed = tested != sorted(tested)
    columns, by_rank = board_columns.columns_of(current), board_columns.by_rank(current)
    has_estimates = any(row.estimate for row in current.rows)
    spreads = {row.run_id: _spread(row, rendering) for row in current.rows}
    axis = plots.dot_axis([spread for spread in spreads.values() if spread])
    return {
        "board": current,
        "rendering": rendering,
        "changed": rank_changes.summary(current, rendering.changes),
        "axis": axis,
        "lines": _lines(current, columns, rendering, axis, sort),
        "is_dense": len(current.rows) >= DENSE_FROM,
        "topics_a_mark": -(-len(current.topics) // MOST_TOPICS),
        "is_mixed": is_mixed and sort in ("", by_rank),
        "heads": board_columns.heads(current, columns, query, sort or ("" if is_mixed else by_rank)),
        "has_estimates": has_estimates,
        "estimate_lacks": sentences.lacks(sample),
        "estimand": provenance.estimand(current.spec) if sample else "",
        "estimate_method": sentences.method(sample) if sample else "",
        "estimate_notes": sentences.notes(sample),
        "estimate_basis": sentences.basis(sample) if sample else "",
        "sets": measure_sets(current, query),
        "paused": bool(parameters.get("paused")),
        "pause": changed(query, paused="" if parameters.get("paused") else "1"),
        "measure_name": label,
        "importance": provenance.importance(current),
        "circularity": provenance.circularity(current),
        "headline": sentences.headline(current.top, current.n_topics),
        "resolution": sentences.resolution(current.top, current.n_topics),
        "uncertainty": provenance.uncertainty(current),
        "n_asked": current.n_topics + current.n_undefined,
        "n_topics_in_all": current.n_topics + current.n_left_out,
        "unasked": current.without_items[:NAMED_TOPICS],
        "n_unasked_more": max(len(current.without_items) - NAMED_TOPICS, 0),
        "agreements": [_agreement(entry, current, label) for entry in current.correlations],
        "parting": _parting(current),
        "check": {} if has_estimates else _check(current),
        "share_checked": current.verified[0] / (current.verified[1] or 1),
        "all_topics": changed(query, topics=""),
        "statements": provenance.statements(current),
    }


def _spread(row: BoardRow, rendering: rank_changes.Rendering) -> Spread | None:
    change = rendering.changes.get(row.run_id)
    before = change.before.score if change else None
    return None if row.score is None else Spread(row.score, row.low, row.high, before)


def _lines(
    current: Board,
    columns: Sequence[Column],
    rendering: rank_changes.Rendering,
    axis: DotAxis | None,
    sort: str,
) -> list[BoardLine]:
    """Return the rows by their bands and in these by score, or in the order that the reader chose."""
    rows = list(board_columns.in_order(current, columns, sort))
    if any(row.is_behind for row in rows) and not sort:
        rows.sort(key=lambda row: (row.is_behind is None, row.is_behind))
    on_page = board_columns.at(columns, Place.PAGE)
    origins = selectors.run_origins(current.spec.collection)
    highest = max((score for row in rows for score in row.by_topic if score is not None), default=1.0)
    names = [f"{topic.name} {clipped(topic.text, 40)}" for topic in current.topics]
    groups = [(SafeString(as_html(name)), places) for name, places in topic_groups(names)]
    lines = []
    for row, (band, band_rows) in zip(rows, plots.bands([row.is_behind for row in rows]), strict=True):
        spread, moved = _spread(row, rendering), rendering.moved.get(row.run_id)
        line = BoardLine(
            row,
            origins.get(row.run_id, ""),
            axis.dot(spread) if axis and spread else None,
            rendering.changes.get(row.run_id),
            "" if moved is None else "up" if moved > 0 else "down" if moved < 0 else "score",
            band=band,
            band_rows=band_rows,
            numbers=tuple(column.cell(row) for column in on_page),
            topics=topic_marks(row, groups, max(highest, 1.0)),
        )
        lines.append(line)
    return lines


def _check(current: Board) -> dict[str, object]:
    """Return what a check by people would take: how many pairs, whether these are all, and its seconds.

    No pairs where the rubric has no text that people could read.
    """
    checked, total = current.verified
    address = current.spec.check_address
    has_text = address != "" or checked == total
    cells = min(CHECK_CELLS, total - checked) if has_text else 0
    return {
        "address": address,
        "cells": cells,
        "has_text": has_text,
        "is_all": cells == total - checked,
        "seconds": cells * rating_pace(current.spec.collection).seconds,
    }


def _agreement(other: BoardCorrelation, current: Board, name: str) -> dict[str, object]:
    """Return how far the order of runs agrees with another board, with a drawing of both scores."""
    scores = {row.run_tag: row.score for row in current.rows}
    both = ((tag, theirs, scores.get(tag)) for tag, theirs in other.scores)
    pairs = tuple((tag, theirs, ours) for tag, theirs, ours in both if ours is not None)
    first = current.top.first if current.top else ()
    enough = len(pairs) >= TAU_FROM
    return {
        "against": other.against,
        "measure": other.measure,
        "n_runs": other.kendall.n,
        "tau": other.kendall.value if enough else None,
        "rho": other.spearman.value,
        "r": other.pearson.value,
        "reason": other.kendall.reason if enough else "",
        "placed": other.placed,
        "source": other.source,
        "scatter": plots.scatter(pairs, first, (other.measure, name)) if len(pairs) > 1 else None,
    }


def _parting(current: Board) -> list[Parting]:
    scores = [score for row in current.rows for score in row.by_topic if score is not None]
    low, high = min(scores, default=0.0), max(scores, default=1.0)
    return [
        Parting(
            current.topics[place],
            plots.ticks([row.by_topic[place] for row in current.rows if row.rank == 1], low, high),
            plots.ticks([row.by_topic[place] for row in current.rows if row.rank != 1], low, high),
        )
        for place in parting_topics(current.topics, current.rows)
    ]


def official_tables(collection: Collection) -> list[OfficialTable]:
    """Return the official leaderboards, which are to be seen before there is a bank."""
    tables = []
    for official in official_boards(collection):
        axis = (
            None
            if official.is_rank
            else plots.dot_axis([Spread(value) for value in official.values.values()])
        )
        best = sorted(official.scores, key=lambda tag: (-official.scores[tag], tag))
        rows = [
            (tag, official.values[tag], axis.dot(Spread(official.values[tag])) if axis else None)
            for tag in best
        ]
        tables.append(OfficialTable(official, axis, rows))
    return tables


def measure_sets(current: Board, query: str) -> list[tuple[str, str]]:
    """Return sets of columns that one click shows: pairs of label and query."""
    if current.spec.bank is None:
        return []
    return [
        (entry.label, changed(query, measure=entry.ranked_by, columns=",".join(entry.others), sort=""))
        for entry in registry.SETS
        if entry.kind is None or entry.kind in current.spec.kinds
    ]
