"""Raters: a collection's graders on the screens of a bank, and the forms that choose one.

There is always a rater: the screens show ratings or verdicts of items, and where no grader gives any, the
answers that one extracts or the labels that one gives whole passages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django import forms
from django.core.validators import MaxValueValidator
from django.http import QueryDict
from numpy.typing import NDArray

from grading.graders import registry
from grading.types import CONTRADICTS, MAX_RATING, USUAL_MIN_GRADE, ItemKind, Purpose
from rubricweb.banks.models import Bank
from rubricweb.core.forms import AT_ONCE, offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import (
    default_min_grade,
    kinds_of,
    planned_configs,
    possible_ratings,
    saved_config,
    scale_of,
    threshold_note,
    within_scale,
)
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import (
    ON_ITEMS,
    GraderRow,
    graders_of,
    is_stored,
    labellers_of,
    pressed_configs,
    scored_graders,
)
from rubricweb.grades.topic_ratings import DIRECT_COLUMN, GradedItems, ItemColumn

KINDS = (ItemKind.QUESTION, ItemKind.NUGGET)
_DOES = {
    Purpose.RATE: "",
    Purpose.VERIFY: ", verifying answers",
    Purpose.EXTRACT: ", extracting answers",
    Purpose.DIRECT: ", labelling passages",
}
"""End of a rater's name, by purpose."""


@dataclass(frozen=True, eq=False)
class Rater:
    """The configs of one model and purpose by the kind of item that they grade, often one prompt each."""

    by_kind: dict[ItemKind, GraderConfig]
    """Config by kind, never empty; for a grader that labels passages, the kind is DIRECT."""
    is_active: bool
    """Whether Re-grade runs it in this collection."""
    is_pressed: bool = False
    """Whether the reader's latest press of Re-grade here ran it: forms show it to them by default."""

    @property
    def pk(self) -> int:
        """Return the key of the config that identifies it in addresses."""
        return next(config.pk for config in self.by_kind.values())

    @property
    def configs(self) -> tuple[GraderConfig, ...]:
        return tuple(dict.fromkeys(self.by_kind.values()))

    @property
    def purpose(self) -> Purpose:
        """Return what it gives: ratings or verdicts of cells, extracted answers, or passages' labels."""
        return Purpose(next(iter(self.by_kind.values())).purpose)

    @property
    def grades_items(self) -> bool:
        """Return whether its grades say if a passage covers an item."""
        return self.purpose in ON_ITEMS

    def rating_config(self, kind: ItemKind) -> GraderConfig | None:
        """Return the config whose ratings of this kind can stand beside people's; None for other purposes."""
        return self.by_kind.get(kind) if self.purpose is Purpose.RATE else None

    def saved(self) -> Rater:
        """Return the same rater, its drafts of configs saved."""
        return replace(self, by_kind={kind: saved_config(config) for kind, config in self.by_kind.items()})

    @property
    def verifies(self) -> bool:
        return self.purpose is Purpose.VERIFY

    @property
    def extracts(self) -> bool:
        return self.purpose is Purpose.EXTRACT

    @property
    def labels_passages(self) -> bool:
        return self.purpose is Purpose.DIRECT

    def columns(self, items: tuple[ItemColumn, ...]) -> tuple[ItemColumn, ...]:
        """Return what it grades passages by: these items of a topic, or the topic itself."""
        return (DIRECT_COLUMN,) if self.labels_passages else items

    def can_grade(self, column: ItemColumn) -> bool:
        """Return whether it can grade the cells of this column; an answer is verified against a key."""
        return column.kind in self.by_kind and column.has_text and (column.has_key or not self.verifies)

    def graded_items(self, items: tuple[ItemColumn, ...]) -> GradedItems:
        """Return `columns` of these items of a topic, with its thresholds."""
        columns = self.columns(items)
        least = {kind: self.min_grade_of(kind) for kind in {column.kind for column in columns}}
        return GradedItems(
            columns,
            tuple(least[column.kind] for column in columns),
            tuple(self.can_grade(column) for column in columns),
            unknown=sum(not item.has_text for item in items),
            are_items=not self.labels_passages,
        )

    @property
    def name(self) -> str:
        first = self.configs[0]
        if first.backend == registry.IMPORTED:
            return f"{first.llm}, imported{_DOES[self.purpose]}"
        backend = registry.BACKENDS.get(first.backend)
        is_baseline = backend and not backend.needs_model and first.backend != "panel"
        name = backend.label if backend and is_baseline else first.llm
        return f"{name}{first.settings_words}{_DOES[self.purpose]}"

    @property
    def min_grade(self) -> int:
        """Return the threshold that forms show: the first config's."""
        return default_min_grade(self.configs[0])

    @property
    def knows_contradiction(self) -> bool:
        """Return whether it can say that a passage contradicts an item."""
        return any(CONTRADICTS in possible_ratings(config) for config in self.configs)

    @property
    def highest(self) -> int:
        """Return the highest rating of its scales."""
        return max(scale_of(config)[1] for config in self.configs)

    def min_grade_of(self, kind: ItemKind, chosen: int | None = None) -> int:
        """Return the threshold for this kind of item.

        `chosen` is the form's threshold, limited to the scale of the kind; if it is the default shown, or
        None, each kind has its own.
        """
        config = self.by_kind.get(kind, self.configs[0])
        return within_scale(config, None if chosen == self.min_grade else chosen)

    def min_grades_of(self, kinds: Iterable[ItemKind], chosen: int | None = None) -> NDArray[np.int8]:
        """Return the thresholds of items of these kinds, shape (items,)."""
        of_items = list(kinds)
        least = {kind: self.min_grade_of(kind, chosen) for kind in set(of_items)}
        return np.array([least[kind] for kind in of_items], dtype=np.int8)

    @property
    def min_grade_words(self) -> str:
        """Return the thresholds as text: "4", or "4 (questions) and 2 (nuggets)"."""
        by_kind = {kind: self.min_grade_of(kind) for kind in self.by_kind}
        if len(set(by_kind.values())) == 1:
            return str(self.min_grade)
        return " and ".join(f"{least} ({kind}s)" for kind, least in by_kind.items())

    @property
    def note(self) -> str:
        """Return a note where the screens show no grades of items; empty where they do."""
        notes = {
            Purpose.EXTRACT: (
                "This grader extracts answers. Which items a passage covers, only a grader says that rates "
                "items or verifies answers."
            ),
            Purpose.DIRECT: (
                "This grader labels whole passages, so no item has a grade. The labels stand beside the "
                "passages."
            ),
        }
        return notes.get(self.purpose, "")

    @property
    def is_imported(self) -> bool:
        """Return whether its grades came from a file, so that it cannot be run."""
        return self.configs[0].backend == registry.IMPORTED

    @property
    def prompt_classes(self) -> str:
        return ", ".join(dict.fromkeys(config.prompt_class for config in self.configs))


