"""How long a collection keeps what models wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Max, Q, Sum
from django.db.models.functions import Length
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.replies.dropping import keep_replies
from rubricweb.grades.replies.models import ReplyBlock, ReplyPolicy

MOST_DAYS = 36_500
AGES = (30, 90, 365)
"""Days, for which the page says how much is older."""


class RepliesForm(forms.Form):
    """After how many days replies are dropped."""

    days = forms.IntegerField(
        label=gettext_lazy("Drop replies after (days)"),
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text=gettext_lazy("Leave it empty to keep them for ever. What is dropped does not come back."),
    )


@dataclass(frozen=True, slots=True)
class StoredReplies:
    """What a collection has of long replies."""

    number: int
    content_bytes: int
    """Compressed."""
    dropped: int
    dropped_at: datetime | None
    """The latest time."""
    older: tuple[tuple[int, int], ...]
    """(days, replies that are older)."""


@require_http_methods(["GET", "HEAD", "POST"])
def replies(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show how long replies are kept, and how many there are; POST changes it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _form(collection, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        keep_replies(collection, form.cleaned_data["days"], by=request.user)
        messages.success(request, gettext("Saved. A worker drops what is older."))
        return redirect("corpus:settings", slug)
    context = {"collection": collection, "section": "settings", "form": form, "stored": stored(collection)}
    return form_response(request, "grades/replies.html", context)


def _form(collection: Collection, sent: Mapping[str, Any] | None) -> RepliesForm:
    policy = ReplyPolicy.objects.filter(collection=collection).first()
    return RepliesForm(sent, initial={"days": policy.days if policy else None})


def stored(collection: Collection) -> StoredReplies:
    """Count the replies in blocks; those in rows of grades are not counted."""
    now = timezone.now()
    older = {
        f"older_{days}": Sum(
            "number", filter=Q(at__lt=now - timedelta(days=days), dropped_at=None), default=0
        )
        for days in AGES
    }
    found = ReplyBlock.objects.filter(collection=collection).aggregate(
        **older,
        content_bytes=Sum(Length("content"), default=0),
        last=Max("dropped_at"),
        gone=Sum("dropped", default=0),
        present=Sum("number", default=0),
    )
    ages = tuple((days, found[f"older_{days}"]) for days in AGES)
    return StoredReplies(found["present"], found["content_bytes"], found["gone"], found["last"], ages)
