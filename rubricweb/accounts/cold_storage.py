"""What is served of a collection while its grades are in cold storage; its pages do not lead to the rest."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve

from rubricweb.core.reader import reader

if TYPE_CHECKING:
    from rubricweb.core.middleware import Answer
    from rubricweb.corpus.models import Collection

SERVED_COLD = {
    *("leaderboards:board", "leaderboards:plot", "leaderboards:compare", "leaderboards:sure"),
    *("leaderboards:public", "leaderboards:public-file", "leaderboards:public-close"),
    "exports:leaderboard",
    "corpus:events",
    "archives:delete",
    *("api:collections", "api:leaderboard", "api:comparison", "api:qrels"),
}
"""Routes that need no row of a grade, and change nothing that a board is computed from: boards are kept."""
WAY = re.compile(r"""<(a|form)\b((?:[^>"']|"[^"]*"|'[^']*')*)>.*?</\1>""", re.DOTALL)
"""A link or a form: its tag and attributes. Neither can stand in another of its kind."""
TARGET = re.compile(r'(?<![-\w])(?:href|action)="([^"]*)"')
OFFER = re.compile(r'\bclass="[^"]*\bbutton|\bdata-offer\b')
"""A link that says what one may do, instead of naming what it leads to."""


class InColdStorage(PermissionDenied):
    """Raised where grades of a collection would be read or written that are in cold storage."""

    title = "In cold storage"

    def __init__(self, collection: Collection) -> None:
        super().__init__(
            f"The grades of {collection} are in cold storage. Its leaderboards stay, and comparisons; for "
            "anything else the administrator of the server brings them back: "
            f"rubricweb thaw {collection.slug}"
        )
        self.way = (collection.get_absolute_url(), "To the leaderboard")


def require_served(collection: Collection) -> None:
    """Raise InColdStorage unless the route of the request is served cold; else tell `ColdPages`."""
    request = reader().request
    match = getattr(request, "resolver_match", None)
    if match is None or match.view_name not in SERVED_COLD:
        raise InColdStorage(collection)
    request.cold_slug = collection.slug


class ColdPages:
    """Take from pages of a collection in cold storage what leads to those that are refused."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        slug = getattr(request, "cold_slug", None)
        if slug and not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            response.content = without_refused(response.content.decode(), slug)
        return response


def without_refused(page: str, slug: str) -> str:
    """Return the page with plain text for links that would be refused, and without such offers and forms."""
    return WAY.sub(partial(_kept, slug), page)


def _kept(slug: str, way: re.Match[str]) -> str:
    tag, attributes = way.groups()
    target = TARGET.search(attributes)
    if target is None or not _is_refused(unescape(target[1]), slug):
        return way[0]
    return "" if tag == "form" or OFFER.search(attributes) else TARGET.sub("", way[0], count=1)


def _is_refused(address: str, slug: str) -> bool:
    try:
        match = resolve(urlsplit(address).path)
    except Resolver404:  # within the page, a file, or another site
        return False
    is_here = match.kwargs.get("slug") == slug or "bank_id" in match.kwargs
    return is_here and match.view_name not in SERVED_COLD
