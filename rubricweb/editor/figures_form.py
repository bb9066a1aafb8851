"""The grader and the threshold by which the editor's figures are."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.core.validators import MaxValueValidator

from grading.types import MAX_RATING, USUAL_MIN_GRADE, ItemKind
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.grades import scoring
from rubricweb.grades.configs import (
    default_min_grade,
    kinds_of,
    planned_configs,
    scale_of,
    threshold_note,
    within_scale,
)
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import ON_ITEMS, graders, graders_of, scored_graders

GraderByKind = dict[ItemKind, GraderConfig]


def rating_graders(bank: Bank) -> list[GraderConfig]:
    """Return the graders that figures may show.

    First those with grades of the bank, the default one first, then those that Re-grade runs, then others
    with grades in the collection.
    """
    others = (row.config for row in scored_graders(bank.collection))
    candidates = [*graders_of(bank), *planned_configs(bank.collection), *others]
    return [config for config in dict.fromkeys(candidates) if config.purpose in ON_ITEMS]


def grader_by_kind(rating: list[GraderConfig], chosen: GraderConfig | None) -> GraderByKind:
    """Return the chosen grader, and for other kinds a config of the same model, else the active one."""
    if chosen is not None:
        rating = sorted(rating, key=lambda config: (config != chosen, config.team != chosen.team))
    first: GraderByKind = {}
    for config in rating:
        for kind in kinds_of(config):
            first.setdefault(kind, config)
    return first


class FiguresForm(forms.Form):
    """The grader and the threshold; a value that cannot be read is named on the page and ignored."""

    grader = forms.TypedChoiceField(coerce=int, required=False, empty_value=None)
    min_grade = forms.IntegerField(label="Threshold", min_value=1, required=False)

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
        chosen_graders = list(self.graders.values())
        highest = max((scale_of(config)[1] for config in chosen_graders), default=MAX_RATING)
        field = self.fields["min_grade"]
        field.validators.append(MaxValueValidator(highest))
        field.widget.attrs["max"] = highest
        field.help_text = threshold_note(chosen_graders[0]) if chosen_graders else ""
        default = default_min_grade(chosen_graders[0]) if chosen_graders else USUAL_MIN_GRADE
        self.data = {**self.data, "min_grade": chosen or default}
        self.full_clean()
        self.threshold = self.cleaned_data.get("min_grade") if chosen else None

    @property
    def graders(self) -> GraderByKind:
        self.is_valid()
        chosen: int | None = self.cleaned_data.get("grader")
        return grader_by_kind(
            self.rating, next((config for config in self.rating if config.pk == chosen), None)
        )

    def measure_by(self, config: GraderConfig) -> scoring.MeasureSpec:
        """Return the default measure at the chosen threshold, limited to the grader's scale."""
        return scoring.MeasureSpec(min_grade=within_scale(config, self.threshold))


def board_graders(figures: FiguresForm, collection: Collection) -> list[GraderConfig]:
    """Return the chosen grader and its model's config for the other kind.

    If none is chosen, the first one with grades of each kind.
    """
    chosen = figures.graders
    if not figures.data.get("grader"):
        graded = {row.config.pk for row in graders(collection)}
        for kind in ItemKind:
            fit = [config for config in figures.rating if kind in kinds_of(config) and config.pk in graded]
            chosen = {**chosen, kind: fit[0]} if fit else chosen
    return list(dict.fromkeys(chosen.values()))
