"""Which board a page of influence analyses, and which runs belong together."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.utils.translation import gettext_lazy

from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.forms import ALL_TOPICS, AnalysisForm

DEPTH = 20
BY_ITEMS = {
    "definition": "the Workbench's definition, which takes all items that the grader rated, on the bank or "
    "not, so that no item can be left out: scores are as in the papers",
}
BY_ORIGIN = {name: said for name, said in (ALL_TOPICS | BY_ITEMS).items() if name != "units"}
OF_PAIRS = {"definition": "the Workbench's definition: pairs are of the bank's items"}
OF_VIEW = {"items": BY_ITEMS, "runs": BY_ITEMS, "pairs": OF_PAIRS, "origins": BY_ORIGIN}
"""By view of influence: which options cannot apply, and why."""


class InfluenceForm(AnalysisForm):
    teams = forms.CharField(
        required=False,
        max_length=400,
        label=gettext_lazy("Runs of one team or model"),
        widget=forms.TextInput(
            {
                "placeholder": gettext_lazy("by their tags"),
                "title": gettext_lazy(
                    "Patterns separated by spaces, such as bm25* GPT4*. Other runs are grouped by "
                    "the beginning of their tag."
                ),
            }
        ),
    )
    depth = forms.IntegerField(min_value=1, max_value=1000, label=gettext_lazy("Pool depth"))

    def __init__(self, sent: Mapping[str, str], *, collection: Collection, view: str) -> None:
        self.own = {"teams": ("teams", "depth"), "origins": ("teams",)}.get(view, ())
        self.inapplicable = OF_VIEW.get(view, {})
        super().__init__(sent, collection=collection)

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        return super().default_values(given) | {"depth": DEPTH}

    @property
    def patterns(self) -> list[str]:
        return str(self.cleaned_data["teams"]).split()
