"""Each person's rating of each cell that at least one, or several, rated: a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, QuerySet

from rubricweb.campaigns.models import Campaign, CampaignCell
from rubricweb.corpus.models import Collection
from rubricweb.grades import visibility
from rubricweb.grades.human_models import HumanGrade

How = HumanGrade.How


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
    rows = _events(collection, campaign)
    if at_least > 1:
        rows = rows.filter(Exists(_by_several(collection, at_least)))
    events: dict[CellKey, dict[int, list[Event]]] = {}
    fields = ("topic_id", "revision_id", "passage_id", "by_id", "number", "rating", "how", "is_withdrawn")
    for topic, revision, passage, by, *event in rows.order_by("number").values_list(*fields).iterator():
        events.setdefault(CellKey(topic, revision, passage), {}).setdefault(by, []).append(Event(*event))
    visibility.count_ratings(collection.pk)
    hidden = visibility.without_ratings(collection.pk)
    visible = {
        place: by_person
        for place, by_person in events.items()
        if place[1:] not in hidden[place.topic].ratings
    }
    settled_ratings = {place: _settled(by_person, which) for place, by_person in visible.items()}
    return {place: by_person for place, by_person in settled_ratings.items() if len(by_person) >= at_least}


def _events(collection: Collection, campaign: Campaign | None) -> QuerySet[HumanGrade]:
    rows = HumanGrade.objects.filter(topic__collection=collection).exclude(how=How.ADJUDICATED)
    if campaign is None:
        return rows
    cells = CampaignCell.objects.filter(
        campaign=campaign, revision=OuterRef("revision"), passage=OuterRef("passage")
    )
    return rows.filter(Exists(cells))


def _by_several(collection: Collection, at_least: int) -> Any:  # Any: an aggregated queryset
    same = HumanGrade.objects.filter(
        topic__collection=collection, revision=OuterRef("revision"), passage=OuterRef("passage")
    ).order_by()
    counted = same.values("revision", "passage").annotate(people=Count("by", distinct=True))
    return counted.filter(people__gte=at_least)


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
