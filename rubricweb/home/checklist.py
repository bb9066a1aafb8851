"""The way of a collection to its release: seven steps, for Home, for Share and for the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import CharField, Count, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.urls import reverse

from rubricweb.banks.models import DIRECT_UID, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_models import HumanGrade
from rubricweb.home.collections import CollectionCard, Keys, cards_of
from rubricweb.home.todo import OpenWork, open_work

CHECK = ("campaigns:campaign-new", "Check 400 random pairs")


class StepState(StrEnum):
    DONE = "done"
    OPEN = "open"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    name: str
    state: StepState
    detail: str
    """The numbers behind it."""
    route: str
    slug: str
    verb: str
    """What the link of an open step says."""
    query: str = ""
    """What the address ends with."""

    @property
    def address(self) -> str:
        return reverse(self.route, args=[self.slug]) + self.query

    @property
    def is_done(self) -> bool:
        return self.state is StepState.DONE


@dataclass(frozen=True, slots=True)
class Checklist:
    collection: Collection
    steps: tuple[ChecklistStep, ...]
    """The last two, the public board and the release, are taken on the page Share."""

    @property
    def done(self) -> int:
        return sum(step.is_done for step in self.steps)

    @property
    def next(self) -> ChecklistStep | None:
        """Return the first step that is open."""
        return next((step for step in self.steps if not step.is_done), None)

    @property
    def before_release(self) -> list[ChecklistStep]:
        """Return the open steps that come before what is published and released."""
        return [step for step in self.steps[:-2] if not step.is_done]


def checklists(cards: Iterable[CollectionCard], work: OpenWork) -> dict[int, Checklist]:
    """Return the steps of each of the collections by its primary key, in a fixed number of queries."""
    by_pk = {card.collection.pk: card for card in cards}
    keys = tuple(by_pk)
    covered, rated, kept = dict(_topics_with_items(keys)), dict(_rated_pairs(keys)), _published(keys)
    published, released = ({row[0] for row in kept if row[at]} for at in (1, 2))
    return {
        pk: Checklist(
            card.collection,
            (
                *_material(card, covered.get(pk, 0)),
                _runs(card, work),
                _grades(card),
                _checked(card, work, rated.get(pk, 0)),
                _shared("Board", "public", "Publish the board", card, is_done=pk in published),
                _shared("Release", "made", "Make a release", card, is_done=pk in released),
            ),
        )
        for pk, card in by_pk.items()
    }


def checklist_of(collection: Collection) -> Checklist:
    """Return the steps of a collection, for its organizers."""
    return checklists(cards_of([collection], {}), open_work(None, [collection], [collection]))[collection.pk]


@compiled_once
def _topics_with_items(collections: Keys) -> QuerySet[Item, tuple[int, int]]:
    """Return, by collection, how many of its topics have an item in some bank."""
    items: QuerySet[Item] = Item.including_secret.active().filter(bank__collection__in=collections)
    return items.order_by().values_list("bank__collection").annotate(Count("topic", distinct=True))


@compiled_once
def _rated_pairs(collections: Keys) -> QuerySet[HumanGrade, tuple[int, int]]:
    """Return, by collection, how many pairs of its present wordings people rated."""
    place = Concat(Cast("revision", CharField()), Value(" "), Cast("passage", CharField()))
    rated = _counting_ratings().filter(topic__collection__in=collections).order_by()
    return rated.values_list("topic__collection").annotate(pairs=Count(place, distinct=True))


@compiled_once
def _published(collections: Keys) -> QuerySet[Collection, Any]:
    """Return the collections, each with every pair of a public board and a release."""
    return Collection.objects.filter(pk__in=collections).values_list("pk", "public_boards", "releases")


def _counting_ratings() -> QuerySet[HumanGrade]:
    """Return each person's latest rating of a cell, of the wordings that rubrics have now."""
    active = Item.including_secret.active().filter(revision=OuterRef("revision"))
    counting = Exists(active) | Q(revision__uid=DIRECT_UID)
    return HumanGrade.objects.standing().filter(counting)


