"""Choose the default grader of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.actions import choose_default_grader
from rubricweb.corpus.models import Collection
from rubricweb.grades.defaults import scored_graders


class DefaultGraderForm(forms.Form):
    """The fingerprint of a grader with grades here."""

    default_grader = forms.ChoiceField(
        label=gettext_lazy("Grader shown by default"), widget=forms.RadioSelect
    )


@require_http_methods(["GET", "HEAD", "POST"])
def default_grader(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _form(collection, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        choose_default_grader(collection, form.cleaned_data["default_grader"], by=request.user)
        messages.success(request, gettext("Saved. Pages whose address names a grader still show that one."))
        return redirect("corpus:settings", slug)
    context = {"collection": collection, "section": "settings", "form": form}
    return form_response(request, "grades/default_grader.html", context)


def _form(collection: Collection, sent: Mapping[str, Any] | None) -> DefaultGraderForm:
    rows = scored_graders(collection)
    shown = rows[0].config.fingerprint if rows else ""
    form = DefaultGraderForm(sent, initial={"default_grader": shown})
    choices = [(row.config.fingerprint, f"{row.config} ({row.grades:,} grades)") for row in rows]
    offer_choices(form, "default_grader", choices)
    return form
