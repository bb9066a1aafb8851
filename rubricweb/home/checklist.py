"""What an organizer has still to do before a collection can be released."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count
from django.urls import reverse

from rubricweb.accounts import roles
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Collection
from rubricweb.home.collections import CollectionCard
from rubricweb.home.waiting import OpenWork


class State(StrEnum):
    DONE = "done"
    OPEN = "open"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    state: State
    detail: str
    """The numbers behind it."""
    address: str
    verb: str
    """What the link of an open step says."""

    @property
    def is_done(self) -> bool:
        return self.state is State.DONE


@dataclass(frozen=True, slots=True)
class Checklist:
    collection: Collection
    steps: tuple[Step, ...]

    @property
    def done(self) -> int:
        return sum(step.is_done for step in self.steps)

    @property
    def is_done(self) -> bool:
        return self.done == len(self.steps)

    @property
    def next(self) -> Step | None:
        """The first step that is open."""
        return next((step for step in self.steps if not step.is_done), None)


def checklists(cards: Iterable[CollectionCard], work: OpenWork) -> list[Checklist]:
    """Return those of the collections that the reader organizes, in the order of `cards`."""
    organized = [card for card in cards if card.role.includes(roles.TO_ORGANIZE)]
    covered = _topics_with_items(card.collection for card in organized)
    return [_checklist(card, work, covered.get(card.collection.pk, 0)) for card in organized]


def _topics_with_items(collections: Iterable[Collection]) -> dict[int, int]:
    """By collection: how many of its topics have an item in some bank."""
    items = Item.including_secret.active().filter(bank__collection__in=list(collections)).order_by()
    return dict(items.values_list("bank__collection").annotate(Count("topic", distinct=True)))


def _checklist(card: CollectionCard, work: OpenWork, covered: int) -> Checklist:
    steps = (*_material(card, covered), _grades(card), *_people(card, work))
    return Checklist(card.collection, steps)


def _material(card: CollectionCard, covered: int) -> tuple[Step, ...]:
    without = card.topics - covered
    material = f"{_count(card.topics, 'topic')}, {_count(card.passages, 'passage')}"
    items = f"{_count(without, 'topic')} without items" if without else _count(card.items, "item")
    runs = _count(card.runs, "run")
    return (
        _step("Topics and passages", material, card, ("imports:imports", "Import"), not card.passages),
        _step(
            "Items for every topic",
            items,
            card,
            ("home:collection", "Write items"),
            without or not card.items,
        ),
        _step("Runs accepted", runs, card, ("corpus:runs", "View"), not card.runs),
    )


def _grades(card: CollectionCard) -> Step:
    missing = f"{_count(card.missing, 'cell')} left" if card.missing else _count(card.cells, "cell")
    if card.running_jobs:
        address = reverse("grades:jobs", args=[card.collection.slug])
        return Step("Grades", State.RUNNING, missing, address, "View")
    is_open = not card.cells or (card.missing and not card.is_imported)
    return _step("Grades", missing, card, ("home:collection", "Grade"), is_open)


def _people(card: CollectionCard, work: OpenWork) -> tuple[Step, ...]:
    pk = card.collection.pk
    teams = work.submitted.get(pk, 0) + work.late.get(pk, 0)
    return (
        _left("Ratings in campaigns", work.turns.get(pk, 0), card, ("campaigns:campaigns", "View")),
        _left(
            "Conflicts between assessors",
            work.conflicts.get(pk, 0),
            card,
            ("campaigns:adjudication", "Adjudicate"),
        ),
        _left("Flags", work.flags.get(pk, 0), card, ("review:flags", "Answer")),
        _left("Submitted runs and late files", teams, card, ("submissions:desk", "Decide")),
    )


def _left(name: str, count: int, card: CollectionCard, link: tuple[str, str]) -> Step:
    return _step(name, f"{intcomma(count)} left" if count else "none open", card, link, count)


def _step(name: str, detail: str, card: CollectionCard, link: tuple[str, str], todo: object) -> Step:
    """`link` is a route and what it says; the step is done if nothing is `todo`."""
    state = State.OPEN if todo else State.DONE
    return Step(name, state, detail, reverse(link[0], args=[card.collection.slug]), link[1])


def _count(number: int, noun: str) -> str:
    return f"{intcomma(number)} {noun}{'' if number == 1 else 's'}"
