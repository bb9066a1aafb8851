"""The conflicts that an adjudicator works through, and the decisions that assessors read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from grading.types import Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.campaigns.adjudication.decisions import alike, decisions_of, ratings_by_person, standing
from rubricweb.campaigns.adjudication.models import DecidedRating, Decision
from rubricweb.campaigns.agreement.latest_ratings import CellKey, Ratings, ratings
from rubricweb.campaigns.queue.meanings import OF_WHOLE_SCALE, Meanings, meanings_of
from rubricweb.campaigns.queue.models import Campaign, CampaignCell, Turn, new_uid
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades.highlighting import Segment, highlighted
from rubricweb.grades.models import Grade
from rubricweb.grades.scales import PAPERS_MIN_GRADE
from rubricweb.grades.visibility import hidden_from

FEED = 100


@dataclass(frozen=True, slots=True)
class Query:
    """What counts as a conflict, and which conflicts to list."""

    campaign: Campaign | None = None
    distance: int = 1
    """Ratings further apart than this conflict."""
    min_grade: int = PAPERS_MIN_GRADE
    """Ratings on both sides of this threshold conflict."""
    is_decided: bool = False
    shows_names: bool = False

    def is_conflict(self, people: Ratings) -> bool:
        low, top = min(people.values()), max(people.values())
        return top - low > self.distance or low < self.min_grade <= top


@dataclass(frozen=True, slots=True)
class AssessorRating:
    """One assessor's rating."""

    name: str
    rating: int
    comment: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A cell in the list."""

    place: CellKey
    topic: Topic
    revision: ItemRevision
    doc_id: str
    ratings: tuple[int, ...]
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class ConflictsPage:
    rows: tuple[ConflictRow, ...]
    """The conflicts that the query lists."""
    open: int
    decided: int
    unanimous: int


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Cells on which assessors disagree, without those that the reader still has to rate."""

    ratings: dict[CellKey, Ratings]
    decisions: dict[tuple[int, int], Decision]
    unanimous: int

    @property
    def decided(self) -> int:
        return sum(place[1:] in self.decisions for place in self.ratings)

    @property
    def open(self) -> int:
        return len(self.ratings) - self.decided


def conflicts(collection: Collection, query: Query, person: User | None) -> Conflicts:
    decisions, hidden = standing(collection), hidden_from(person, collection.pk)
    by_cell = ratings(collection, campaign=query.campaign, at_least=2)
    differing = {
        place: people
        for place, people in by_cell.items()
        if query.is_conflict(people) and place[1:] not in hidden[place.topic].people
    }
    return Conflicts(differing, decisions, unanimous=len(alike(by_cell, decisions)))


def inbox(collection: Collection, query: Query, person: User) -> ConflictsPage:
    """Return the conflicts in the collection's order of topics."""
    conflicting = conflicts(collection, query, person)
    places = [
        place for place in conflicting.ratings if (place[1:] in conflicting.decisions) == query.is_decided
    ]
    return ConflictsPage(
        rows=_rows(places, conflicting.ratings, conflicting.decisions),
        open=conflicting.open,
        decided=conflicting.decided,
        unanimous=conflicting.unanimous,
    )


def _rows(
    places: list[CellKey], ratings: dict[CellKey, Ratings], decided: dict[tuple[int, int], Decision]
) -> tuple[ConflictRow, ...]:
    revisions = ItemRevision.objects.select_related("topic").in_bulk({place.revision for place in places})
    doc_ids = dict(
        Passage.objects.filter(pk__in={place.passage for place in places}).values_list("pk", "doc_id")
    )
    rows = [
        ConflictRow(
            place=place,
            topic=revisions[place.revision].topic,
            revision=revisions[place.revision],
            doc_id=doc_ids[place.passage],
            ratings=tuple(sorted(ratings[place].values())),
            decision=decided.get((place.revision, place.passage)),
        )
        for place in places
    ]
    return tuple(sorted(rows, key=lambda row: (row.topic.position, row.place.revision, row.place.passage)))


