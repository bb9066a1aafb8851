"""Which open pages share an answer with the live board: those that ask the same and may see the same."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.http import HttpResponse
from django.utils.cache import patch_vary_headers

from rubricweb.core import events
from rubricweb.core.http import HtmxRequest
from rubricweb.core.shared_answers import shared_answer
from rubricweb.corpus.models import Collection
from rubricweb.grades import visibility

SEEN = "seen"
"""The order of runs that the browser shows, which only a live refetch sends."""


def answer(request: HtmxRequest, collection: Collection, respond: Callable[[], HttpResponse]) -> HttpResponse:
    """Return `respond`'s answer to a live refetch, shared by all that ask since the same event.

    A page that somebody opens or changes is computed for them: a setting may have changed without an event.
    """
    last = events.last_event(collection.channel) if _is_live(request) else ""
    if not last:
        return respond()
    asked = sorted((name, request.GET.getlist(name)) for name in request.GET)
    may_see = visibility.what_reader_may_see(collection)
    response = shared_answer(json.dumps([request.get_host(), request.path, asked, last, may_see]), respond)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _is_live(request: HtmxRequest) -> bool:
    """Whether it is answered with the part of the page that events replace."""
    asks_page = request.htmx.boosted or request.htmx.history_restore_request
    return bool(request.htmx) and not asks_page and SEEN in request.GET
