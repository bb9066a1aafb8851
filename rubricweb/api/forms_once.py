"""Forms that are sent twice, as by a second click, do what they do once.

A form whose sending makes something has a key of its own: `{% once %}`. It is kept as an Idempotency-Key of
the API is, with where the first answer led.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from rubricweb.api import idempotency
from rubricweb.api.models import KeptAnswer
from rubricweb.core.middleware import Answer
from rubricweb.core.templatetags.core import ONCE

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

KEY_CHARS = 64
WAITED = 20.0
"""Seconds that a second click waits for the answer to the first."""
LOOKED_EVERY = 0.1


class FormsOnce:
    """Answer the second of two equal forms as the first was answered."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = _key(request)
        if not key:
            return self.get_response(request)
        kept, is_new = idempotency.kept_for(cast("User", request.user), key, "")
        if not is_new:
            first = _waited_for(kept)
            if first is None:  # it was refused
                return self(request)
            if first.status or not idempotency.is_taken_over(first):
                return _again(request, first)
            kept = first
        try:
            response = self.get_response(request)
        except BaseException:
            idempotency.let_go(kept)
            raise
        if response.status_code >= 400:
            idempotency.let_go(kept)
        else:
            kept.status, kept.headers = response.status_code, {"Location": response.get("Location", "")}
            kept.save(update_fields=["status", "headers"])
        return response


def _key(request: HttpRequest) -> str:
    """Return the key of a form; empty for anything else. Other contents are another form."""
    if request.method != "POST" or not request.user.is_authenticated or getattr(request, "htmx", False):
        return ""
    once = request.POST.get(ONCE, "")
    if not 0 < len(once) <= KEY_CHARS:
        return ""
    fields = sorted((name, values) for name, values in request.POST.lists() if name != "csrfmiddlewaretoken")
    files = sorted(
        (name, [(file.name, file.size) for file in listed]) for name, listed in request.FILES.lists()
    )
    content = repr((request.get_full_path(), fields, files))
    return f"form {once} {hashlib.sha256(content.encode()).hexdigest()}"


def _waited_for(kept: KeptAnswer) -> KeptAnswer | None:
    """Return the row of the first form once it is answered, given up, or waited for in vain.

    None if it was refused.
    """
    end = time.monotonic() + WAITED
    row: KeptAnswer | None = kept
    while row and not row.status and time.monotonic() < end and not idempotency.is_over(row):
        time.sleep(LOOKED_EVERY)
        row = KeptAnswer.objects.filter(pk=kept.pk).first()
    return row


def _again(request: HttpRequest, kept: KeptAnswer) -> HttpResponse:
    place = kept.headers.get("Location", "")
    if not kept.status:
        messages.warning(request, "This was sent before, and is still being worked on.")
    elif place:
        messages.info(request, "This was sent twice, and done once.")
    else:
        words = (
            "This was sent twice, and done once. What it made was shown in the first answer only: if you did "
            "not see it, revoke it and make another."
        )
        messages.warning(request, words)
    return redirect(place or request.get_full_path())
