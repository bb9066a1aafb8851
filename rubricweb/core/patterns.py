"""The pattern page for developers of screens, which needs no collection."""

from __future__ import annotations

from django import forms
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from rubricweb.core.forms import ChipForm

STATES = ("", "hover", "focus", "active")
"""States of buttons and links; "" is the state of rest."""
LONG = "Which of the pigments that a leaf has all summer become visible once its chlorophyll breaks down?"
GRADERS = (("lexical", "Word overlap (no model)"), ("flan-t5", "google/flan-t5-large"))


class PatternForm(forms.Form):
    """A form with each kind of field."""

    wording = forms.CharField(
        label="Wording", widget=forms.Textarea, help_text="One question, in plain words."
    )
    grader = forms.ChoiceField(label="Grader", choices=GRADERS)
    threshold = forms.IntegerField(label="Threshold", min_value=1, max_value=5)
    kinds = forms.MultipleChoiceField(
        label="Kinds of items",
        choices=(("question", "questions"), ("nugget", "nuggets")),
        widget=forms.CheckboxSelectMultiple,
    )
    is_secret = forms.BooleanField(label="Secret", required=False, help_text="Only organizers see it.")


class PatternToolbar(ChipForm):
    """A toolbar with a default choice, a filter and an invalid choice."""

    grader = forms.ChoiceField(label="Grader", choices=GRADERS, required=False)
    sort = forms.ChoiceField(
        label="Sort", choices=(("pool", "pool order"), ("label", "label")), required=False
    )
    threshold = forms.IntegerField(label="Threshold", min_value=1, max_value=5, required=False)
    in_toolbar = ("grader", "sort", "threshold")

    def default_value(self, name: str) -> str:
        return {"grader": "lexical", "sort": "pool", "threshold": "4"}[name]


def filled_form() -> PatternForm:
    """Return a form that is being edited."""
    initial = {"wording": LONG, "grader": "flan-t5", "threshold": 4, "kinds": ["question"]}
    return PatternForm(initial=initial, prefix="filled", auto_id="id_%s")


def toolbar() -> PatternToolbar:
    address = QueryDict("grader=lexical&sort=label&threshold=9", mutable=True)
    form = PatternToolbar(address)
    form.address = address
    return form


def page() -> Page[int]:
    """Return the second of three pages of passages."""
    return Paginator(range(128), 50).page(2)


@require_safe
def patterns(request: HttpRequest) -> HttpResponse:
    """Show every component in each of its states."""
    context = {
        "states": STATES,
        "long": LONG,
        "filled": filled_form(),
        "refused": PatternForm({"refused-threshold": "6", "refused-grader": "lexical"}, prefix="refused"),
        "form": toolbar(),
        "page": page(),
    }
    return render(request, "core/patterns.html", context)


app_name = "core"
urlpatterns = [path("patterns/", patterns, name="patterns")]
