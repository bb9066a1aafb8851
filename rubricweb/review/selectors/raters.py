"""Graders as people speak of them: one model, with the config that rates each kind of item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from grading.graders import registry
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import active_configs, kinds_of
from rubricweb.grades.models import Grade, GraderConfig

KINDS = (ItemKind.QUESTION, ItemKind.NUGGET)


@dataclass(frozen=True, eq=False)
class Rater:
    """What fills a grid: the rating config of questions and that of nuggets, often two prompts of a model."""

    by_kind: dict[ItemKind, GraderConfig]
    is_active: bool
    """Re-grade runs it in this collection."""

    @property
    def pk(self) -> int:
        """The config that stands for it in addresses."""
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
        return backend.label if backend and not backend.needs_model else first.llm

    @property
    def prompt_classes(self) -> str:
        return ", ".join(dict.fromkeys(config.prompt_class for config in self.configs))


def active_raters(collection: Collection) -> tuple[Rater, ...]:
    """What Re-grade runs in this collection."""
    return _teams(
        (config for config in active_configs(collection) if config.purpose == Purpose.RATE), is_active=True
    )


def raters(bank: Bank) -> tuple[Rater, ...]:
    """Those with grades of the bank's items, the active one first; then the active one without grades."""
    active = active_raters(bank.collection)
    running = {config.pk for rater in active for config in rater.configs}
    grades = Grade.objects.filter(config=OuterRef("pk"), revision__in=bank.items.active().values("revision"))
    graded = list(GraderConfig.objects.filter(Exists(grades), purpose=Purpose.RATE))
    with_grades = {config.pk for config in graded}
    others = _teams((config for config in graded if config.pk not in running), is_active=False)
    started = tuple(rater for rater in active if any(config.pk in with_grades for config in rater.configs))
    waiting = tuple(rater for rater in active if rater not in started)
    return (*started, *others, *waiting)


def _teams(configs: Iterable[GraderConfig], *, is_active: bool) -> tuple[Rater, ...]:
    """The configs of one model together; where a model has several prompts for a kind, as many raters."""
    teams: dict[tuple[str, str], dict[ItemKind, list[GraderConfig]]] = {}
    for config in configs:
        team = teams.setdefault((config.backend, config.llm), {})
        for kind in KINDS:
            if kind in kinds_of(config):
                team.setdefault(kind, []).append(config)
    found = []
    for team in teams.values():
        for number in range(max(map(len, team.values()), default=0)):
            chosen = {kind: team[kind][min(number, len(team[kind]) - 1)] for kind in KINDS if kind in team}
            found.append(Rater(chosen, is_active))
    return tuple(found)
