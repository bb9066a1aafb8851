"""Which figure of which board."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from grading.measures import registry
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.leaderboards.board.columns import parse_measures
from rubricweb.leaderboards.board.types import BoardError
from rubricweb.leaderboards.forms import ALL_TOPICS, AnalysisForm
from rubricweb.leaderboards.meta.references import reference_choices

OWN = {"scatter": ("against",), "several": ("others", "reference"), "strip": ("run",)}
MAX_OTHERS = 5


class FigureForm(AnalysisForm):
    """A valid form has the `spec` and what else the figure needs."""

    inapplicable = {**ALL_TOPICS, "definition": "the Workbench's definition: scores are as in the papers"}
    against = forms.CharField(
        max_length=60,
        required=False,
        label=gettext_lazy("Second measure"),
        widget=forms.TextInput({"list": "measures"}),
    )
    others = forms.CharField(
        max_length=300,
        required=False,
        label=gettext_lazy("Further measures"),
        widget=forms.TextInput({"title": gettext_lazy("Several, separated by spaces.")}),
    )
    reference = forms.MultipleChoiceField(
        required=False, label=gettext_lazy("Other boards"), widget=forms.CheckboxSelectMultiple
    )
    run = forms.ChoiceField(required=False, label=gettext_lazy("Run"))

    def __init__(self, sent: QueryDict, *, collection: Collection, view: str) -> None:
        self.own = OWN.get(view, ())
        self.references = reference_choices(collection)
        super().__init__(sent, collection=collection)
        offer_choices(self, "reference", self.references)
        tags = collection_pool(collection).run_tags
        offer_choices(self, "run", [("", "the best"), *((tag, tag) for tag in tags)])

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        return super().default_values(given) | {
            "against": registry.DEFAULT_OF_LABELS,
            "others": " ".join(registry.COMPARED[1:3]),
            "reference": [name for name, _ in self.references],
        }

    def clean_against(self) -> str:
        names = _measures(self.cleaned_data["against"] or registry.DEFAULT_OF_LABELS)
        if len(names) != 1:
            raise forms.ValidationError(gettext("%(n)s measures, expected one.") % {"n": len(names)})
        return names[0]

    def clean_others(self) -> list[str]:
        names = _measures(self.cleaned_data["others"])
        if len(names) > MAX_OTHERS:
            raise forms.ValidationError(
                gettext("%(n)s measures, expected at most %(MAX_OTHERS)s.")
                % {"n": len(names), "MAX_OTHERS": MAX_OTHERS}
            )
        return names


def _measures(words: str) -> list[str]:
    try:
        return list(parse_measures(words))
    except BoardError as error:
        raise forms.ValidationError(str(error)) from error