@dataclass(frozen=True, eq=False)
class Case:
    """One cell with all of its ratings and decisions."""

    place: CellKey
    revision: ItemRevision
    passage: Passage
    ratings: tuple[AssessorRating, ...]
    grades: tuple[Grade, ...]
    """By graders."""
    segments: tuple[Segment, ...]
    answer: str
    decisions: tuple[Decision, ...]
    """Newest first, withdrawn ones included."""
    seen: int
    number: int
    count: int
    previous: CellKey | None
    next: CellKey | None
    meanings: Meanings
    """What may be decided."""
    uid: UUID

    @property
    def decision(self) -> Decision | None:
        """The one that holds."""
        return next((decision for decision in self.decisions if decision.withdrawn_at is None), None)


def case(collection: Collection, place: CellKey, query: Query, listed: tuple[ConflictRow, ...]) -> Case:
    """`listed` is the list that the adjudicator works through."""
    places = [row.place for row in listed]
    at = places.index(place) if place in places else -1
    decisions = tuple(decisions_of(place).order_by("-number"))
    grades = _grades(place)
    answer = next((grade.answer for grade in grades if grade.answer and grade.outcome != Outcome.FAILED), "")
    passage = Passage.objects.get(pk=place.passage)
    rated = ratings_by_person(place)
    return Case(
        place=place,
        revision=ItemRevision.objects.select_related("topic").get(pk=place.revision),
        passage=passage,
        ratings=_assessor_ratings(collection, place, query, rated),
        grades=tuple(grade for grade in grades if grade.config.purpose != Purpose.EXTRACT),
        segments=highlighted(passage.text, answer),
        answer=answer,
        decisions=decisions,
        seen=decisions[0].number if decisions else 0,
        number=at + 1,
        count=len(places),
        previous=places[at - 1] if at > 0 else None,
        next=places[at + 1] if 0 <= at < len(places) - 1 else None,
        meanings=meanings(place, rated),
        uid=new_uid(),
    )


def meanings(place: CellKey, rated: Mapping[int, int]) -> Meanings:
    """Return the scale of the newest campaign with the cell; the whole one if somebody's rating is off it."""
    cells = CampaignCell.objects.filter(revision=place.revision, passage=place.passage)
    newest = cells.select_related("config").order_by("-campaign_id").first()
    of_campaign = meanings_of(newest.config if newest else None)
    is_fit = set(rated.values()) <= {rating for rating, _ in of_campaign}
    return of_campaign if is_fit else OF_WHOLE_SCALE


def _grades(place: CellKey) -> list[Grade]:
    rows = Grade.objects.filter(revision=place.revision, passage=place.passage)
    return list(rows.select_related("config").order_by("config__llm", "config__prompt_class", "pk"))


def _assessor_ratings(
    collection: Collection, place: CellKey, query: Query, people: Mapping[int, int]
) -> tuple[AssessorRating, ...]:
    names = {person.pk: str(person) for person in User.objects.filter(pk__in=people)}
    turns = Turn.objects.filter(cell__revision=place.revision, cell__passage=place.passage, person__in=people)
    notes = {turn.person_id: turn for turn in turns.order_by("pk")}
    rows = []
    for person, rating in people.items():
        name = names[person] if query.shows_names else assessor_pseudonym(collection, person)
        turn = notes.get(person)
        rows.append(AssessorRating(name, rating, turn.comment if turn else "", turn.mode if turn else ""))
    return tuple(sorted(rows, key=lambda row: (-row.rating, row.name)))


@dataclass(frozen=True, slots=True)
class Overruled:
    """A person's rating that a decision contradicts."""

    mine: int
    decision: Decision
    now: int | None
    """The person's rating by now."""


def overruled(collection: Collection, person: User) -> list[Overruled]:
    """Return the person's overruled ratings, newest first, with the adjudicator's reasons."""
    decided = DecidedRating.objects.filter(person=person, decision__topic__collection=collection)
    decided = decided.filter(decision__withdrawn_at=None).exclude(rating=F("decision__rating"))
    full = ("decision__by", "decision__topic", "decision__revision", "decision__passage")
    holds = {decision.pk for decision in standing(collection).values()}
    rows = []
    for row in decided.select_related(*full).order_by("-decision_id")[:FEED]:
        if row.decision_id in holds:
            decision = row.decision
            place = CellKey(decision.topic_id, decision.revision_id, decision.passage_id)
            rows.append(Overruled(row.rating, decision, ratings_by_person(place).get(person.pk)))
    return rows
