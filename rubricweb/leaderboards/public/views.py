"""Published boards, for everybody who has the link."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import quote_etag
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus import access
from rubricweb.leaderboards.public import actions, selectors
from rubricweb.leaderboards.public.documents import left_out

CACHED_SECONDS = 60


@login_not_required
@require_safe
def public(request: HttpRequest, token: str) -> HttpResponse:
    """The board, read only. A wrong, closed or broken link is not found, and none says which."""
    link = selectors.open_board(token)
    page = selectors.page_of(link) if link else None
    if link is None or page is None:
        raise Http404("No such board.")
    etag = quote_etag(f"{page.digest}-{link.pk}-{int(link.is_anonymous)}")
    response = get_conditional_response(request, etag=etag)
    if response is None:
        # Without the request: nothing of the page depends on who reads it.
        context = {"public": link, "board": page.document, "left_out": left_out(page.document)}
        response = HttpResponse(render_to_string("leaderboards/public.html", context))
    response["ETag"] = etag
    response["X-Robots-Tag"] = "noindex, nofollow"
    patch_cache_control(response, public=True, max_age=CACHED_SECONDS)
    request.session.accessed = False  # only to see that nobody must sign in: caches may share the page
    return response


@require_POST
def close(request: HtmxRequest, slug: str, board_id: int) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    board = get_object_or_404(collection.public_boards, pk=board_id)
    actions.close_board(board, by=request.user)
    messages.success(request, gettext("%(board)s is closed. Its link no longer works.") % {"board": board})
    return redirect("releases:share", slug)
