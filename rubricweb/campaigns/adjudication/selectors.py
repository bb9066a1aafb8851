"""The conflicts that an adjudicator works through, and the decisions that assessors read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F

from grading.types import USUAL_MIN_GRADE
from rubricweb.accounts.models import User
from rubricweb.campaigns.adjudication.decisions import alike, ratings_by_person, standing
from rubricweb.campaigns.adjudication.models import DecidedRating, Decision
from rubricweb.campaigns.agreement.latest_ratings import CellKey, Ratings, ratings
from rubricweb.campaigns.queue.meanings import OF_WHOLE_SCALE, Meanings, meanings_of
from rubricweb.campaigns.queue.models import Campaign, CampaignCell
from rubricweb.corpus.models import Collection
from rubricweb.grades.visibility import hidden_from

FEED = 100


@dataclass(frozen=True, slots=True)
class Query:
    """What counts as a conflict."""

    campaign: Campaign | None = None
    distance: int = 1
    """Ratings further apart than this conflict."""
    min_grade: int = USUAL_MIN_GRADE
    """Ratings on both sides of this threshold conflict."""
    shows_names: bool = False

    def is_conflict(self, people: Ratings) -> bool:
        low, top = min(people.values()), max(people.values())
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


def conflicts(collection: Collection, query: Query, person: User | None) -> Conflicts:
    decisions, hidden = standing(collection), hidden_from(person, collection.pk)
    by_cell = ratings(collection, campaign=query.campaign, at_least=2)
    visible = {
        place: people for place, people in by_cell.items() if place[1:] not in hidden[place.topic].people
    }
    differing = {place: people for place, people in visible.items() if query.is_conflict(people)}
    agreed = {place: people for place, people in visible.items() if place not in differing}
    return Conflicts(differing, decisions, agreed, unanimous=len(alike(by_cell, decisions)))


def meanings(place: CellKey, rated: Mapping[int, int]) -> Meanings:
    """Return the scale of the newest campaign with the cell; the whole one if somebody's rating is off it."""
    return scales([place], {place: rated})[place]


def scales(places: Sequence[CellKey], rated: Mapping[CellKey, Mapping[int, int]]) -> dict[CellKey, Meanings]:
    """As `meanings`, of cells of one passage."""
    cells = CampaignCell.objects.filter(revision__in=[place.revision for place in places])
    cells = cells.filter(passage__in={place.passage for place in places}).select_related("config")
    newest = {cell.revision_id: cell.config for cell in cells.order_by("campaign_id")}
    by_place = {place: meanings_of(newest.get(place.revision)) for place in places}
    is_fit = {
        place: set(rated[place].values()) <= {level for level, _ in by_place[place]} for place in places
    }
    return {place: by_place[place] if is_fit[place] else OF_WHOLE_SCALE for place in places}


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
