"""The card of one item beside the grid.

It says how the item is covered, which passages should not cover it, and what retiring it would do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grading.arrays import undefined_last
from grading.types import Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import parse_id
from rubricweb.corpus.models import Topic
from rubricweb.editor.what_if import WhatIf, what_if
from rubricweb.grades.raters import Rater
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.topic_ratings import Mask
from rubricweb.review.models import Flag, FlagEvent
from rubricweb.review.selectors.grid import TopicGrid, topic_grid
from rubricweb.review.selectors.grid_query import GridQuery
from rubricweb.review.selectors.window import GridColumn, excerpts

SHOWN_PASSAGES = 8
BAR_HEIGHT = 40
FIRST_SUSPECT = "spurious"
"""Names, in the address, the item that passages judged not relevant cover most often."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Passages of one grade: relevant ones above the axis, those judged not relevant below."""

    grade: int
    relevant: int
    not_relevant: int
    up: int
    """Pixels."""
    down: int
    covers: bool


@dataclass(frozen=True, slots=True)
class WronglyCovered:
    """A passage judged not relevant that covers the item."""

    passage_pk: int
    doc_id: str
    rating: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class ItemCard:
    item: Item
    column: GridColumn
    of_kind: int
    before: GridColumn | None
    after: GridColumn | None
    bars: tuple[Bar, ...]
    relevant: int
    """Graded passages that are judged relevant."""
    relevant_covering: int
    not_relevant: int
    not_relevant_covering: int
    wrongly: tuple[WronglyCovered, ...]
    """The first of `not_relevant_covering`, the highest grades first."""
    reasons: tuple[FlagEvent, ...]
    """Comments of those who flagged it as spurious."""
    what_if: WhatIf | None
    """The effect of retiring it; None if no grader grades its kind."""


def item_card(
    bank: Bank, topic: Topic, rater: Rater, query: GridQuery, *, name: str, reader: User
) -> ItemCard | None:
    """Return the card of the item with this key, or of the first suspect; None where the topic has none."""
    grid = topic_grid(bank, topic, rater, query, reader)
    column = _named(grid, name)
    if column is None:
        return None
    at, fellows = grid.items.index(column), [other for other in grid.items if other.kind == column.kind]
    sheet, ratings, covers = grid.sheet, grid.sheet.ratings[:, column.at], grid.sheet.covers[:, column.at]
    graded = ratings >= 0
    relevant, not_relevant = graded & sheet.relevant, graded & sheet.not_relevant
    item = bank.items.select_related("revision", "topic", "bank__collection").get(pk=column.pk)
    config = rater.rating_config(column.kind)
    measure = MeasureSpec(min_grade=int(sheet.min_grades[column.at]))
    return ItemCard(
        item=item,
        column=column,
        of_kind=len(fellows),
        before=grid.items[at - 1] if at else None,
        after=grid.items[at + 1] if at + 1 < len(grid.items) else None,
        bars=_bars(ratings, relevant, not_relevant, sheet.highest, measure.min_grade),
        relevant=int(relevant.sum()),
        relevant_covering=int((relevant & covers).sum()),
        not_relevant=int(not_relevant.sum()),
        not_relevant_covering=int((not_relevant & covers).sum()),
        wrongly=_wrongly(grid, ratings, not_relevant & covers),
        reasons=_reasons(item),
        what_if=what_if(item, config, measure) if config else None,
    )


def _named(grid: TopicGrid, name: str) -> GridColumn | None:
    if name == FIRST_SUSPECT:
        return max(grid.items, key=lambda column: undefined_last(column.spurious), default=None)
    return next((column for column in grid.items if column.pk == parse_id(name)), None)


def _bars(ratings: Ratings, relevant: Mask, not_relevant: Mask, highest: int, least: int) -> tuple[Bar, ...]:
    counts = [
        (grade, int((relevant & (ratings == grade)).sum()), int((not_relevant & (ratings == grade)).sum()))
        for grade in range(highest + 1)
    ]
    # Grade 0 is most of the pool: bars of the others would vanish beside it.
    tallest = max([1, *(max(above, below) for grade, above, below in counts if grade)])
    heights = [[min(BAR_HEIGHT, round(BAR_HEIGHT * n / tallest)) for n in pair] for _, *pair in counts]
    return tuple(
        Bar(*count, up=up, down=down, covers=count[0] >= least)
        for count, (up, down) in zip(counts, heights, strict=True)
    )


def _wrongly(grid: TopicGrid, ratings: Ratings, mask: Mask) -> tuple[WronglyCovered, ...]:
    rows = sorted(np.flatnonzero(mask).tolist(), key=lambda row: (-ratings[row], row))[:SHOWN_PASSAGES]
    pool = grid.pool
    excerpt_by_pk = excerpts(pool.passage_pks[row] for row in rows)
    return tuple(
        WronglyCovered(pk, pool.doc_ids[row], int(ratings[row]), excerpt_by_pk.get(pk, ""))
        for row in rows
        for pk in [pool.passage_pks[row]]
    )


def _reasons(item: Item) -> tuple[FlagEvent, ...]:
    """Return the texts of open flags on the item itself.

    A flag on a cell may tell of a rating that the reader must not see.
    """
    opened = FlagEvent.objects.filter(
        verb=FlagEvent.Verb.OPENED,
        flag__item=item,
        flag__passage=None,
        flag__kind=Flag.Kind.SPURIOUS,
        flag__resolved_at=None,
    )
    return tuple(opened.exclude(text="").select_related("by").order_by("-at"))