def active_raters(collection: Collection) -> tuple[Rater, ...]:
    """Return what Re-grade runs in this collection; never empty.

    Those that grade items, or without any those that extract answers or label passages.
    """
    return _preferred(_teams(planned_configs(collection), is_active=True))


def shown_rater(rows: Iterable[GraderRow]) -> tuple[Rater, ...]:
    """Return the one rater to show of these graders in their order; empty without any.

    It grades items, unless none of them does.
    """
    return _preferred(_teams((row.config for row in rows), is_active=False))[:1]


def graded_raters(collection: Collection) -> tuple[Rater, ...]:
    """Return the raters that have grades of any bank, or labels, in the collection, the default one first."""
    return _teams((row.config for row in scored_graders(collection)), is_active=False)


def raters(bank: Bank) -> tuple[Rater, ...]:
    """Return the raters to choose from on the screens of a bank, the default one first; never empty.

    Those that grade items, with grades of the bank's items. Without any: what Re-grade runs, after those that
    have labelled passages or, where it grades no items, extracted answers.
    """
    active = active_raters(bank.collection)
    if graded := graders_of(bank):
        started = {config.pk for config in graded}
        begun = [rater for rater in active if any(config.pk in started for config in rater.configs)]
        return _in_order(bank.collection, begun, graded)
    others = labellers_of(bank.collection)
    if not active[0].grades_items:
        others += graders_of(bank, (Purpose.EXTRACT,))
    return _in_order(bank.collection, active, others)


def _in_order(
    collection: Collection, active: Iterable[Rater], graded: list[GraderConfig]
) -> tuple[Rater, ...]:
    """Return these active raters and those of the other graders: the stored one, then by their grades."""
    listed = list(active)
    running = {config.pk for rater in listed for config in rater.configs}
    listed += _teams((config for config in graded if config.pk not in running), is_active=False)
    place = {config.pk: number for number, config in enumerate(graded)}

    def key(rater: Rater) -> tuple[bool, int]:
        is_default = any(is_stored(collection, config) for config in rater.configs)
        return not is_default, min(place.get(config.pk, len(place)) for config in rater.configs)

    if len(listed) < 2:
        return tuple(listed)
    pressed = pressed_configs(collection)
    return tuple(
        replace(rater, is_pressed=any(config.pk in pressed for config in rater.configs))
        for rater in sorted(listed, key=key)
    )


def _preferred(listed: tuple[Rater, ...]) -> tuple[Rater, ...]:
    return tuple(rater for rater in listed if rater.grades_items) or listed


def _teams(configs: Iterable[GraderConfig], *, is_active: bool) -> tuple[Rater, ...]:
    """Group the configs of one model and purpose into raters.

    A model with several prompts for a kind makes several raters.
    """
    kinds = (*KINDS, ItemKind.DIRECT)
    teams: dict[tuple[str, ...], dict[ItemKind, list[GraderConfig]]] = {}
    for config in configs:
        team = teams.setdefault((*config.team, config.purpose), {})
        for kind in kinds:
            if kind in kinds_of(config):
                team.setdefault(kind, []).append(config)
    raters = []
    for team in teams.values():
        for number in range(max(map(len, team.values()), default=0)):
            chosen = {kind: team[kind][min(number, len(team[kind]) - 1)] for kind in kinds if kind in team}
            raters.append(Rater(chosen, is_active))
    return tuple(raters)


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


def covering() -> forms.IntegerField:
    """Return the field of how many items a passage covers at least to be listed."""
    widget = forms.NumberInput(attrs=AT_ONCE)
    return forms.IntegerField(label="Items covered, at least", min_value=0, required=False, widget=widget)


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
        pressed = next((rater for rater in raters if rater.is_pressed), raters[0])
        chosen = chosen_rater(raters, pk) if pk else pressed
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
