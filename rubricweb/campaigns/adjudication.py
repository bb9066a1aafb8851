"""The ratings that assessors gave a cell; decide it, withdraw a decision, accept what they agree on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils import timezone

from rubricweb.accounts.models import User
from rubricweb.campaigns.models import Campaign, CampaignCell, DecidedRating, Decision
from rubricweb.core import audit
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.grades import human_ratings, visibility
from rubricweb.grades.human_models import HumanGrade

How = HumanGrade.How


class AdjudicationError(Exception):
    """Root of the refusals of adjudication."""


class DecidedMeanwhile(AdjudicationError):
    """Another adjudicator decided the cell in the meantime; `now` is their decision."""

    def __init__(self, now: Decision) -> None:
        self.now = now
        super().__init__("Another adjudicator decided this pair meanwhile.")


class NotYourDecision(AdjudicationError):
    """Somebody else made the decision: only they can withdraw it; others decide anew."""


class NeedsReason(AdjudicationError):
    """Who rated a cell themselves decides it only with a reason, which the log keeps."""


class CountedRating(StrEnum):
    """The rating of a cell that counts, where a person gave several."""

    LATEST = "latest"
    INDEPENDENT = "independent"
    """The last one given before the grader's rating was seen."""


class CellKey(NamedTuple):
    """A cell, by primary keys."""

    topic: int
    revision: int
    passage: int

    @property
    def at(self) -> str:
        """Return the cell as an address names it."""
        return f"{self.revision}-{self.passage}"


@dataclass(frozen=True, slots=True)
class Event:
    """One human rating, verdict or withdrawal."""

    number: int
    rating: int | None
    how: str
    is_withdrawn: bool


Ratings = dict[int, int]
"""One rating by person."""
EventRow = tuple[int, int, int, int, int, int | None, str, bool]
"""Topic, revision, passage, person, and the fields of `Event`."""
EventsByCell = dict[CellKey, dict[int, list[Event]]]
"""By cell and person."""


def ratings(
    collection: Collection,
    which: CountedRating = CountedRating.LATEST,
    *,
    campaign: Campaign | None = None,
    at_least: int = 1,
) -> dict[CellKey, Ratings]:
    """Return each person's rating of each cell that at least `at_least` rated, without decisions.

    Cells whose ratings the reader may not see yet are left out.
    """
    by_cell = _visible_events(collection, campaign, at_least)
    settled_ratings = {place: _settled(by_person, which) for place, by_person in by_cell.items()}
    return {place: by_person for place, by_person in settled_ratings.items() if len(by_person) >= at_least}


@read_once
def _visible_events(collection: Collection, campaign: Campaign | None, at_least: int) -> EventsByCell:
    """Return each person's events of the cells that the reader may see, in order."""
    is_narrowed = campaign is not None or at_least > 1
    rows = _events(collection, campaign, at_least) if is_narrowed else _all_events(collection.pk)
    events: EventsByCell = {}
    for topic, revision, passage, by, number, rating, how, is_withdrawn in rows:
        by_person = events.setdefault(CellKey(topic, revision, passage), {})
        by_person.setdefault(by, []).append(Event(number, rating, how, is_withdrawn))
    visibility.count_ratings(collection.pk)
    hidden = visibility.without_ratings(collection.pk)
    return {
        place: by_person
        for place, by_person in events.items()
        if place[1:] not in hidden[place.topic].ratings
    }


def _events(collection: Collection, campaign: Campaign | None, at_least: int) -> Iterator[EventRow]:
    rows = _in_order(HumanGrade.objects.filter(topic__collection=collection))
    place = {"revision": OuterRef("revision"), "passage": OuterRef("passage")}
    if campaign is not None:
        rows = rows.filter(Exists(CampaignCell.objects.filter(campaign=campaign, **place)))
    if at_least > 1:
        same = HumanGrade.objects.filter(topic__collection=collection, **place).order_by()
        counted = same.values("revision", "passage").annotate(people=Count("by", distinct=True))
        rows = rows.filter(Exists(counted.filter(people__gte=at_least)))
    return rows.iterator()


@compiled_once
def _all_events(collection: int) -> QuerySet[HumanGrade, EventRow]:
    return _in_order(HumanGrade.objects.filter(topic__collection=collection))


def _in_order(rows: QuerySet[HumanGrade]) -> QuerySet[HumanGrade, EventRow]:
    """Return the events among the rows, without decisions."""
    fields = ("topic_id", "revision_id", "passage_id", "by_id", "number", "rating", "how", "is_withdrawn")
    return rows.exclude(how=How.ADJUDICATED).order_by("number").values_list(*fields)


def _settled(by_person: Mapping[int, list[Event]], which: CountedRating) -> Ratings:
    ratings = {person: settled(events, which) for person, events in by_person.items()}
    return {person: rating for person, rating in ratings.items() if rating is not None}


def settled(events: Iterable[Event], which: CountedRating) -> int | None:
    """Return the rating that counts of one person's events in order; None if it was withdrawn or absent."""
    listed = list(events)
    if which is CountedRating.LATEST:
        return None if listed[-1].is_withdrawn else listed[-1].rating
    blind = [
        number for number, event in enumerate(listed) if event.how == How.BLIND and not event.is_withdrawn
    ]
    if not blind:
        return None
    after = listed[blind[-1] + 1 :]
    return None if after and after[0].is_withdrawn else listed[blind[-1]].rating


MOST_AT_ONCE = 500
"""How many unanimous cells one click accepts."""


