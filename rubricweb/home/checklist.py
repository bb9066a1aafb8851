"""What an organizer has still to do before a collection can be released, and the stations on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import CharField, Count, Value
from django.db.models.functions import Cast, Concat
from django.urls import reverse

from rubricweb.accounts import roles
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_models import HumanGrade
from rubricweb.home.collections import CollectionCard, cards_of
from rubricweb.home.todo import OpenWork, open_work


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
    def open(self) -> list[Step]:
        return [step for step in self.steps if not step.is_done]

    @property
    def next(self) -> Step | None:
        """The first step that is open."""
        return next(iter(self.open), None)


def checklists(cards: Iterable[CollectionCard], work: OpenWork) -> list[Checklist]:
    """Return those of the collections that the reader organizes, in the order of `cards`."""
    organized = [card for card in cards if card.role.includes(roles.TO_ORGANIZE)]
    covered = _topics_with_items(card.collection for card in organized)
    return [_checklist(card, work, covered.get(card.collection.pk, 0)) for card in organized]


def ways_to_release(cards: Iterable[CollectionCard], work: OpenWork) -> dict[int, tuple[Step, ...]]:
    """Return the seven stations of each collection that the reader organizes, by its primary key."""
    organized = {card.collection.pk: card for card in cards if card.role.includes(roles.TO_ORGANIZE)}
    place = Concat(Cast("revision", CharField()), Value(" "), Cast("passage", CharField()))
    rated = HumanGrade.objects.filter(topic__collection__in=organized, is_withdrawn=False).order_by()
    checked = dict(rated.values_list("topic__collection").annotate(cells=Count(place, distinct=True)))
    here = Collection.objects.filter(pk__in=organized)
    rows = here.values_list("pk", "public_boards", "releases")
    published, released = ({row[0] for row in rows if row[at]} for at in (1, 2))
    return {
        checklist.collection.pk: _stations(
            checklist, organized[checklist.collection.pk], checked, published, released
        )
        for checklist in checklists(organized.values(), work)
    }


def _stations(
    checklist: Checklist,
    card: CollectionCard,
    checked: Mapping[int, int],
    published: Set[int],
    released: Set[int],
) -> tuple[Step, ...]:
    topics, items, runs, grades, *by_people, teams = checklist.steps
    pk = card.collection.pk
    return (
        replace(topics, name="Topics"),
        replace(items, name="Rubric"),
        replace(runs if teams.is_done else teams, name="Runs"),
        grades,
        _checked(card, by_people, checked.get(pk, 0)),
        _step("Board", "public" if pk in published else "not public yet", card, PUBLISH, pk not in published),
        _step("Release", "made" if pk in released else "not made yet", card, RELEASE, pk not in released),
    )


PUBLISH, RELEASE = ("releases:share", "Publish the board"), ("releases:share", "Make a release")


def _checked(card: CollectionCard, by_people: Sequence[Step], rated: int) -> Step:
    """Return the steps of people: campaigns, conflicts and flags, and a first check of grades."""
    detail = f"people rated {_count(rated, 'pair')}" + (f" of {intcomma(card.cells)}" if card.cells else "")
    if waiting := next((step for step in by_people if not step.is_done), None):
        return replace(waiting, name="Checked", detail=f"{waiting.name}: {waiting.detail}; {detail}")
    return _step("Checked", detail, card, ("campaigns:campaign-new", "Check 400 random pairs"), not rated)


def checklist_of(collection: Collection) -> Checklist:
    """Return the one of a collection, for its organizers."""
    (card,) = cards_of([collection], {})
    work = open_work(None, [collection], [collection])
    return _checklist(card, work, _topics_with_items([collection]).get(collection.pk, 0))


def _topics_with_items(collections: Iterable[Collection]) -> dict[int, int]:
    """Return, by collection, how many of its topics have an item in some bank."""
    items = Item.including_secret.active().filter(bank__collection__in=list(collections)).order_by()
    return dict(items.values_list("bank__collection").annotate(Count("topic", distinct=True)))


def _checklist(card: CollectionCard, work: OpenWork, covered: int) -> Checklist:
    steps = (*_material(card, covered), _grades(card), *_human_work(card, work))
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
    missing = f"{_count(card.missing, 'pair')} left" if card.missing else _count(card.cells, "pair")
    if card.running_jobs:
        address = reverse("grades:jobs", args=[card.collection.slug])
        return Step("Grades", State.RUNNING, missing, address, "View")
    is_open = not card.cells or (card.missing and not card.is_imported)
    return _step("Grades", missing, card, ("home:collection", "Grade"), is_open)


def _human_work(card: CollectionCard, work: OpenWork) -> tuple[Step, ...]:
    pk = card.collection.pk
    teams = work.submitted.get(pk, 0) + work.late.get(pk, 0)
    return (
        _campaigns(card, work),
        _left(
            "Conflicts between assessors",
            work.conflicts.get(pk, 0),
            card,
            ("campaigns:decide", "Decide"),
        ),
        _left("Flags", work.flags.get(pk, 0), card, ("review:flags", "Answer")),
        _left("Submitted runs and late files", teams, card, ("submissions:desk", "Decide")),
    )


def _campaigns(card: CollectionCard, work: OpenWork) -> Step:
    """Open as long as a campaign is: its cells are left out, even if all of them are rated."""
    turns, cells = work.turns.get(card.collection.pk, 0), work.left_out.get(card.collection.pk, 0)
    left = []
    if turns:
        left.append(f"{_count(turns, 'rating')} left")
    if cells:
        is_left = (
            "is left out until its campaign is" if cells == 1 else "are left out until their campaigns are"
        )
        left.append(f"{_count(cells, 'pair')} {is_left} closed")
    link = ("campaigns:campaigns", "See the campaigns")
    return _step("Campaigns", "; ".join(left) or "none open", card, link, left)


def _left(name: str, count: int, card: CollectionCard, link: tuple[str, str]) -> Step:
    return _step(name, f"{intcomma(count)} left" if count else "none open", card, link, count)


def _step(name: str, detail: str, card: CollectionCard, link: tuple[str, str], todo: object) -> Step:
    """Return a step that is done if nothing is `todo`; `link` is a route and its label."""
    state = State.OPEN if todo else State.DONE
    return Step(name, state, detail, reverse(link[0], args=[card.collection.slug]), link[1])


def _count(number: int, noun: str) -> str:
    return f"{intcomma(number)} {noun}{'' if number == 1 else 's'}"
