"""Published boards, for everybody who has the link."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import quote_etag
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus import access
from rubricweb.leaderboards.public import actions, page, selectors
from rubricweb.leaderboards.public.models import PublicBoard

PAGE = "leaderboards/publish.html"
CACHED_SECONDS = 60


@login_not_required
@require_safe
def public(request: HttpRequest, token: str) -> HttpResponse:
    """The board, read only. A wrong, closed or broken link is not found, and none says which."""
    link, shown = _found(token)
    sort = request.GET.get("sort", "")
    sort = sort if sort in page.SORTS else ""
    etag = quote_etag(f"{shown.digest}-{link.pk}-{int(link.is_anonymous)}-{sort}")
    response = get_conditional_response(request, etag=etag)
    if response is None:
        # Without the request: nothing of the page depends on who reads it.
        address = request.build_absolute_uri(link.get_absolute_url())
        context = page.page_context(link, shown.document, address, sort)
        response = HttpResponse(render_to_string("leaderboards/public.html", context))
    response["ETag"] = etag
    return _cached(request, response)


@login_not_required
@require_safe
def public_file(request: HttpRequest, token: str) -> HttpResponse:
    """The published board as tab-separated values."""
    _, shown = _found(token)
    text = "\n".join([*page.file_lines(shown.document), ""])
    response = HttpResponse(text, content_type="text/tab-separated-values; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="leaderboard.tsv"'
    return _cached(request, response)


def _found(token: str) -> tuple[PublicBoard, selectors.PublicPage]:
    link = selectors.open_board(token)
    shown = selectors.page_of(link) if link else None
    if link is None or shown is None:
        raise Http404("No such board.")
    return link, shown


def _cached(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    response["X-Robots-Tag"] = "noindex, nofollow"
    patch_cache_control(response, public=True, max_age=CACHED_SECONDS)
    request.session.accessed = False  # only to see that nobody must sign in: caches may share the page
    return response


@require_POST
def close(request: HtmxRequest, slug: str, board_id: int) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    board = get_object_or_404(collection.public_boards, pk=board_id)
    actions.close_board(board, by=request.user)
    messages.success(request, f"{board} is closed. Its link no longer works.")
    return redirect("releases:share", slug)
