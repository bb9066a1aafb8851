"""Which two runs of which board."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.utils.translation import gettext, gettext_lazy

from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.leaderboards.forms import FURTHER, SHOWN, AnalysisForm


class ComparisonForm(AnalysisForm):
    """A valid form has the `spec`. Runs go by their names; empty ones are the board's first two."""

    shown = ("first", "second", *SHOWN)
    further = FURTHER
    first = forms.ChoiceField(label=gettext_lazy("Run"), required=False)
    second = forms.ChoiceField(label=gettext_lazy("Beside"), required=False)

    def __init__(self, sent: Mapping[str, str], *, collection: Collection) -> None:
        super().__init__(sent, collection=collection)
        tags = sorted(collection_pool(collection).run_tags)
        offer_choices(self, "first", [("", "the first of the board"), *((tag, tag) for tag in tags)])
        offer_choices(self, "second", [("", "the next of the board"), *((tag, tag) for tag in tags)])

    def clean(self) -> None:
        super().clean()
        first = self.cleaned_data.get("first")
        if first and first == self.cleaned_data.get("second"):
            self.add_error("second", gettext("Choose two different runs."))
