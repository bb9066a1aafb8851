"""What is compared: two runs of a board, or one with the mean of all; for the API, two runs by name."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms

from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.leaderboards.by_attribute import sliceable
from rubricweb.leaderboards.forms import AnalysisForm


class ComparisonForm(AnalysisForm):
    """Two runs by the names that the reader knows; empty ones are the board's first and next."""

    first = forms.CharField(required=False, label="Run")
    second = forms.CharField(required=False, label="Beside")


class PairForm(AnalysisForm):
    """A valid form has the `spec`. Without A and B they are the first two of the board; B alone may lack."""

    own = ("a", "b", "by")
    a = forms.ChoiceField(label="A", required=False)
    b = forms.ChoiceField(label="B", required=False)
    by = forms.ChoiceField(label="Group topics by", required=False)
    open = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    """The query id of the opened topic."""

    def __init__(self, sent: Mapping[str, str], *, collection: Collection) -> None:
        super().__init__(sent, collection=collection)
        pool = collection_pool(collection)
        runs = sorted(zip(pool.run_tags, pool.run_pks, strict=True))
        offered = [(str(pk), tag) for tag, pk in runs]
        offer_choices(self, "a", [("", "the first of the board"), *offered])
        offer_choices(self, "b", [("", "mean of all runs"), *offered])
        offer_choices(self, "by", [("", "nothing"), *((name, name) for name in sliceable(collection))])

    def show_runs(self, a: int, b: int | None) -> None:
        """Show which runs the board's order chose."""
        self.data = {**self.data, "a": str(a), "b": str(b or "")}

    def default_value(self, name: str) -> object:
        is_chosen_by_board = name in ("a", "b") and name not in self.address
        return self.data.get(name, "") if is_chosen_by_board else super().default_value(name)

    def clean(self) -> None:
        super().clean()
        a = self.cleaned_data.get("a")
        if a and a == self.cleaned_data.get("b"):
            self.add_error("b", "Choose two different runs.")
