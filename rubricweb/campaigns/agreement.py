"""Agreement of assessors with each other and with a grader, and the effect of seeing the grader's rating."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from django.db.models import OuterRef, QuerySet, Subquery
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.agreement import (
    COEFFICIENT,
    ENOUGH_CELLS,
    cohen_kappa,
    coincidences_by,
    contingencies,
    ordinal_alpha,
    weighted_kappa,
)
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval
from grading.types import MAX_RATING, MIN_RATING
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.campaigns.adjudication import CellKey, CountedRating, ratings
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades import visibility
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import Rater

LEVELS = tuple(range(MAX_RATING + 1))
MOST_PAIRS = 40
MOST_ROWS = 200
Tables = NDArray[np.int64]
"""Shape (topics, 6, 6)."""


@dataclass(frozen=True, eq=False)
class AssessorPair:
    """Two assessors who rated the same cells."""

    first: str
    second: str
    tables: Tables

    @cached_property
    def whole(self) -> Tables:
        """Shape (6, 6)."""
        return np.asarray(self.tables.sum(axis=0))

    @cached_property
    def cells(self) -> int:
        return int(self.whole.sum())

    @property
    def same(self) -> float:
        return float(np.trace(self.whole) / self.cells)

    @property
    def kappa(self) -> float:
        return float(cohen_kappa(self.whole))

    @property
    def weighted(self) -> float:
        return float(weighted_kappa(self.whole))

    @property
    def interval(self) -> ConfidenceInterval:
        """Return the interval of the weighted kappa, over topics."""
        return statistic_interval(self.tables, weighted_kappa, bounds=COEFFICIENT)

    @property
    def is_too_few(self) -> bool:
        return self.cells < ENOUGH_CELLS


@dataclass(frozen=True, slots=True)
class AlphaRow:
    """Krippendorff's alpha of all assessors, over some of the cells."""

    name: str
    cells: int
    """Rated by two or more."""
    same: float
    """The share of equal ones among the pairs of ratings of a cell."""
    alpha: float

    @property
    def is_too_few(self) -> bool:
        return self.cells < ENOUGH_CELLS


@dataclass(frozen=True, slots=True)
class Overall:
    cells: int
    raters: int
    alpha: float
    interval: ConfidenceInterval

    @property
    def is_too_few(self) -> bool:
        return self.cells < ENOUGH_CELLS


@dataclass(frozen=True, slots=True)
class Anchoring:
    """Agreement with the grader of blind ratings, and of ratings given beside the grader's."""

    blind: int
    assisted: int
    blind_same: float
    assisted_same: float
    difference: float
    interval: ConfidenceInterval

    @property
    def is_too_few(self) -> bool:
        return min(self.blind, self.assisted) < ENOUGH_CELLS


def document(row: AlphaRow | Overall | Anchoring) -> dict[str, object]:
    """Return the row for files: numbers of too few cells are None, where the page prints "too few"."""
    numbers = asdict(row)
    if row.is_too_few:
        numbers |= {name: None for name, value in numbers.items() if isinstance(value, float | dict)}
    return numbers | {"is_too_few": row.is_too_few}


