"""Conflicts between assessors, and the passage with those on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Substr

from grading.types import USUAL_MIN_GRADE, Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.models import Item, ItemRevision
from rubricweb.campaigns.adjudication import (
    CellKey,
    Ratings,
    alike,
    decisions_of,
    ratings,
    ratings_by_person,
    standing,
)
from rubricweb.campaigns.models import Campaign, CampaignCell, DecidedRating, Decision, Turn, new_uid
from rubricweb.campaigns.ratable import Meanings, meanings_of, whole_scale
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades.models import Grade
from rubricweb.grades.visibility import hidden_from

FEED = 100
"""The most overruled ratings that a person is shown."""
EXCERPT = 90
SECONDS = 20
"""A guess of what one decision takes."""


@dataclass(frozen=True, slots=True)
class ConflictQuery:
    """The criteria of a conflict."""

    campaign: Campaign | None = None
    distance: int = 1
    """Ratings further apart than this conflict."""
    min_grade: int = USUAL_MIN_GRADE
    """Ratings on both sides of this threshold conflict."""
    shows_names: bool = False

    def is_conflict(self, by_person: Ratings) -> bool:
        low, top = min(by_person.values()), max(by_person.values())
        return top - low > self.distance or low < self.min_grade <= top


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Cells on which assessors disagree, without those that the reader still has to rate."""

    ratings: dict[CellKey, Ratings]
    decisions: dict[tuple[int, int], Decision]
    alike: dict[CellKey, Ratings]
    """Cells that two or more rated, and on which they agree as far as the query asks; decided or not."""
    unanimous: int

    @property
    def decided(self) -> int:
        return sum(place[1:] in self.decisions for place in self.ratings)

    @property
    def open(self) -> int:
        return len(self.ratings) - self.decided


def conflicts(collection: Collection, query: ConflictQuery, person: User | None) -> Conflicts:
    decisions, hidden = standing(collection), hidden_from(person, collection.pk)
    by_cell = ratings(collection, campaign=query.campaign, at_least=2)
    visible = {
        place: by_person
        for place, by_person in by_cell.items()
        if place[1:] not in hidden[place.topic].ratings
    }
    differing = {place: by_person for place, by_person in visible.items() if query.is_conflict(by_person)}
    agreed = {place: by_person for place, by_person in visible.items() if place not in differing}
    return Conflicts(differing, decisions, agreed, unanimous=len(alike(by_cell, decisions)))


def meanings(place: CellKey, rated: Mapping[int, int]) -> Meanings:
    """Return the scale of the newest campaign with the cell; the whole one if somebody's rating is off it."""
    return scales([place], {place: rated})[place]


def scales(places: Sequence[CellKey], rated: Mapping[CellKey, Mapping[int, int]]) -> dict[CellKey, Meanings]:
    """Return what `meanings` returns, of each of these cells of one passage."""
    cells = CampaignCell.objects.filter(revision__in=[place.revision for place in places])
    cells = cells.filter(passage__in={place.passage for place in places}).select_related("config")
    newest = {cell.revision_id: cell.config for cell in cells.order_by("campaign_id")}
    by_place = {place: meanings_of(newest.get(place.revision)) for place in places}
    is_fit = {
        place: set(rated[place].values()) <= {level for level, _ in by_place[place]} for place in places
    }
    return {p: by_place[p] if is_fit[p] else whole_scale(rated[p].values()) for p in places}


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


@dataclass(frozen=True, slots=True)
class AssessorRating:
    """One assessor's rating of a cell."""

    letter: str
    """The same for all conflicts of a passage."""
    name: str
    rating: int
    is_mine: bool
    comment: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class RatingDot:
    """A rating on the scale, with the letters of all who gave it."""

    label: str
    x: str
    """Where it stands, in percent of the keys' width."""
    is_mine: bool


