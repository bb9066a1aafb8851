"""What would be done with the cells that somebody selected, before anybody does it."""

from __future__ import annotations

from collections.abc import Collection as Some
from dataclasses import dataclass

from grading.types import FAILED, MISSING
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Topic
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.missing import Missing, gaps_of, left_to_start
from rubricweb.grades.engine.price import Price, price
from rubricweb.grades.engine.regrade import can_ask
from rubricweb.grades.humans import Cell, ShownRating
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.review.selectors.grid import TopicGrid, board
from rubricweb.review.selectors.grid_query import GridQuery
from rubricweb.review.selectors.window import GridColumn

MOST_CELLS = 5_000
"""That people may find right or be given at once: nobody looks at more."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Heads that are ticked; of passages or items where none is, all that the filters show are meant."""

    passages: frozenset[int]
    items: frozenset[int]


@dataclass(frozen=True, eq=False)
class BulkPlan:
    """The selected cells."""

    rows: tuple[int, ...]
    """Of the pool."""
    columns: tuple[GridColumn, ...]
    selection: Selection
    cells: tuple[Cell, ...]
    unchecked: tuple[tuple[Cell, ShownRating], ...]
    """Rated by the grader; the reader said nothing of them, and is not to rate them blind."""
    missing: tuple[Missing, ...]
    failed: tuple[Missing, ...]
    price: Price | None
    """Of missing and failed ones together; None where there are none."""

    @property
    def wordless(self) -> int:
        """Selected items without text, of which no cell can be rated."""
        return sum(not column.text for column in self.columns)

    @property
    def to_grade(self) -> int:
        return sum(one.cells for one in (*self.missing, *self.failed))

    @property
    def is_too_large(self) -> bool:
        return len(self.cells) > MOST_CELLS


def plan(
    bank: Bank, topic: Topic, rater: Rater, query: GridQuery, selection: Selection, *, reader: User
) -> BulkPlan:
    found = board(bank, topic, rater, query, reader)
    pks = found.pool.passage_pks
    rows = [row for row in found.rows if not selection.passages or pks[row] in selection.passages]
    columns = [one for one in found.chosen if not selection.items or one.pk in selection.items]
    worded = [one for one in columns if one.text]
    cells = tuple(Cell(topic.pk, one.revision_pk, pks[row]) for row in rows for one in worded)
    missing, failed = (_to_grade(found, rows, columns, value) for value in (MISSING, FAILED))
    gaps = [*missing, *failed]
    living = monitor.workers() if gaps else None
    return BulkPlan(
        rows=tuple(rows),
        columns=tuple(columns),
        selection=selection,
        cells=cells,
        unchecked=tuple(_unchecked(found, rows, worded)),
        missing=tuple(missing),
        failed=tuple(failed),
        price=price(bank.collection, gaps, workers=len(living.rows)) if living else None,
    )


def _to_grade(found: TopicGrid, rows: Some[int], columns: Some[GridColumn], value: int) -> list[Missing]:
    """The selected cells with this value, which no live job holds; none of a grader that nobody can ask."""
    cells: dict[GraderConfig, list[tuple[int, int]]] = {}
    for column in columns:
        config = found.rater.by_kind.get(column.kind)
        if config is None or not column.text or not can_ask(config):
            continue
        of_column = [row for row in rows if found.sheet.graded[row, column.at] == value]
        pairs = [(column.revision_pk, found.pool.passage_pks[row]) for row in of_column]
        cells.setdefault(config, []).extend(pairs)
    topic_id = found.pool.topic_id
    sought = [Missing(one, gaps_of({topic_id: pairs}), frozenset()) for one, pairs in cells.items() if pairs]
    (topic,) = Topic.objects.filter(pk=topic_id).select_related("collection")
    return [one for one in left_to_start(topic.collection, sought) if one.cells]


def _unchecked(
    found: TopicGrid, rows: Some[int], columns: Some[GridColumn]
) -> list[tuple[Cell, ShownRating]]:
    pairs, closed = [], found.said.keys() | found.blind
    for column in columns:
        config = found.rater.by_kind.get(column.kind)
        for row in rows if config is not None else ():
            rating, passage = int(found.sheet.graded[row, column.at]), found.pool.passage_pks[row]
            if config and rating >= 0 and (column.revision_pk, passage) not in closed:
                cell = Cell(found.pool.topic_id, column.revision_pk, passage)
                pairs.append((cell, ShownRating(config, rating)))
    return pairs