def decide(
    place: CellKey, *, rating: int, by: User, seen: int, reason: str = "", uid: UUID | None = None
) -> Decision:
    """Settle the cell, where `seen` is the number of its last decision, 0 without any.

    `uid` makes sending it twice harmless. Who rated the cell is a party to it and must give a reason; the
    audit trail then has an entry. Raises DecidedMeanwhile and NeedsReason.
    """
    uid = uid or uuid4()
    if (earlier := Decision.objects.filter(uid=uid, by=by).first()) is not None:
        return earlier
    _refuse_newer(place, seen)
    between, reason = ratings_by_person(place), reason.strip()
    is_party = by.pk in between
    if is_party and not reason:
        raise NeedsReason("You rated this pair yourself. Say why you decide it.")
    try:
        with transaction.atomic():
            decision = _decision(place, by, seen, rating=rating, reason=reason, uid=uid)
            _save(decision, between)
            if is_party:
                audit.record("own conflict decided", decision, by=by, detail=rating)
            return decision
    except IntegrityError:
        _refuse_newer(place, seen)
        raise


def _decision(
    place: CellKey, by: User, seen: int, *, rating: int, reason: str = "", uid: UUID | None = None
) -> Decision:
    """Return a decision, not saved yet, that follows the cell's decision number `seen`."""
    return Decision(
        topic_id=place.topic,
        revision_id=place.revision,
        passage_id=place.passage,
        number=seen + 1,
        rating=rating,
        reason=reason,
        by=by,
        uid=uid or uuid4(),
    )


def _save(decision: Decision, between: Mapping[int, int]) -> None:
    """Save the decision with the human rating that carries it, and the ratings that it decides `between`."""
    cell = human_ratings.Cell(decision.topic_id, decision.revision_id, decision.passage_id)
    last = human_ratings.latest_by(decision.by, cell)
    decision.grade = human_ratings.rate_cell(
        cell,
        rating=decision.rating,
        by=decision.by,
        seen=last.number if last else 0,
        how=HumanGrade.How.ADJUDICATED,
        uid=decision.uid,
    )
    decision.save(force_insert=True)
    DecidedRating.objects.bulk_create(
        DecidedRating(decision=decision, person_id=person, rating=rated) for person, rated in between.items()
    )


def _refuse_newer(place: CellKey, seen: int) -> None:
    last = decisions_of(place).order_by("-number").first()
    if last is not None and last.number != seen:
        raise DecidedMeanwhile(last)


@transaction.atomic
def withdraw(decision: Decision, *, by: User) -> Decision:
    """Withdraw the decision; the one before it holds again, if there is one. Sending it twice is harmless."""
    if decision.by_id != by.pk:
        raise NotYourDecision(
            "Only the person who made the decision can withdraw it. You can make a new one."
        )
    if decision.withdrawn_at is None:
        cell = human_ratings.Cell(decision.topic_id, decision.revision_id, decision.passage_id)
        last = human_ratings.latest_by(by, cell)
        if last is not None and last.pk == decision.grade_id:
            human_ratings.undo(cell, by=by, seen=last.number)
        decision.withdrawn_at = timezone.now()
        decision.save(update_fields=["withdrawn_at"])
        audit.record("decision withdrawn", decision, by=by)
    return decision


@transaction.atomic
def accept_unanimous(collection: Collection, *, by: User, campaign: Campaign | None = None) -> int:
    """Decide the cells that two or more assessors rated alike, and return how many."""
    accepted = 0
    for place, by_person in unanimous(collection, campaign=campaign)[:MOST_AT_ONCE]:
        last = decisions_of(place).order_by("-number").first()
        rating = next(iter(by_person.values()))
        _save(_decision(place, by, last.number if last else 0, rating=rating), by_person)
        accepted += 1
    audit.record("unanimous ratings accepted", collection, by=by, detail=accepted)
    return accepted


def unanimous(
    collection: Collection, *, campaign: Campaign | None = None
) -> list[tuple[CellKey, dict[int, int]]]:
    """Return the undecided cells that two or more assessors rated alike."""
    return alike(ratings(collection, campaign=campaign, at_least=2), standing(collection))


def alike(
    ratings: Mapping[CellKey, dict[int, int]], decided: Mapping[tuple[int, int], Decision]
) -> list[tuple[CellKey, dict[int, int]]]:
    """Return the unanimous ones of cells that two or more rated."""
    return [
        (place, by_person)
        for place, by_person in ratings.items()
        if len(set(by_person.values())) == 1 and (place.revision, place.passage) not in decided
    ]


def standing(collection: Collection) -> dict[tuple[int, int], Decision]:
    """Return the decisions that hold, by (revision, passage)."""
    rows = Decision.objects.filter(topic__collection=collection, withdrawn_at=None).select_related("by")
    return {(row.revision_id, row.passage_id): row for row in rows.order_by("number")}


def decisions_of(place: CellKey) -> QuerySet[Decision]:
    return Decision.objects.filter(revision=place.revision, passage=place.passage).select_related("by")


def ratings_by_person(place: CellKey) -> dict[int, int]:
    """Return each person's latest rating of the cell, without decisions."""
    rows = HumanGrade.objects.filter(revision=place.revision, passage=place.passage)
    by_person: dict[int, list[Event]] = {}
    fields = ("by_id", "number", "rating", "how", "is_withdrawn")
    for by, *event in rows.exclude(how=HumanGrade.How.ADJUDICATED).order_by("number").values_list(*fields):
        by_person.setdefault(by, []).append(Event(*event))
    return _settled(by_person, CountedRating.LATEST)