@dataclass(frozen=True, eq=False)
class RatingsArray:
    """Ratings as an array, shape (people, cells); -1 without a rating, and 0 for a contradiction."""

    places: tuple[CellKey, ...]
    raters: tuple[int, ...]
    ratings: NDArray[np.int64]

    @property
    def topics(self) -> NDArray[np.int64]:
        return np.array([place.topic for place in self.places], dtype=np.int64)

    @property
    def revisions(self) -> NDArray[np.int64]:
        return np.array([place.revision for place in self.places], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AgreementView:
    """The agreement of a collection's assessors, each part of it computed when it is read."""

    collection: Collection
    rated: RatingsArray
    names: Sequence[str]
    """By rater."""

    @cached_property
    def overall(self) -> Overall:
        return _overall(self.rated)

    @cached_property
    def pairs(self) -> tuple[AssessorPair, ...]:
        named = list(zip(self.names, self.rated.ratings, strict=True))
        return _largest(
            _pair(self.rated, (first, second), row, other)
            for (first, row), (second, other) in combinations(named, 2)
        )

    def with_grader(self, rater: Rater) -> tuple[AssessorPair, ...]:
        """Return each assessor with the grader."""
        graded = _graded(self.collection, rater, self.rated)
        named = zip(self.names, self.rated.ratings, strict=True)
        return _largest(_pair(self.rated, (name, rater.name), row, graded) for name, row in named)

    @cached_property
    def by_topic(self) -> tuple[AlphaRow, ...]:
        names = {topic.pk: str(topic) for topic in _topics(self.collection.pk)}
        return _by(self.rated, self.rated.topics, names)

    @cached_property
    def by_item(self) -> tuple[AlphaRow, ...]:
        return _by(self.rated, self.rated.revisions, _item_names(self.rated))

    @cached_property
    def anchoring(self) -> Anchoring | None:
        return anchoring(self.collection)


def agreement(collection: Collection, *, shows_names: bool = False) -> AgreementView:
    """Return the agreement of the collection's assessors."""
    rated = _rated(collection, CountedRating.LATEST)
    return AgreementView(collection, rated, _names(collection, rated.raters, shows_names=shows_names))


def independent_agreement(collection: Collection) -> Overall:
    """Return the agreement of the ratings that people gave before they saw the grader's."""
    return _overall(_rated(collection, CountedRating.INDEPENDENT))


def _rated(collection: Collection, which: CountedRating) -> RatingsArray:
    by_cell = ratings(collection, which)
    places = tuple(sorted(by_cell))
    raters = tuple(sorted({person for by_person in by_cell.values() for person in by_person}))
    row_of = {person: row for row, person in enumerate(raters)}
    array = np.full((len(raters), len(places)), -1, dtype=np.int64)
    for column, place in enumerate(places):
        for person, rating in by_cell[place].items():
            array[row_of[person], column] = max(rating, MIN_RATING)  # of a contradiction
    return RatingsArray(places, raters, array)


def _names(collection: Collection, raters: Sequence[int], *, shows_names: bool) -> list[str]:
    if not shows_names:
        return [assessor_pseudonym(collection, person) for person in raters]
    users = User.objects.in_bulk(list(raters))
    return [str(users[person]) for person in raters]


def _graded(collection: Collection, rater: Rater, rated: RatingsArray) -> NDArray[np.int64]:
    """Return the grader's ratings of the same cells; -1 without one."""
    graded = np.full(len(rated.places), -1, dtype=np.int64)
    if not rated.places:
        return graded
    pool = collection_pool(collection)
    uids = dict(
        ItemRevision.including_secret.filter(pk__in=set(rated.revisions.tolist())).values_list("pk", "uid")
    )
    for config in rater.configs:
        by_topic = matrices(config, pool)
        column_of = {
            topic: {uid: column for column, uid in enumerate(grades.matrix.item_ids)}
            for topic, grades in by_topic.items()
        }
        row_of = {
            topic.topic_id: {pk: row for row, pk in enumerate(topic.passage_pks)} for topic in pool.topics
        }
        for place, (topic, revision, passage) in enumerate(rated.places):
            row, column = row_of[topic].get(passage), column_of[topic].get(uids[revision])
            if row is not None and column is not None and graded[place] < 0:
                graded[place] = by_topic[topic].matrix.ratings[row, column]
    return graded


def _tables(rated: RatingsArray, first: NDArray[np.int64], second: NDArray[np.int64]) -> Tables:
    """Return one contingency table per topic that has pairs."""
    both = (first >= 0) & (second >= 0)
    return contingencies(first[both], second[both], rated.topics[both], levels=LEVELS)


def _pair(
    rated: RatingsArray, names: tuple[str, str], first: NDArray[np.int64], second: NDArray[np.int64]
) -> AssessorPair | None:
    pair = AssessorPair(*names, _tables(rated, first, second))
    return pair if pair.cells else None


def _largest(rows: Iterable[AssessorPair | None]) -> tuple[AssessorPair, ...]:
    listed = [row for row in rows if row is not None]
    return tuple(sorted(listed, key=lambda row: (-row.cells, row.first, row.second))[:MOST_PAIRS])


def _overall(rated: RatingsArray) -> Overall:
    tables = coincidences_by(rated.ratings, rated.topics, LEVELS)
    return Overall(
        cells=int(((rated.ratings >= 0).sum(axis=0) >= 2).sum()),
        raters=len(rated.raters),
        alpha=float(ordinal_alpha(tables.sum(axis=0))),
        interval=statistic_interval(tables, ordinal_alpha, bounds=COEFFICIENT),
    )


def _by(rated: RatingsArray, groups: NDArray[np.int64], names: dict[int, str]) -> tuple[AlphaRow, ...]:
    """Return one row per topic or item that has a name, the least agreement first."""
    twice = (rated.ratings >= 0).sum(axis=0) >= 2
    of, cells = np.unique(groups[twice], return_counts=True)
    pairs = coincidences_by(rated.ratings[:, twice], groups[twice], LEVELS)
    same = divide(np.trace(pairs, axis1=1, axis2=2), pairs.sum(axis=(1, 2)))
    columns = (column.tolist() for column in (of, cells, same, ordinal_alpha(pairs)))
    rows = [
        AlphaRow(names[group], *numbers) for group, *numbers in zip(*columns, strict=True) if group in names
    ]
    return tuple(sorted(rows, key=lambda row: (row.same, -row.cells, row.name))[:MOST_ROWS])


def _item_names(rated: RatingsArray) -> dict[int, str]:
    rows = ItemRevision.objects.filter(pk__in=set(rated.revisions.tolist()))
    return {row.pk: str(row) for row in rows}


def anchoring(collection: Collection) -> Anchoring | None:
    """Return the effect of seeing the grader's rating; None unless both modes occur.

    Only campaigns that assign the mode at random count.
    """
    hidden = visibility.without_ratings(collection.pk)
    tables: dict[int, Tables] = {}
    for topic, revision, passage, mode, rating, grader in _mixed(collection.pk):
        if grader is not None and (revision, passage) not in hidden[topic].ratings:
            table = tables.setdefault(topic, np.zeros((2, 2), dtype=np.int64))
            table[int(mode == Turn.Mode.ASSISTED), int(rating != grader)] += 1
    whole = sum(tables.values(), np.zeros((2, 2), dtype=np.int64))
    blind, assisted = (int(count) for count in whole.sum(axis=1))
    if not blind or not assisted:
        return None
    shares = whole[:, 0] / whole.sum(axis=1)
    interval = statistic_interval(np.array(list(tables.values())), _difference, bounds=(-1.0, 1.0))
    return Anchoring(blind, assisted, float(shares[0]), float(shares[1]), float(_difference(whole)), interval)


@compiled_once
def _topics(collection: int) -> QuerySet[Topic, Topic]:
    return Topic.objects.filter(collection=collection).only("query_id", "text")


@compiled_once
def _mixed(collection: int) -> QuerySet[Turn, Any]:
    """Return topic, revision, passage, mode, rating and grade of the turns of campaigns of both modes."""
    turns = Turn.objects.filter(campaign__collection=collection, campaign__mode=Campaign.Mode.MIXED)
    turns = turns.filter(state=Turn.State.SUBMITTED, rating__isnull=False, cell__config__isnull=False)
    cell = {name: OuterRef(f"cell__{name}") for name in ("config", "revision", "passage")}
    graded = turns.annotate(graded=Subquery(Grade.objects.filter(**cell).values("rating")))
    return graded.values_list("cell__topic", "cell__revision", "cell__passage", "mode", "rating", "graded")


def _difference(tables: NDArray[np.float64] | Tables) -> NDArray[np.float64]:
    """Return the share of agreement when assisted minus that when blind, from shape (..., 2, 2) to (...)."""
    shares = divide(tables[..., 0], tables.sum(axis=-1))
    return np.asarray(shares[..., 1] - shares[..., 0], dtype=np.float64)
