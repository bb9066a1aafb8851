"""The page of influence; each of its views is computed when it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from grading.run_families import families
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.corpus.duplicates.selectors import latest_search
from rubricweb.leaderboards.board.items import secret_wordings
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.influence import duplicates, files, items, pool, sheets
from rubricweb.leaderboards.influence.files import Texts
from rubricweb.leaderboards.influence.forms import InfluenceForm

PAGE = "leaderboards/influence.html"
SHOWN_ROWS = 50
VIEWS = {
    "items": gettext_lazy("Items"),
    "runs": gettext_lazy("Runs"),
    "pairs": gettext_lazy("Redundant pairs"),
    "holes": gettext_lazy("Holes"),
    "teams": gettext_lazy("Teams"),
    "origins": gettext_lazy("Who wrote the items"),
    "duplicates": gettext_lazy("Near-duplicates"),
}


@require_safe
def influence(request: HtmxRequest, slug: str) -> HttpResponse:
    """How the board depends on items, grades and teams. The board and the view are in the address."""
    collection = access.collection_for(request.user, slug)
    view = request.GET.get("view", "items")
    view = view if view in VIEWS else "items"
    form = InfluenceForm(request.GET, collection=collection, view=view)
    context = {"collection": collection, "section": "leaderboard", "tab": "influence"}
    context |= {"form": form, "views": VIEWS.items(), "view": view}
    if not form.graders:
        return page_or_part(request, PAGE, context, part="influence")
    if not form.is_valid():
        return form_response(request, PAGE, context, part="influence")
    view_context = _VIEWS[view](scored_board(form.spec), form, request)
    return page_or_part(request, PAGE, {**context, **view_context, "spec": form.spec}, part="influence")


def _items(scored: ScoredBoard, form: InfluenceForm, request: HtmxRequest) -> Context:
    order = request.GET.get("by", "effect")
    texts = items.item_texts(scored)
    known = [row for row in items.item_influences(scored).rows if (row.topic_id, row.uid) in texts]
    rows = sheets.ordered(known, order)
    shown = rows if "all" in request.GET else rows[:SHOWN_ROWS]
    orders = [(name, label) for name, (label, _) in sheets.ORDERS.items()]
    sheet = replace(
        sheets.items(shown, texts, _grid(scored)), data=files.items(scored, rows, _public(scored, texts))
    )
    return {"sheet": sheet, "orders": orders, "order": order, "n_rows": len(rows), "n_shown": len(shown)}


def _runs(scored: ScoredBoard, form: InfluenceForm, request: HtmxRequest) -> Context:
    texts = items.item_texts(scored)
    moving = items.item_influences(scored).dependents
    rows = [one for one in moving if (one.row.topic_id, one.row.uid) in texts]
    return {
        "n_beyond": sum(one.is_beyond for one in rows),
        "can_tell": scored.ranks is not None and scored.ranks.can_tell,
        "sheet": replace(
            sheets.runs(rows, texts, _grid(scored)), data=files.runs(scored, rows, _public(scored, texts))
        ),
        "n_runs": len(scored.run_tags),
    }


def _pairs(scored: ScoredBoard, form: InfluenceForm, request: HtmxRequest) -> Context:
    texts = items.item_texts(scored)
    pairs = items.pairs(scored)
    rows = [
        pair for pair in pairs if {(pair.topic_id, pair.first), (pair.topic_id, pair.second)} <= set(texts)
    ]
    shown = rows if "all" in request.GET else rows[:SHOWN_ROWS]
    sheet = replace(
        sheets.pairs(shown, texts, _grid(scored)), data=files.pairs(scored, rows, _public(scored, texts))
    )
    return {"sheet": sheet, "n_rows": len(rows), "n_shown": len(shown)}


def _public(scored: ScoredBoard, texts: Texts) -> Texts:
    """The texts that a file may have."""
    secret = secret_wordings(topic.topic_id for topic in scored.base.pool.topics)
    return {place: text for place, text in texts.items() if place not in secret}


def _holes(scored: ScoredBoard, form: InfluenceForm, request: HtmxRequest) -> Context:
    rows = pool.holes(scored)
    return {"sheet": replace(sheets.holes(rows), data=files.holes(scored, rows))}


def _teams(scored: ScoredBoard, form: InfluenceForm, request: HtmxRequest) -> Context:
    depth = form.cleaned_data["depth"]
    rows = pool.teams_left_out(scored, families(scored.run_tags, form.patterns), depth=depth)
    errors = [abs(row.error) for row in rows]
    return {
        "sheet": replace(sheets.teams(rows, depth), data=files.teams(scored, rows, depth)),
        "mean_error": sum(errors) / len(errors) if errors else None,
        "n_errors": sum(error > 0 for error in errors),
        "n_sure": sum(row.is_sure for row in rows),
    }


def _origins(scored: ScoredBoard, form: InfluenceForm, request: HtmxRequest) -> Context:
    rows = pool.circularity(scored, families(scored.run_tags, form.patterns))
    sheet = replace(sheets.origins(rows), data=files.origins(scored, rows))
    return {"sheet": sheet, "n_origins": len(pool.origins(scored))}


def _duplicates(scored: ScoredBoard, form: InfluenceForm, request: HtmxRequest) -> Context:
    search = latest_search(scored.spec.collection)
    rows = duplicates.duplicates(scored)
    sheet = sheets.duplicates(rows, scored.spec.measure.judged_at)
    threshold = search.threshold if search else 1.0
    return {
        "search": search,
        "sheet": replace(sheet, data=files.duplicates(scored, rows, threshold)),
        "n_repeating": sum(row.repeats > 0 for row in rows),
        "n_runs": len(rows),
        "uses_labels": scored.spec.measure.uses_labels,
    }


def _grid(scored: ScoredBoard) -> Callable[[int], str]:
    """Return the grid of a topic; a board of labels has none."""
    bank = scored.spec.bank
    return lambda topic_id: (
        reverse("editor:topic", args=[bank.pk, topic_id], query={"view": "grid"}) if bank else ""
    )


_VIEWS: dict[str, Callable[[ScoredBoard, InfluenceForm, HtmxRequest], Context]] = {
    "items": _items,
    "runs": _runs,
    "pairs": _pairs,
    "holes": _holes,
    "teams": _teams,
    "origins": _origins,
    "duplicates": _duplicates,
}
