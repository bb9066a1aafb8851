"""What an action on the selected cells would do, computed before anybody does it."""

from __future__ import annotations

from collections.abc import Collection as Some
from dataclasses import dataclass

from grading.types import FAILED, MISSING
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Topic
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.gaps import gaps_of
from rubricweb.grades.engine.missing import Missing
from rubricweb.grades.engine.price import price
from rubricweb.grades.engine.stages import can_ask, left_to_start
from rubricweb.grades.human_ratings import Cell, ShownRating
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.jobs.progress import Price
from rubricweb.review.selectors.grid import TopicGrid, topic_grid
from rubricweb.review.selectors.grid_query import GridQuery
from rubricweb.review.selectors.window import GridColumn

MOST_CELLS = 5_000
"""How many cells may be found right or assigned at once; nobody looks at more."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The ticked passages and items; where none is ticked, all that the filters show are selected."""

    passages: frozenset[int]
    items: frozenset[int]


@dataclass(frozen=True, eq=False)
class BulkPlan:
    """The selected cells."""

    rows: tuple[int, ...]
    """Rows of the pool."""
    columns: tuple[GridColumn, ...]
    selection: Selection
    cells: tuple[Cell, ...]
    unchecked: tuple[tuple[Cell, ShownRating], ...]
    """Cells that the grader rated, the reader has not, and the reader need not rate blind."""
    missing: tuple[Missing, ...]
    failed: tuple[Missing, ...]
    price: Price | None
    """Of the missing and failed cells together; None without any."""

    @property
    def wordless(self) -> int:
        """Selected items without text; their cells cannot be rated."""
        return sum(not column.text for column in self.columns)

    @property
    def to_grade(self) -> int:
        return sum(missing.cells for missing in (*self.missing, *self.failed))

    @property
    def is_too_large(self) -> bool:
        return len(self.cells) > MOST_CELLS


def plan(
    bank: Bank, topic: Topic, rater: Rater, query: GridQuery, selection: Selection, *, reader: User
) -> BulkPlan:
    grid = topic_grid(bank, topic, rater, query, reader)
    pks = grid.pool.passage_pks
    rows = [row for row in grid.rows if not selection.passages or pks[row] in selection.passages]
    columns = [column for column in grid.chosen if not selection.items or column.pk in selection.items]
    worded = [column for column in columns if column.text]
    cells = tuple(Cell(topic.pk, column.revision_pk, pks[row]) for row in rows for column in worded)
    missing, failed = (_to_grade(grid, rows, columns, value) for value in (MISSING, FAILED))
    gaps = [*missing, *failed]
    living = monitor.workers() if gaps else None
    return BulkPlan(
        rows=tuple(rows),
        columns=tuple(columns),
        selection=selection,
        cells=cells,
        unchecked=tuple(_unchecked(grid, rows, worded)),
        missing=tuple(missing),
        failed=tuple(failed),
        price=price(bank.collection, gaps, living.beats) if living else None,
    )


def _to_grade(grid: TopicGrid, rows: Some[int], columns: Some[GridColumn], value: int) -> list[Missing]:
    """Return the selected cells with this value that can be graded and are in no live job."""
    cells: dict[GraderConfig, list[tuple[int, int]]] = {}
    for column in columns:
        config = grid.rater.by_kind.get(column.kind)
        if config is None or not grid.rater.can_grade(column.column) or not can_ask(config):
            continue
        of_column = [row for row in rows if grid.sheet.graded[row, column.at] == value]
        pairs = [(column.revision_pk, grid.pool.passage_pks[row]) for row in of_column]
        cells.setdefault(config, []).extend(pairs)
    topic_id = grid.pool.topic_id
    sought = [
        Missing(missing, gaps_of({topic_id: pairs}), frozenset()) for missing, pairs in cells.items() if pairs
    ]
    (topic,) = Topic.objects.filter(pk=topic_id).select_related("collection")
    return [missing for missing in left_to_start(topic.collection, sought) if missing.cells]


def _unchecked(grid: TopicGrid, rows: Some[int], columns: Some[GridColumn]) -> list[tuple[Cell, ShownRating]]:
    pairs, closed = [], grid.own.keys() | grid.hidden.graders
    if grid.rater.verifies:  # answers are checked one by one, beside their keys
        return []
    for column in columns:
        config = grid.rater.by_kind.get(column.kind)
        for row in rows if config is not None else ():
            rating, passage = int(grid.sheet.graded[row, column.at]), grid.pool.passage_pks[row]
            if config and rating >= 0 and (column.revision_pk, passage) not in closed:
                cell = Cell(grid.pool.topic_id, column.revision_pk, passage)
                pairs.append((cell, ShownRating(config, rating)))
    return pairs
