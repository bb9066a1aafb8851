"""What the bank editor sends to the pages that show grades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from grading.types import MAX_RATING, ItemKind
from rubricweb.banks.forms import MAX_WORDING
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Topic
from rubricweb.grades.editor.figures import GraderByKind, grader_by_kind
from rubricweb.grades.editor.impact import Draft
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Measure

DEFAULT_MIN_GRADE = Measure().min_grade


class FiguresForm(forms.Form):
    """The grader and the threshold of the figures; what cannot be read counts as not chosen, with a word."""

    grader = forms.TypedChoiceField(coerce=int, required=False, empty_value=None)
    min_grade = forms.IntegerField(label="Covered from grade", min_value=1, max_value=MAX_RATING)

    def __init__(self, chosen: Mapping[str, str], rating: list[GraderConfig]) -> None:
        sent = {"grader": chosen.get("grader", ""), "min_grade": chosen.get("min_grade") or DEFAULT_MIN_GRADE}
        super().__init__(sent, auto_id="figures-%s")
        self.rating = rating
        grader: Any = self.fields["grader"]  # Any: the stubs know it as a Field only
        grader.choices = [("", "The collection's grader"), *((config.pk, str(config)) for config in rating)]
        for field in self.fields.values():
            field.widget.attrs["data-submits"] = ""

    @property
    def graders(self) -> GraderByKind:
        chosen = self._readable("grader")
        return grader_by_kind(
            self.rating, next((config for config in self.rating if config.pk == chosen), None)
        )

    @property
    def measure(self) -> Measure:
        """The default board's, at the chosen threshold."""
        return Measure(min_grade=self._readable("min_grade") or DEFAULT_MIN_GRADE)

    def _readable(self, name: str) -> int | None:
        self.is_valid()
        value: int | None = self.cleaned_data.get(name)
        return value


class DraftForm(forms.Form):
    """Words being typed; no words are fine, they have no impact."""

    kind = forms.ChoiceField(choices=Item.Kind.choices)
    facet_id = forms.CharField(required=False)
    text = forms.CharField(required=False)
    item = forms.IntegerField(required=False)

    def draft(self, bank: Bank, topic: Topic) -> Draft | None:
        """None where there is nothing to say. Raises ValidationError for words that cannot be saved."""
        words = self.cleaned_data
        item = bank.items.for_topic(topic).select_related("revision").filter(pk=words["item"]).first()
        if not words["text"] or (item and item.revision.text == words["text"]):
            return None
        if len(words["text"]) > MAX_WORDING:
            raise ValidationError(
                f"Keep it under {MAX_WORDING:,} characters; this has {len(words['text']):,}."
            )
        kind, facet_id = (item.kind, item.facet_id) if item else (words["kind"], words["facet_id"])
        return Draft(bank, topic, ItemKind(kind), words["text"], facet_id, item)