@dataclass(frozen=True, eq=False)
class CellConflict:
    """An item of the passage on which assessors disagree."""

    place: CellKey
    revision: ItemRevision
    ratings: tuple[AssessorRating, ...]
    decision: Decision | None
    """The one that holds."""
    meanings: Meanings

    @property
    def is_party(self) -> bool:
        return any(rating.is_mine for rating in self.ratings)

    @property
    def waits(self) -> bool:
        """Return whether nobody decided, and it is not left to another."""
        return self.decision is None and not self.is_party

    @property
    def dots(self) -> list[RatingDot]:
        levels = sorted(rating for rating, _ in self.meanings)
        together: dict[int, list[AssessorRating]] = {}
        for rating in sorted(self.ratings, key=lambda rating: (rating.rating, rating.letter)):
            together.setdefault(rating.rating, []).append(rating)
        return [
            RatingDot(
                "".join(rating.letter for rating in some),
                f"{100 * (levels.index(level) + 0.5) / len(levels):.1f}%",
                any(rating.is_mine for rating in some),
            )
            for level, some in together.items()
        ]


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage in the list at the left."""

    topic: Topic
    doc_id: str
    excerpt: str
    places: tuple[CellKey, ...]
    decided: int

    @property
    def first(self) -> CellKey:
        return self.places[0]


@dataclass(frozen=True, eq=False)
class DecidePage:
    conflicts: Conflicts
    passages: tuple[PassageRow, ...]
    here: PassageRow | None
    passage: Passage | None
    rows: tuple[CellConflict, ...]
    """The conflicts of the passage."""
    current: CellConflict | None
    """The one that the keys are for."""
    item: Item | None
    """The item of the current conflict as it stands in a bank, so that it can be flagged."""
    grades: list[Grade]
    """Graders' grades of the current conflict."""
    agreed: tuple[tuple[ItemRevision, int], ...]
    """Items of the passage that two or more rated alike, with the rating."""
    skip_to: CellKey | None
    left: int
    """Conflicts that wait for this reader."""
    last: Decision | None
    """The reader's latest decision that holds."""
    seen: int
    uid: UUID

    @property
    def number(self) -> int:
        """Return the number of the passage, from 1."""
        return self.passages.index(self.here) + 1 if self.here else 0

    @property
    def previous(self) -> PassageRow | None:
        return self.passages[self.number - 2] if self.number > 1 else None

    @property
    def next(self) -> PassageRow | None:
        return self.passages[self.number] if 0 < self.number < len(self.passages) else None

    @property
    def above(self) -> CellConflict | None:
        return self._neighbour(-1)

    @property
    def below(self) -> CellConflict | None:
        return self._neighbour(1)

    def _neighbour(self, step: int) -> CellConflict | None:
        at = self.rows.index(self.current) + step if self.current else -1
        return self.rows[at] if 0 <= at < len(self.rows) else None

    @property
    def seconds_left(self) -> int:
        return self.left * SECONDS


def decide_page(
    collection: Collection, query: ConflictQuery, person: User, at: tuple[int, int] | None
) -> DecidePage:
    """Show the passage of the conflict `at`, else of the first one that waits for the person."""
    conflicting = conflicts(collection, query, person)
    order = in_order(conflicting)
    named = next((place for place in order if place[1:] == at), None)
    chosen = named or next((place for place in order if _waits(conflicting, place, person)), None)
    passages = _passages(conflicting, order)
    here = next((row for row in passages if chosen in row.places), passages[0] if passages else None)
    rows = _conflicts_of(collection, here.places, conflicting, query, person) if here else ()
    current = next((row for row in rows if row.place == chosen), None)
    place = current.place if current else None
    latest = decisions_of(place).order_by("-number").first() if place else None
    items = Item.objects.filter(topic=place.topic, revision=place.revision) if place else Item.objects.none()
    mine = [row for row in conflicting.decisions.values() if row.by_id == person.pk]
    return DecidePage(
        conflicts=conflicting,
        passages=passages,
        here=here,
        passage=Passage.objects.get(pk=here.first.passage) if here else None,
        rows=rows,
        current=current,
        item=items.select_related("bank").order_by("pk").first(),
        grades=_grades(current, person),
        agreed=_agreed(conflicting, here.first) if here else (),
        skip_to=next_waiting(conflicting, order, chosen, person) if chosen else None,
        left=sum(_waits(conflicting, place, person) for place in order),
        last=max(mine, key=lambda decision: decision.pk, default=None),
        seen=latest.number if latest else 0,
        uid=new_uid(),
    )


def in_order(conflicting: Conflicts) -> list[CellKey]:
    """Return the conflicts passage by passage, in the collection's order of topics."""
    positions = dict(
        Topic.objects.filter(pk__in={place.topic for place in conflicting.ratings}).values_list(
            "pk", "position"
        )
    )
    return sorted(
        conflicting.ratings,
        key=lambda place: (positions[place.topic], place.topic, place.passage, place.revision),
    )


