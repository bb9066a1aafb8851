"""Settings of stored grades: default grader, source of verified answers, and retention of replies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Max, Q, QuerySet, Sum
from django.db.models.functions import Length, Now
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from grading.graders import registry
from rubricweb.accounts import roles
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import Context, HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.actions import choose_answers, choose_default_grader
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import ReplyBlock, ReplyPolicy
from rubricweb.grades.selectors import GraderRow, answer_sources, scored_graders

MOST_DAYS = 36_500
AGES = (30, 90, 365)
"""Days, for each of which the page says how many replies are older."""


class DefaultGraderForm(forms.Form):
    """Choice of the default grader by its fingerprint, among those with grades here."""

    default_grader = forms.ChoiceField(label="Grades shown first", widget=forms.RadioSelect)


class AnswersForm(forms.Form):
    """Choice of the grader whose answers are verified, by its fingerprint, or of none."""

    answers_by = forms.ChoiceField(label="Answers to verify", required=False, widget=forms.RadioSelect)


class RepliesForm(forms.Form):
    """Number of days after which replies are dropped."""

    days = forms.IntegerField(
        label="Drop replies after (days)",
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text="Empty: never. Dropped replies cannot be restored.",
    )


@dataclass(frozen=True, slots=True)
class StoredReplies:
    """Statistics of a collection's long replies."""

    number: int
    content_bytes: int
    """Bytes, compressed."""
    dropped: int
    dropped_at: datetime | None
    """Latest time at which replies were dropped."""
    older: tuple[tuple[int, int], ...]
    """Pairs of days and the number of older replies."""


def kept_context(collection: Collection) -> Context:
    """Return the three forms, and the statistics of replies."""
    return {
        "default_form": default_form(collection),
        "answers_form": answers_form(collection),
        "replies_form": replies_form(collection),
        "stored": stored(collection),
    }


@require_POST
def default_grader(request: HtmxRequest, slug: str) -> HttpResponse:
    """Set the grader whose grades pages show unless their address names another."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = default_form(collection, request.POST)
    if form.is_valid():
        choose_default_grader(collection, form.cleaned_data["default_grader"], by=request.user)
    return _back(request, collection, form)


@require_POST
def answers(request: HtmxRequest, slug: str) -> HttpResponse:
    """Set the grader whose extracted answers are verified; earlier verdicts stay with their answers."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = answers_form(collection, request.POST)
    if form.is_valid():
        choose_answers(collection, form.cleaned_data["answers_by"], by=request.user)
    return _back(request, collection, form)


def _back(request: HtmxRequest, collection: Collection, form: forms.Form) -> HttpResponse:
    for errors in form.errors.values():
        messages.error(request, " ".join(map(str, errors)))
    if not form.errors:
        messages.success(request, "Saved.")
    return redirect("graders:graders", collection.slug)


def default_form(collection: Collection, submitted: Any = None) -> DefaultGraderForm:
    rows = scored_graders(collection)
    form = DefaultGraderForm(
        submitted, initial={"default_grader": rows[0].config.fingerprint if rows else ""}
    )
    choices = [(row.config.fingerprint, f"{row.config} ({counted(row.grades, 'grade')})") for row in rows]
    offer_choices(form, "default_grader", choices)
    return form


def answers_form(collection: Collection, submitted: Any = None) -> AnswersForm:
    form = AnswersForm(submitted, initial={"answers_by": collection.answers_by})
    others = [(row.config.fingerprint, _label(row)) for row in answer_sources(collection)]
    offer_choices(form, "answers_by", [("", "Those of the chosen grader"), *others])
    return form


def _label(row: GraderRow) -> str:
    backend = registry.BACKENDS.get(row.config.backend)
    here = backend.label if backend else "not here now"
    whence = "from a file" if row.config.backend == registry.IMPORTED else here
    return f"{row.config} ({whence}, {counted(row.grades, 'answer')})"


def replies_form(collection: Collection, submitted: Any = None) -> RepliesForm:
    policy = next(iter(_policy(collection.pk)), None)
    return RepliesForm(submitted, initial={"days": policy.days if policy else None})


@compiled_once
def _policy(collection: int) -> QuerySet[ReplyPolicy, ReplyPolicy]:
    return ReplyPolicy.objects.filter(collection=collection)


def stored(collection: Collection) -> StoredReplies:
    """Count the replies in blocks, not those in rows of grades."""
    without: Any = (collection.pk, 0, 0, 0, None, *(0 for _ in AGES))
    _, number, size, dropped, dropped_at, *older = next(iter(_counts(collection.pk)), without)
    return StoredReplies(number, size, dropped, dropped_at, tuple(zip(AGES, older, strict=True)))


@compiled_once
def _counts(collection: int) -> QuerySet[ReplyBlock, Any]:
    """Return the numbers of `StoredReplies`, after the collection; no row where it has no block."""
    ages = {f"older_{days}": Q(at__lt=Now() - timedelta(days=days), dropped_at=None) for days in AGES}
    rows = ReplyBlock.objects.filter(collection=collection).order_by().values_list("collection")
    return rows.annotate(
        present=Sum("number"),
        content_bytes=Sum(Length("content")),
        gone=Sum("dropped"),
        last=Max("dropped_at"),
        **{name: Sum("number", filter=is_older, default=0) for name, is_older in ages.items()},
    )
