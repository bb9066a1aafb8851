"""The parameters of editor pages that show grades, and an item being written."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.utils.translation import gettext, gettext_lazy

from grading.types import MAX_RATING, ItemKind
from rubricweb.banks.models import Bank, Item
from rubricweb.core.formatting import number
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection, Topic
from rubricweb.editor.figures import GraderByKind, grader_by_kind
from rubricweb.editor.impact import UnsavedItem
from rubricweb.editor.item_forms import MAX_WORDING
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scales import (
    PAPERS_MIN_GRADE,
    default_min_grade,
    scale_of,
    threshold_note,
    within_scale,
)
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import graders


class FiguresForm(forms.Form):
    """The grader and the threshold; a value that cannot be read is named on the page and ignored."""

    grader = forms.TypedChoiceField(coerce=int, required=False, empty_value=None)
    min_grade = forms.IntegerField(label=gettext_lazy("Threshold"), min_value=1, required=False)

    threshold: int | None
    """At most the highest rating of the graders' scales; None for each grader's own threshold."""

    def __init__(self, chosen: Mapping[str, str], rating: list[GraderConfig]) -> None:
        super().__init__({name: chosen.get(name, "") for name in self.base_fields}, auto_id="figures-%s")
        self.rating = rating
        graders = [("", "The default grader"), *((config.pk, str(config)) for config in rating)]
        offer_choices(self, "grader", graders)
        for field in self.fields.values():
            field.widget.attrs["data-submits"] = ""
        self._fit_scale(chosen.get("min_grade", ""))

    def _fit_scale(self, chosen: str) -> None:
        """Limit the field to the graders' scales; its default is the first grader's threshold."""
        shown = list(self.graders.values())
        highest = max((scale_of(config)[1] for config in shown), default=MAX_RATING)
        field = self.fields["min_grade"]
        field.validators.append(MaxValueValidator(highest))
        field.widget.attrs["max"] = highest
        field.help_text = threshold_note(shown[0]) if shown else ""
        default = default_min_grade(shown[0]) if shown else PAPERS_MIN_GRADE
        self.data = {**self.data, "min_grade": chosen or default}
        self.threshold = self._chosen_min_grade() if chosen else None
        self.full_clean()

    def _chosen_min_grade(self) -> int | None:
        self.full_clean()
        value: int | None = self.cleaned_data.get("min_grade")
        return value

    @property
    def graders(self) -> GraderByKind:
        chosen = self._readable("grader")
        return grader_by_kind(
            self.rating, next((config for config in self.rating if config.pk == chosen), None)
        )

    def measure_by(self, config: GraderConfig) -> MeasureSpec:
        """Return the default measure at the chosen threshold, limited to the grader's scale."""
        return MeasureSpec(min_grade=within_scale(config, self.threshold))

    def _readable(self, name: str) -> int | None:
        self.is_valid()
        value: int | None = self.cleaned_data.get(name)
        return value


class DraftForm(forms.Form):
    """An item being written; an empty text has no impact."""

    kind = forms.ChoiceField(choices=Item.Kind.choices)
    facet_id = forms.CharField(required=False)
    text = forms.CharField(required=False)
    item = forms.IntegerField(required=False)

    def draft(self, bank: Bank, topic: Topic) -> UnsavedItem | None:
        """Return None without a text. Raises ValidationError for a text that cannot be saved."""
        words = self.cleaned_data
        item = bank.items.for_topic(topic).select_related("revision").filter(pk=words["item"]).first()
        if not words["text"] or (item and item.revision.text == words["text"]):
            return None
        if len(words["text"]) > MAX_WORDING:
            raise ValidationError(
                gettext("Keep it under %(MAX_WORDING)s characters; this has %(n)s.")
                % {"MAX_WORDING": number(MAX_WORDING), "n": number(len(words["text"]))}
            )
        kind, facet_id = (item.kind, item.facet_id) if item else (words["kind"], words["facet_id"])
        return UnsavedItem(bank, topic, ItemKind(kind), words["text"], facet_id, item)


def board_graders(figures: FiguresForm, collection: Collection) -> list[GraderConfig]:
    """Return the chosen grader and its model's config for the other kind; else, by kind, the first with
    grades.
    """
    chosen = figures.graders
    if not figures.data.get("grader"):
        graded = {row.config.pk for row in graders(collection)}
        for kind in ItemKind:
            fit = [config for config in figures.rating if kind in kinds_of(config) and config.pk in graded]
            chosen = {**chosen, kind: fit[0]} if fit else chosen
    return list(dict.fromkeys(chosen.values()))
