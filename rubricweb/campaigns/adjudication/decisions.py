"""The decisions that hold, and the ratings that wait for one."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import QuerySet

from rubricweb.campaigns.adjudication.models import Decision
from rubricweb.campaigns.agreement.latest_ratings import CellKey, CountedRating, Event, ratings, settled
from rubricweb.campaigns.queue.models import Campaign
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_models import HumanGrade


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
        (place, people)
        for place, people in ratings.items()
        if len(set(people.values())) == 1 and (place.revision, place.passage) not in decided
    ]


def standing(collection: Collection) -> dict[tuple[int, int], Decision]:
    """By (revision, passage): the decision that holds."""
    rows = Decision.objects.filter(topic__collection=collection, withdrawn_at=None).select_related("by")
    return {(row.revision_id, row.passage_id): row for row in rows.order_by("number")}


def decisions_of(place: CellKey) -> QuerySet[Decision]:
    return Decision.objects.filter(revision=place.revision, passage=place.passage).select_related("by")


def ratings_by_person(place: CellKey) -> dict[int, int]:
    """By person: their latest rating of the cell, without decisions."""
    rows = HumanGrade.objects.filter(revision=place.revision, passage=place.passage)
    people: dict[int, list[Event]] = {}
    fields = ("by_id", "number", "rating", "how", "is_withdrawn")
    for by, *event in rows.exclude(how=HumanGrade.How.ADJUDICATED).order_by("number").values_list(*fields):
        people.setdefault(by, []).append(Event(*event))
    latest = {by: settled(events, CountedRating.LATEST) for by, events in people.items()}
    return {by: rating for by, rating in latest.items() if rating is not None}
