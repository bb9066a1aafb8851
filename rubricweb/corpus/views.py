"""A collection's settings, and its stream of live events."""

from __future__ import annotations

import re

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from rubricweb.accounts import roles
from rubricweb.core import streams
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus import access, actions
from rubricweb.corpus.actions import SettingsChanged, settings_digest
from rubricweb.corpus.forms import SettingsForm, settings_form
from rubricweb.corpus.models import Collection


@require_safe
async def collection_events(request: HtmxRequest, slug: str) -> StreamingHttpResponse:
    """Stream the names of the collection's events to its members.

    `since` is when the page was requested: if nothing happened since, the page need not refresh.
    """
    user = await request.auser()
    collection = await sync_to_async(access.collection_for)(user, slug)
    return streams.stream(collection.channel, since=seconds(request.GET.get("since", "")))


def seconds(text: str) -> float | None:
    """Return a Unix time as an address has it; None for anything else."""
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", text) else None


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = settings_form(collection, request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            actions.change_settings(
                collection, form.settings(collection), by=request.user, seen=form.cleaned_data["seen"]
            )
        except SettingsChanged:
            return _conflicting_settings(request, slug)
        messages.success(request, "Settings saved.")
        return redirect("corpus:settings", slug)
    return _settings_page(request, collection, form)


def _conflicting_settings(request: HtmxRequest, slug: str) -> HttpResponse:
    """What was sent, over the settings as they are now; to save it again is to know of them."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    sent = request.POST.copy()
    sent["seen"] = settings_digest(collection)
    response = _settings_page(request, collection, settings_form(collection, sent), has_conflict=True)
    response.status_code = 409
    return response


def _settings_page(
    request: HtmxRequest, collection: Collection, form: SettingsForm, *, has_conflict: bool = False
) -> HttpResponse:
    context = {"has_conflict": has_conflict, "collection": collection, "settings_form": form, "form": form}
    return form_response(request, "corpus/settings.html", context)
