"""Which two runs of which board."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.utils.translation import gettext, gettext_lazy

from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.leaderboards.comparison.selectors import RunComparison
from rubricweb.leaderboards.forms import AnalysisForm


class ComparisonForm(AnalysisForm):
    """A valid form has the `spec`. Runs go by their names; empty ones are the board's first two."""

    own = ("first", "second")
    first = forms.ChoiceField(label=gettext_lazy("Run"), required=False)
    second = forms.ChoiceField(label=gettext_lazy("Beside"), required=False)

    def __init__(self, sent: Mapping[str, str], *, collection: Collection) -> None:
        super().__init__(sent, collection=collection)
        tags = [(tag, tag) for tag in sorted(collection_pool(collection).run_tags)]
        offer_choices(self, "first", [("", gettext("the first of the board")), *tags])
        offer_choices(self, "second", [("", gettext("the next of the board")), *tags])

    def show(self, found: RunComparison) -> None:
        """Name the runs that the board's order chose."""
        chosen = {name: self.cleaned_data[name] for name in ("first", "second")}
        left = [tag for tag in (found.first, found.second) if tag not in chosen.values()]
        empty = [name for name, tag in chosen.items() if not tag]
        self.data = {**self.data, **dict(zip(empty, left, strict=True))}

    def default_value(self, name: str) -> object:
        is_found = name in self.own and name not in self.address
        return self.data.get(name, "") if is_found else super().default_value(name)

    def clean(self) -> None:
        super().clean()
        first = self.cleaned_data.get("first")
        if first and first == self.cleaned_data.get("second"):
            self.add_error("second", gettext("Choose two different runs."))
