"""The leaderboard of a collection, and one run's topics."""

from __future__ import annotations

from functools import partial

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import scores_of_run
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.leaderboards import board_page, live_board, rank_changes
from rubricweb.leaderboards.board import provenance, selectors
from rubricweb.leaderboards.forms import BoardForm, BoardToolbar


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """The page; its part `board` when controls change, `leaderboard` when grades or items do."""
    collection = access.collection_for(request.user, slug)
    return live_board.answer(request, collection, partial(_board, request, collection))


def _board(request: HtmxRequest, collection: Collection) -> HttpResponse:
    form = BoardToolbar(request.GET, collection=collection)
    context = {"collection": collection, "section": "leaderboard", "form": form}
    if not form.graders:
        return page_or_part(request, "leaderboards/board.html", context, part="board")
    if not form.is_valid():
        return refused(form_response(request, "leaderboards/board.html", context, part="board"))
    leaderboard = selectors.board(form.spec)
    if request.GET.get("digest") == rank_changes.digest(leaderboard):
        return HttpResponse(status=204)
    query = board_page.query_of(form)
    context |= {"query": query, **board_page.board_context(leaderboard, query, request.GET)}
    part = "leaderboard" if live_board.SEEN in request.GET else "board"
    return page_or_part(request, "leaderboards/board.html", context, part=part)


@require_safe
def run(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """One run's score on every topic, beside the mean and the best of all runs."""
    collection = access.collection_for(request.user, slug)
    of_run = get_object_or_404(collection.runs.accepted(), pk=run_id)
    official = scores_of_run(of_run)
    (of_run.run_tag,) = shown_names(collection.pk, (of_run.run_tag,))
    form = BoardForm(request.GET, collection=collection)
    context = {"collection": collection, "section": "leaderboard", "run": of_run, "form": form}
    if not form.is_valid():
        return form_response(request, "leaderboards/run.html", context, part="topics")
    sort = request.GET.get("sort", "topic")
    rows = board_page.sorted_topics(selectors.run_topics(form.spec, of_run, official), sort)
    columns = board_page.topic_columns(of_run.run_tag, sort, official)
    context |= {"spec": form.spec, "rows": rows, "columns": columns, "official": official}
    context |= {"query": board_page.query_of(form), "measure_name": provenance.measure_name(form.spec)}
    return page_or_part(request, "leaderboards/run.html", context, part="topics")


def refused(response: HttpResponse) -> HttpResponse:
    """Keep the browser's address, so that its history has no refused one."""
    response["HX-Push-Url"] = "false"
    return response