def _waits(conflicting: Conflicts, place: CellKey, person: User) -> bool:
    return place[1:] not in conflicting.decisions and person.pk not in conflicting.ratings[place]


def next_waiting(
    conflicting: Conflicts, order: Sequence[CellKey], after: CellKey, person: User
) -> CellKey | None:
    """Return the next conflict after this one that waits for the person, from the end back to the start."""
    at = order.index(after) + 1 if after in order else 0
    others = (
        place for place in (*order[at:], *order[:at]) if place != after and place in conflicting.ratings
    )
    return next((place for place in others if _waits(conflicting, place, person)), None)


def _passages(conflicting: Conflicts, order: Sequence[CellKey]) -> tuple[PassageRow, ...]:
    together: dict[tuple[int, int], list[CellKey]] = {}
    for place in order:
        together.setdefault((place.topic, place.passage), []).append(place)
    topics = Topic.objects.in_bulk({topic for topic, _ in together})
    passages = Passage.objects.filter(pk__in={passage for _, passage in together})
    begun = passages.values_list("pk", "doc_id", Substr("text", 1, EXCERPT))
    texts = {pk: (doc_id, excerpt) for pk, doc_id, excerpt in begun}
    return tuple(
        PassageRow(
            topic=topics[topic],
            doc_id=texts[passage][0],
            excerpt=texts[passage][1],
            places=tuple(places),
            decided=sum(place[1:] in conflicting.decisions for place in places),
        )
        for (topic, passage), places in together.items()
    )


def _conflicts_of(
    collection: Collection,
    places: Sequence[CellKey],
    conflicting: Conflicts,
    query: ConflictQuery,
    person: User,
) -> tuple[CellConflict, ...]:
    """Return the conflicts of one passage, with who rated them how and why."""
    raters = sorted({pk for place in places for pk in conflicting.ratings[place]})
    names = {user.pk: str(user) for user in User.objects.filter(pk__in=raters)}
    if not query.shows_names:
        names = {pk: assessor_pseudonym(collection, pk) for pk in names}
    letters = {pk: chr(ord("A") + at % 26) for at, pk in enumerate(sorted(names, key=names.__getitem__))}
    revisions = ItemRevision.objects.select_related("topic").in_bulk([place.revision for place in places])
    scale_by_place = scales(places, conflicting.ratings)
    turns = Turn.objects.filter(cell__revision__in=revisions, cell__passage=places[0].passage)
    notes = {
        (turn.cell.revision_id, turn.person_id): turn for turn in turns.select_related("cell").order_by("pk")
    }

    def rating_of(place: CellKey, pk: int, rating: int) -> AssessorRating:
        turn = notes.get((place.revision, pk))
        is_mine = pk == person.pk
        more = (turn.comment, turn.mode) if turn else ("", "")
        return AssessorRating("me" if is_mine else letters[pk], names[pk], rating, is_mine, *more)

    return tuple(
        CellConflict(
            place,
            revisions[place.revision],
            tuple(
                sorted(
                    (rating_of(place, pk, rating) for pk, rating in conflicting.ratings[place].items()),
                    key=lambda rating: (rating.rating, rating.letter),
                )
            ),
            conflicting.decisions.get((place.revision, place.passage)),
            scale_by_place[place],
        )
        for place in places
    )


def _agreed(conflicting: Conflicts, at: CellKey) -> tuple[tuple[ItemRevision, int], ...]:
    here: Mapping[int, int] = {
        place.revision: max(by_person.values())
        for place, by_person in conflicting.alike.items()
        if (place.topic, place.passage) == (at.topic, at.passage) and len(set(by_person.values())) == 1
    }
    revisions = ItemRevision.objects.filter(pk__in=here).order_by("pk")
    return tuple((revision, here[revision.pk]) for revision in revisions)


def _grades(current: CellConflict | None, person: User) -> list[Grade]:
    """Return the graders' grades of the cell, unless the person has still to rate a copy of it blind."""
    if current is None:
        return []
    place, topic = current.place, current.revision.topic
    if place[1:] in hidden_from(person, topic.collection_id)[topic.pk].graders:
        return []
    rows = Grade.objects.filter(revision=place.revision, passage=place.passage)
    rows = rows.exclude(config__purpose=Purpose.EXTRACT).select_related("config")
    return list(rows.order_by("config__llm", "config__prompt_class", "pk"))
