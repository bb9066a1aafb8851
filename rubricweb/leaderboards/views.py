"""The leaderboard of a collection."""

from __future__ import annotations

from functools import partial

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards import board_page, live_board, rank_changes
from rubricweb.leaderboards.board import selectors
from rubricweb.leaderboards.forms import BoardToolbar


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


def refused(response: HttpResponse) -> HttpResponse:
    """Keep the browser's address, so that its history has no refused one."""
    response["HX-Push-Url"] = "false"
    return response
