"""Choose whose extracted answers are verified: those of the collection's own grader, or of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from grading.graders import registry
from grading.graders.registry import IMPORTED
from rubricweb.accounts import roles
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.actions import choose_answers
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import active_prompts
from rubricweb.grades.selectors import GraderRow, answer_sources

OWN = "The answers of the grader chosen in Settings"


class AnswersForm(forms.Form):
    """The fingerprint of a grader, or nothing."""

    answers_by = forms.ChoiceField(label=gettext_lazy("Answers by"), required=False, widget=forms.RadioSelect)


@require_http_methods(["GET", "HEAD", "POST"])
def answers(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _form(collection, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        choose_answers(collection, form.cleaned_data["answers_by"], by=request.user)
        messages.success(
            request, gettext("Saved. Earlier verdicts stay with the grader whose answers they are about.")
        )
        return redirect("corpus:settings", slug)
    is_verifying = any(prompt.needs_answer for prompt in active_prompts(collection))
    context = {"collection": collection, "section": "settings", "form": form, "is_verifying": is_verifying}
    return form_response(request, "grades/answers.html", context)


def _form(collection: Collection, sent: Mapping[str, Any] | None) -> AnswersForm:
    form = AnswersForm(sent, initial={"answers_by": collection.answers_by})
    others = [(row.config.fingerprint, _words(row)) for row in answer_sources(collection)]
    offer_choices(form, "answers_by", [("", OWN), *others])
    return form


def _words(row: GraderRow) -> str:
    backend = registry.BACKENDS.get(row.config.backend)
    whence = "from a file" if row.config.backend == IMPORTED else backend.label if backend else "not here now"
    return f"{row.config} ({whence}, {row.grades:,} cells)"