def _material(card: CollectionCard, covered: int) -> tuple[ChecklistStep, ...]:
    without = card.topics - covered
    material = f"{counted(card.topics, 'topic')}, {counted(card.passages, 'passage')}"
    items = f"{counted(without, 'topic')} without items" if without else counted(card.items, "item")
    return (
        _step("Topics", material, card, ("imports:imports", "Import"), not card.passages),
        _step("Rubric", items, card, ("home:collection", "Write items"), without or not card.items),
    )


def _runs(card: CollectionCard, work: OpenWork) -> ChecklistStep:
    pk = card.collection.pk
    detail = f"{counted(card.runs, 'run')} accepted"
    counts = ((work.submitted.get(pk, 0), "submitted run"), (work.late.get(pk, 0), "late file"))
    if waiting := [counted(count, noun) for count, noun in counts if count]:
        detail = f"{detail}; {' and '.join(waiting)} left"
        return _step("Runs", detail, card, ("submissions:desk", "Decide"), waiting)
    return _step("Runs", detail, card, ("corpus:runs", "View"), not card.runs)


def _grades(card: CollectionCard) -> ChecklistStep:
    missing = f"{counted(card.missing, 'pair')} left" if card.missing else counted(card.cells, "pair")
    if card.running_jobs:
        return ChecklistStep(
            "Grades", StepState.RUNNING, missing, "grades:jobs", card.collection.slug, "View"
        )
    is_open = not card.cells or (card.missing and not card.is_imported)
    return _step("Grades", missing, card, ("home:collection", "Grade"), is_open)


def _checked(card: CollectionCard, work: OpenWork, rated: int) -> ChecklistStep:
    """Return the step of people: campaigns, conflicts and flags, and a first check of grades."""
    pk = card.collection.pk
    waiting = []
    if left := "; ".join(_left_in_campaigns(work, pk)):
        waiting.append((f"Campaigns: {left}", ("campaigns:campaigns", "See the campaigns")))
    for name, count, link in (
        ("Conflicts between assessors", work.conflicts.get(pk, 0), ("campaigns:decide", "Decide")),
        ("Flags", work.flags_in(pk), ("review:flags", "Answer")),
    ):
        if count:
            waiting.append((f"{name}: {intcomma(count)} left", link))
    ratings = f"people rated {counted(rated, 'pair')}" + (f" of {intcomma(card.cells)}" if card.cells else "")
    detail = "; ".join([*(what for what, _ in waiting), ratings])
    step = _step("Checked", detail, card, waiting[0][1] if waiting else CHECK, waiting or not rated)
    return step if waiting else _with_rubric(step, card)


def _with_rubric(step: ChecklistStep, card: CollectionCard) -> ChecklistStep:
    """Return the step of a check for a rubric that people can rate, named where there are others."""
    ratable = [bank for bank in card.banks if bank.ratable]
    if not ratable:
        return replace(step, route="imports:imports", verb="Import the texts") if card.items else step
    if len(ratable) == len(card.banks):
        return step
    largest = min(ratable, key=lambda bank: (-bank.ratable, bank.pk))
    return replace(step, query=f"?bank={largest.pk}", verb=f"{step.verb} of {largest.name}")


def _left_in_campaigns(work: OpenWork, pk: int) -> list[str]:
    turns, cells = work.turns.get(pk, 0), work.left_out.get(pk, 0)
    left = [f"{counted(turns, 'rating')} left"] if turns else []
    if cells:
        is_left = (
            "is left out until its campaign is" if cells == 1 else "are left out until their campaigns are"
        )
        left.append(f"{counted(cells, 'pair')} {is_left} closed")
    return left


def _shared(name: str, done: str, verb: str, card: CollectionCard, *, is_done: bool) -> ChecklistStep:
    detail = done if is_done else f"not {done} yet"
    return _step(name, detail, card, ("releases:share", verb), not is_done)


def _step(name: str, detail: str, card: CollectionCard, link: tuple[str, str], todo: object) -> ChecklistStep:
    """Return a step that is done if nothing is `todo`; `link` is a route and its label."""
    state = StepState.OPEN if todo else StepState.DONE
    return ChecklistStep(name, state, detail, link[0], card.collection.slug, link[1])
