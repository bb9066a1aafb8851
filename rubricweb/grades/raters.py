"""Raters: one model with the config that rates each kind of item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.graders import registry
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import active_configs, kinds_of
from rubricweb.grades.defaults import graders_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scales import default_min_grade, scale_of, within_scale
from rubricweb.grades.selectors import GraderRow

KINDS = (ItemKind.QUESTION, ItemKind.NUGGET)


@dataclass(frozen=True, eq=False)
class Rater:
    """The config that rates questions and the one that rates nuggets, often two prompts of a model."""

    by_kind: dict[ItemKind, GraderConfig]
    is_active: bool
    """Re-grade runs it in this collection."""

    @property
    def pk(self) -> int:
        """The config that identifies it in addresses."""
        return next(config.pk for config in self.by_kind.values())

    @property
    def configs(self) -> tuple[GraderConfig, ...]:
        return tuple(dict.fromkeys(self.by_kind.values()))

    @property
    def name(self) -> str:
        first = self.configs[0]
        if first.backend == registry.IMPORTED:
            return f"{first.llm}, imported"
        backend = registry.BACKENDS.get(first.backend)
        name = backend.label if backend and not backend.needs_model else first.llm
        return f"{name}{first.settings_words}"

    @property
    def min_grade(self) -> int:
        """The threshold that forms show: the first config's."""
        return default_min_grade(self.configs[0])

    @property
    def highest(self) -> int:
        """The highest rating of its scales."""
        return max(scale_of(config)[1] for config in self.configs)

    def min_grade_of(self, kind: ItemKind, chosen: int | None = None) -> int:
        """The threshold for this kind of item.

        `chosen` is the form's threshold, limited to the scale of the kind; if it is the default shown, or
        None, each kind has its own.
        """
        config = self.by_kind.get(kind, self.configs[0])
        return within_scale(config, None if chosen == self.min_grade else chosen)

    def min_grades_of(self, kinds: Iterable[ItemKind], chosen: int | None = None) -> NDArray[np.int8]:
        """By item, of their kinds."""
        return np.array([self.min_grade_of(kind, chosen) for kind in kinds], dtype=np.int8)

    @property
    def min_grade_words(self) -> str:
        """ "4", or "4 (questions) and 2 (nuggets)"."""
        by_kind = {kind: self.min_grade_of(kind) for kind in self.by_kind}
        if len(set(by_kind.values())) == 1:
            return str(self.min_grade)
        return " and ".join(f"{least} ({kind}s)" for kind, least in by_kind.items())

    @property
    def is_imported(self) -> bool:
        """Its grades came from a file, so it cannot be run."""
        return self.configs[0].backend == registry.IMPORTED

    @property
    def prompt_classes(self) -> str:
        return ", ".join(dict.fromkeys(config.prompt_class for config in self.configs))


def active_raters(collection: Collection) -> tuple[Rater, ...]:
    """What Re-grade runs in this collection."""
    return _teams(
        (config for config in active_configs(collection) if config.purpose == Purpose.RATE), is_active=True
    )


def shown_rater(rows: Iterable[GraderRow]) -> tuple[Rater, ...]:
    """Return the model of the first row that rates, with its configs for both kinds; empty if none rates."""
    rating = [row.config for row in rows if row.config.purpose == Purpose.RATE]
    team = [config for config in rating if config.team == rating[0].team]
    return _teams(team, is_active=False)[:1]


def raters(bank: Bank) -> tuple[Rater, ...]:
    """Return the raters with grades of the bank's items, the default one first; without any, what Re-grade
    runs.
    """
    active = active_raters(bank.collection)
    running = {config.pk for rater in active for config in rater.configs}
    graded = graders_of(bank)
    started = {config.pk for config in graded}
    with_grades = [rater for rater in active if any(config.pk in started for config in rater.configs)]
    with_grades += _teams((config for config in graded if config.pk not in running), is_active=False)
    place = {config.pk: number for number, config in enumerate(graded)}
    return tuple(sorted(with_grades, key=lambda rater: _first_place(rater, place))) or active


def _first_place(rater: Rater, place: dict[int, int]) -> int:
    return min(place.get(config.pk, len(place)) for config in rater.configs)


def _teams(configs: Iterable[GraderConfig], *, is_active: bool) -> tuple[Rater, ...]:
    """Group the configs of one model; a model with several prompts for a kind makes several raters."""
    teams: dict[tuple[str, str, str], dict[ItemKind, list[GraderConfig]]] = {}
    for config in configs:
        team = teams.setdefault(config.team, {})
        for kind in KINDS:
            if kind in kinds_of(config):
                team.setdefault(kind, []).append(config)
    raters = []
    for team in teams.values():
        for number in range(max(map(len, team.values()), default=0)):
            chosen = {kind: team[kind][min(number, len(team[kind]) - 1)] for kind in KINDS if kind in team}
            raters.append(Rater(chosen, is_active))
    return tuple(raters)
