"""Which board, by which attribute of topics."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.utils.translation import gettext_lazy

from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.by_attribute.selectors import sliceable
from rubricweb.leaderboards.forms import AnalysisForm

ONE_TOPIC = {
    "topic": "the limit to one topic: slices have several",
    "facet": "the limit to one subtopic",
}


class AttributeForm(AnalysisForm):
    """A valid form has the `spec`, and `slices` has the attributes that there are."""

    own = ("attribute",)
    inapplicable = ONE_TOPIC
    attribute = forms.ChoiceField(label=gettext_lazy("By attribute"))

    def __init__(self, sent: Mapping[str, str], *, collection: Collection) -> None:
        self.slices = sliceable(collection)
        super().__init__(sent, collection=collection)
        named = [(name, f"{name} ({len(listed)})") for name, listed in self.slices.items()]
        offer_choices(self, "attribute", named)

    @property
    def has_boards(self) -> bool:
        return bool(self.graders and self.slices)

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        return super().default_values(given) | {"attribute": next(iter(self.slices), "")}
