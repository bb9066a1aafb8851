"""What an adjudicator looks through, and what assessors learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from grading.types import Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.campaigns.adjudication.actions import alike, decisions_of, said_of, standing
from rubricweb.campaigns.adjudication.models import DecidedRating, Decision
from rubricweb.campaigns.agreement.latest_ratings import CellKey, Ratings, ratings
from rubricweb.campaigns.queue.models import Campaign, Turn, new_uid
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades.highlighting import Segment, highlighted
from rubricweb.grades.models import Grade
from rubricweb.grades.scales import PAPERS_MIN_GRADE
from rubricweb.grades.visibility import hidden_from

FEED = 100


@dataclass(frozen=True, slots=True)
class Query:
    """What counts as a conflict, and which of them to list."""

    campaign: Campaign | None = None
    distance: int = 1
    """Ratings that are more than this apart differ."""
    min_grade: int = PAPERS_MIN_GRADE
    """Ratings on both sides of this threshold differ."""
    is_decided: bool = False
    shows_names: bool = False

    def is_conflict(self, people: Ratings) -> bool:
        low, top = min(people.values()), max(people.values())
        return top - low > self.distance or low < self.min_grade <= top


@dataclass(frozen=True, slots=True)
class AssessorRating:
    """One assessor's rating beside the others."""

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
    """Of the list that was asked for."""
    open: int
    decided: int
    unanimous: int


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Cells on which assessors differ, without what the person who looks shall still rate."""

    said: dict[CellKey, Ratings]
    decisions: dict[tuple[int, int], Decision]
    unanimous: int

    @property
    def decided(self) -> int:
        return sum(place[1:] in self.decisions for place in self.said)

    @property
    def open(self) -> int:
        return len(self.said) - self.decided


def conflicts(collection: Collection, query: Query, person: User) -> Conflicts:
    decisions, hidden = standing(collection), hidden_from(person, collection.pk)
    said = ratings(collection, campaign=query.campaign, at_least=2)
    found = {
        place: people
        for place, people in said.items()
        if query.is_conflict(people) and place[1:] not in hidden[place.topic].people
    }
    return Conflicts(found, decisions, unanimous=len(alike(said, decisions)))


def inbox(collection: Collection, query: Query, person: User) -> ConflictsPage:
    """Conflicts in the collection's order of topics."""
    found = conflicts(collection, query, person)
    wanted = [place for place in found.said if (place[1:] in found.decisions) == query.is_decided]
    return ConflictsPage(
        rows=_rows(wanted, found.said, found.decisions),
        open=found.open,
        decided=found.decided,
        unanimous=found.unanimous,
    )


def _rows(
    places: list[CellKey], said: dict[CellKey, Ratings], decided: dict[tuple[int, int], Decision]
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
            ratings=tuple(sorted(said[place].values())),
            decision=decided.get((place.revision, place.passage)),
        )
        for place in places
    ]
    return tuple(sorted(rows, key=lambda row: (row.topic.position, row.place.revision, row.place.passage)))


@dataclass(frozen=True, eq=False)
class Case:
    """One cell with everything that was said of it."""

    place: CellKey
    revision: ItemRevision
    passage: Passage
    said: tuple[AssessorRating, ...]
    grades: tuple[Grade, ...]
    """By graders."""
    segments: tuple[Segment, ...]
    answer: str
    decisions: tuple[Decision, ...]
    """Newest first, also those that were taken back."""
    seen: int
    number: int
    count: int
    previous: CellKey | None
    next: CellKey | None
    uid: UUID

    @property
    def decision(self) -> Decision | None:
        """The one that holds."""
        return next((one for one in self.decisions if one.withdrawn_at is None), None)


def case(collection: Collection, place: CellKey, query: Query, listed: tuple[ConflictRow, ...]) -> Case:
    """`listed` is the list that the adjudicator walks through."""
    places = [row.place for row in listed]
    at = places.index(place) if place in places else -1
    decisions = tuple(decisions_of(place).order_by("-number"))
    grades = _grades(place)
    answer = next((one.answer for one in grades if one.answer and one.outcome != Outcome.FAILED), "")
    passage = Passage.objects.get(pk=place.passage)
    return Case(
        place=place,
        revision=ItemRevision.objects.select_related("topic").get(pk=place.revision),
        passage=passage,
        said=_said(collection, place, query),
        grades=tuple(one for one in grades if one.config.purpose != Purpose.EXTRACT),
        segments=highlighted(passage.text, answer),
        answer=answer,
        decisions=decisions,
        seen=decisions[0].number if decisions else 0,
        number=at + 1,
        count=len(places),
        previous=places[at - 1] if at > 0 else None,
        next=places[at + 1] if 0 <= at < len(places) - 1 else None,
        uid=new_uid(),
    )


def _grades(place: CellKey) -> list[Grade]:
    rows = Grade.objects.filter(revision=place.revision, passage=place.passage)
    return list(rows.select_related("config").order_by("config__llm", "config__prompt_class", "pk"))


def _said(collection: Collection, place: CellKey, query: Query) -> tuple[AssessorRating, ...]:
    people = said_of(place)
    names = {person.pk: str(person) for person in User.objects.filter(pk__in=people)}
    turns = Turn.objects.filter(cell__revision=place.revision, cell__passage=place.passage, person__in=people)
    notes = {turn.person_id: turn for turn in turns.order_by("pk")}
    found = []
    for person, rating in people.items():
        name = names[person] if query.shows_names else assessor_pseudonym(collection, person)
        turn = notes.get(person)
        found.append(AssessorRating(name, rating, turn.comment if turn else "", turn.mode if turn else ""))
    return tuple(sorted(found, key=lambda one: (-one.rating, one.name)))


@dataclass(frozen=True, slots=True)
class Overruled:
    """A rating of one's own that a decision stands against."""

    mine: int
    decision: Decision
    now: int | None
    """What the person says by now."""


def overruled(collection: Collection, person: User) -> list[Overruled]:
    """The person's overruled ratings, newest first, each with the adjudicator's reason."""
    rows = DecidedRating.objects.filter(person=person, decision__topic__collection=collection)
    rows = rows.filter(decision__withdrawn_at=None).exclude(rating=F("decision__rating"))
    full = ("decision__by", "decision__topic", "decision__revision", "decision__passage")
    holds = {decision.pk for decision in standing(collection).values()}
    found = []
    for row in rows.select_related(*full).order_by("-decision_id")[:FEED]:
        if row.decision_id in holds:
            decision = row.decision
            place = CellKey(decision.topic_id, decision.revision_id, decision.passage_id)
            found.append(Overruled(row.rating, decision, said_of(place).get(person.pk)))
    return found
