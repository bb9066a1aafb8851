"""The stream of a collection's live events."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from rubricweb.core import events
from rubricweb.corpus import access


@require_safe
async def collection_events(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Names of what changed in the collection, as server-sent events, for its members."""
    user = await request.auser()
    collection = await sync_to_async(access.collection_for)(user, slug)
    return events.stream(collection.channel)
