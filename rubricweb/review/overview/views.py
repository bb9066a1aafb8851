"""The page that the Review tab opens."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.review.overview import selectors


@require_safe
def overview(request: HtmxRequest, slug: str) -> HttpResponse:
    """What waits for the person, and every review screen of the collection."""
    collection = collection_for(request.user, slug)
    waiting = selectors.overview(collection, request.user)
    context = {"collection": collection, "section": "review", "waiting": waiting}
    return page_or_part(request, "review/overview/overview.html", context, part="waiting")
