"""The help's pages, open to everybody: they are the documentation of the source."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from rubricweb.help import contents


@require_safe
@login_not_required
def index(request: HttpRequest) -> HttpResponse:
    return _page(request, contents.INDEX)


@require_safe
@login_not_required
def page(request: HttpRequest, page: str) -> HttpResponse:
    return _page(request, page)


@require_safe
@login_not_required
def search(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:200]
    context = {"words": query, "hits": contents.search(query), "contents": contents.table_of_contents()}
    return render(request, "help/search.html", context)


def _page(request: HttpRequest, name: str) -> HttpResponse:
    document = contents.document(name)
    if document is None:
        raise Http404("The help has no such page.")
    context = {"page": document, "contents": contents.table_of_contents()}
    return render(request, "help/page.html", context)
