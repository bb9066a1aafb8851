"""Published boards: for everybody who has the link, and the organizer's page of them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import quote_etag
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, form_response, shows_a_secret
from rubricweb.corpus import access
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.forms import BoardToolbar
from rubricweb.leaderboards.public import actions, page, selectors
from rubricweb.leaderboards.public.forms import PublishForm
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


@shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HtmxRequest, slug: str) -> HttpResponse:
    """Organizers: what is published, and publish the board of this address."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    chosen = BoardToolbar(request.GET, collection=collection)
    title = gettext("Leaderboard of %(collection)s") % {"collection": collection}
    form = PublishForm(request.POST or None, initial={"title": title}, auto_id="publish_%s")
    is_valid = bool(chosen.graders) and chosen.is_valid()
    may_publish = form.is_bound and is_valid and form.is_valid()
    if may_publish and (made := form.publish(collection, query=query_of(chosen), by=request.user)):
        messages.success(request, _done(made))
        return redirect(_with_new(request, made))
    context = {"collection": collection, "section": "leaderboard", "tab": "publish", "form": chosen}
    context |= {"publish_form": form, "is_valid": is_valid, "published": collection.public_boards.all()}
    if new := selectors.new_board(collection, request.GET.get("new", "")):
        context |= {"new": new, "new_link": request.build_absolute_uri(new.get_absolute_url())}
    status = 422 if form.is_bound or (chosen.graders and not is_valid) else 200
    return form_response(request, PAGE, context, part="publish", status=status)


def _with_new(request: HtmxRequest, made: PublicBoard) -> str:
    """The address with the choices that it has, and the board whose link is shown above them."""
    address = request.GET.copy()
    address["new"] = str(made.pk)
    return f"{request.path}?{address.urlencode()}"


def _done(made: PublicBoard) -> str:
    if made.is_frozen:
        return gettext("Published and frozen. Anybody with the link can read it.")
    return gettext("Published. Anybody with the link can read it.")


@require_POST
def close(request: HtmxRequest, slug: str, board_id: int) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    board = get_object_or_404(collection.public_boards, pk=board_id)
    actions.close_board(board, by=request.user)
    messages.success(request, gettext("%(board)s is closed. Its link no longer works.") % {"board": board})
    return redirect("leaderboards:publish", slug)
