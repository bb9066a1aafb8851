"""The cells that both people and a grader rated, with who rated them, when, and how they were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grading.statistics.calibration import RatedCells
from rubricweb.banks.models import Bank, BankVersion, Item
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.grades import visibility
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.exemplars import NamedCell, exemplar_cells, without_exemplars
from rubricweb.grades.human_matrices import HumanGrades, human_matrices
from rubricweb.grades.human_models import Draw, HumanGrade
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig

Mask = NDArray[np.bool_]
CellName = tuple[int, str, int]
"""Topic, id of the wording and passage of a cell."""
ENOUGH_RANDOM = 50
"""Number of randomly drawn cells from which on they are used alone."""


@dataclass(frozen=True, eq=False)
class RatedSample:
    """A sample of cells; each array and list has one entry per cell."""

    cells: RatedCells
    names: list[CellName]
    is_drawn: Mask
    """Whether the cell was drawn at random from all cells, not chosen by a person."""
    is_blind: Mask
    """Whether somebody rated the cell before seeing the grader's rating."""
    rated_at: list[datetime]
    """When somebody last rated the cell."""
    raters: list[frozenset[int]]

    def only(self, mask: Mask) -> RatedSample:
        """Return the sample of the cells in the mask."""
        places = np.flatnonzero(mask).tolist()
        return RatedSample(
            cells=RatedCells(self.cells.grader[mask], self.cells.human[mask], self.cells.topics[mask]),
            names=[self.names[place] for place in places],
            is_drawn=self.is_drawn[mask],
            is_blind=self.is_blind[mask],
            rated_at=[self.rated_at[place] for place in places],
            raters=[self.raters[place] for place in places],
        )

    @property
    def all_raters(self) -> frozenset[int]:
        return frozenset[int]().union(*self.raters)

    def __len__(self) -> int:
        return len(self.names)


class _RatedCell(NamedTuple):
    name: CellName
    grader: int
    human: int
    is_drawn: bool


@read_once
def item_names(bank: Bank, config: GraderConfig, version: BankVersion | None = None) -> set[tuple[str, str]]:
    """Return (query id, id of the wording) of each item that the grader grades.

    As of a version if one is given.
    """
    kinds = [str(kind) for kind in kinds_of(config)]
    if version is not None:
        then = version.all_entries.filter(item__kind__in=kinds)
        return set(then.values_list("item__topic__query_id", "revision__uid"))
    now = Item.including_secret.active().filter(bank=bank, kind__in=kinds)
    return set(now.values_list("topic__query_id", "revision__uid"))


def graded_uids(bank: Bank, config: GraderConfig, pool: CollectionPool) -> dict[int, tuple[str, ...]]:
    """Return by topic of the pool the ids of the wordings that the grader grades, sorted."""
    by_query: dict[str, list[str]] = {}
    for query_id, uid in sorted(item_names(bank, config)):
        by_query.setdefault(query_id, []).append(uid)
    return {topic.topic_id: tuple(by_query.get(topic.query_id, ())) for topic in pool.topics}


def sample(bank: Bank, config: GraderConfig) -> RatedSample:
    """Return the cells of the bank's items that the grader and people rated, people's ratings combined.

    Those that the grader was shown, as exemplars, are left out.
    """
    pool = collection_pool(bank.collection)
    human, graded = human_matrices(pool), matrices(config, pool)
    whole = Draw.objects.filter(collection=bank.collection_id, design=Draw.Design.CELLS)
    draws = set(whole.values_list("pk", flat=True))
    uids_of, exemplars = graded_uids(bank, config, pool), exemplar_cells([config])
    cells: list[_RatedCell] = []
    for topic in pool.topics:
        pk = topic.topic_id
        cells += _of_topic(graded[pk], human[pk], uids_of[pk], draws, exemplars)
    return _with_events(cells)


def _of_topic(
    graded: TopicGrades,
    human: HumanGrades,
    uids: tuple[str, ...],
    draws: set[int],
    exemplars: set[NamedCell],
) -> Iterator[_RatedCell]:
    if not human.matrix.item_ids:
        return
    by_grader, rated = (grades.matrix.columns(uids).ratings for grades in (graded, human))
    by_people = without_exemplars(rated, graded.pool, uids, exemplars)
    drawn = [matrix.columns(uids).ratings == 1 for draw, matrix in human.drawn.items() if draw in draws]
    is_drawn = np.any(drawn, axis=0) if drawn else np.zeros(by_people.shape, dtype=np.bool_)
    pool = graded.pool
    for row, column in np.argwhere((by_people >= 0) & (by_grader >= 0)).tolist():
        place = (row, column)
        name = (pool.topic_id, uids[column], pool.passage_pks[row])
        yield _RatedCell(name, int(by_grader[place]), int(by_people[place]), bool(is_drawn[place]))


def _with_events(cells: list[_RatedCell]) -> RatedSample:
    """Add who rated the cells, when, and whether blind."""
    rows = HumanGrade.objects.filter(topic__in={cell.name[0] for cell in cells}).order_by("pk")
    fields = ("topic_id", "revision__uid", "passage_id", "at", "by_id", "how")
    last: dict[CellName, datetime] = {}
    raters: dict[CellName, set[int]] = {cell.name: set() for cell in cells}
    blind: set[CellName] = set()
    for topic, uid, passage, at, by, how in rows.values_list(*fields).iterator():
        name = (topic, uid, passage)
        if name in raters:
            last[name] = at
            raters[name].add(by)
            blind |= {name} if how == HumanGrade.How.BLIND else set()
    return RatedSample(
        cells=RatedCells(
            np.array([cell.grader for cell in cells], dtype=np.int64),
            np.array([cell.human for cell in cells], dtype=np.int64),
            np.array([cell.name[0] for cell in cells], dtype=np.int64),
        ),
        names=[cell.name for cell in cells],
        is_drawn=np.array([cell.is_drawn for cell in cells], dtype=np.bool_),
        is_blind=np.array([cell.name in blind for cell in cells], dtype=np.bool_),
        rated_at=[last[cell.name] for cell in cells],
        raters=[frozenset(raters[cell.name]) for cell in cells],
    )


def standing_on(rated: RatedSample) -> tuple[RatedSample, bool]:
    """Return the randomly drawn cells if there are enough, else all, and whether they are drawn."""
    is_random = int(rated.is_drawn.sum()) >= ENOUGH_RANDOM
    return (rated.only(rated.is_drawn), True) if is_random else (rated, False)


def human_labels(collection: Collection) -> dict[tuple[int, int], int]:
    """Return people's latest ratings by (wording, passage), without passages to rate blind."""
    rows = HumanGrade.objects.filter(topic__collection=collection).order_by("pk")
    rows = rows.exclude(passage__in=visibility.blind_passages(collection.pk))
    labels: dict[tuple[int, int], int | None] = {}
    for revision, passage, rating, is_withdrawn in rows.values_list(
        "revision", "passage", "rating", "is_withdrawn"
    ):
        labels[revision, passage] = None if is_withdrawn else rating
    return {place: rating for place, rating in labels.items() if rating is not None}
