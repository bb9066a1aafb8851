"""Forms over the query part of an address, and the choice of a grader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator
from django.http import QueryDict

from grading.types import MAX_RATING, USUAL_MIN_GRADE
from rubricweb.core.forms import AT_ONCE, offer_choices
from rubricweb.grades.configs import scale_of, threshold_note
from rubricweb.grades.raters import Rater


class AddressForm(forms.Form):
    """A form over the query part of the address; missing parameters have their initial values."""

    data: dict[str, str]

    def __init__(self, address: QueryDict) -> None:
        super().__init__()
        self.address = address
        initial = {
            name: str(field.initial) for name, field in self.fields.items() if field.initial is not None
        }
        self.given = {name: str(value) for name, value in address.items()}
        self.data, self.is_bound = {**initial, **self.given}, True

    def value(self, name: str, default: Any) -> Any:  # Any: as the field cleans it
        """Return the field's value, or `default` if it is missing or wrong."""
        self.is_valid()
        value = self.cleaned_data.get(name)
        return default if value in (None, "") else value


def select_at_once(
    label: Any, choices: Iterable[tuple[str, Any]], *, initial: str | None = None
) -> forms.ChoiceField:
    """Return a choice that takes effect at once."""
    widget = forms.Select(attrs=AT_ONCE)
    return forms.ChoiceField(
        label=label, choices=list(choices), initial=initial, required=False, widget=widget
    )


def covered_from() -> forms.IntegerField:
    """Return the field of the threshold, which GraderForm limits to the scale of its grader."""
    return forms.IntegerField(
        label="Threshold",
        min_value=1,
        max_value=MAX_RATING,
        required=False,
        initial=USUAL_MIN_GRADE,
        widget=forms.NumberInput(attrs=AT_ONCE),
    )


def rater_choices(raters: Iterable[Rater]) -> list[tuple[str, str]]:
    """Return one choice per rater, with prompt classes where names repeat."""
    listed = list(raters)
    names = [rater.name for rater in listed]
    return [
        (
            str(rater.pk),
            rater.name if names.count(rater.name) == 1 else f"{rater.name}: {rater.prompt_classes}",
        )
        for rater in listed
    ]


def chosen_rater(raters: tuple[Rater, ...], pk: str) -> Rater:
    """Return the rater that has the config `pk`, else the first."""
    for rater in raters:
        if pk in {str(config.pk) for config in rater.configs}:
            return rater
    return raters[0]


class GraderForm(AddressForm):
    """The grader to show; any of its configs identifies it."""

    grader = select_at_once("Grader", ())
    default_min_grade = USUAL_MIN_GRADE
    grader_note = ""
    """Note on the grader's grades, where it gives items none."""

    def offer(self, raters: tuple[Rater, ...]) -> Rater:
        """Offer these raters, and return the one in the address."""
        choices = rater_choices(raters)
        pk = self.data.get("grader", "")
        chosen = chosen_rater(raters, pk)
        offer_choices(self, "grader", choices)
        if not pk or pk in {str(config.pk) for config in chosen.configs}:
            self.data["grader"] = str(chosen.pk)
        self._fit_scale(chosen)
        self.grader_note = chosen.note
        return chosen

    def _fit_scale(self, rater: Rater) -> None:
        """Limit the threshold to the rater's scale; its default is the first config's."""
        self.default_min_grade = rater.min_grade
        if field := self.fields.get("min_grade"):
            highest = max(scale_of(config)[1] for config in rater.configs)
            field.validators.append(MaxValueValidator(highest))
            field.widget.attrs["max"] = highest
            field.help_text = threshold_note(rater.configs[0]) or field.help_text
            self.data["min_grade"] = self.given.get("min_grade") or str(self.default_min_grade)
