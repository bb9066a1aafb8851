"""One cell as the grid prints it, without the topic's matrices: a person waits for it after each rating."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grading.types import MISSING, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, ItemChange
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.human_matrices import Source, decided
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.grades.visibility import hidden_of_cell
from rubricweb.review.flags.selectors import open_counts
from rubricweb.review.selectors.grid import TopicGrid, columns_of, graded_by_kind
from rubricweb.review.selectors.grid_query import GridQuery
from rubricweb.review.selectors.layers import CheckedSheet, OwnRating, confidences_of
from rubricweb.review.selectors.window import GridCell, GridColumn


def one_cell(bank: Bank, topic: Topic, rater: Rater, query: GridQuery, reader: User) -> GridCell | None:
    """Return the cell that `query.at` names."""
    collection = collection_pool(bank.collection)
    pool = collection.by_topic[topic.pk]
    passage, item = query.at or (0, 0)
    columns = [replace(column, at=0) for column in columns_of(bank, topic, query) if column.pk == item]
    if passage not in pool.passage_pks or not columns:
        return None
    row, (column,) = pool.passage_pks.index(passage), columns
    config = rater.by_kind.get(column.kind)
    grades = graded_by_kind(collection, topic, rater).get(column.kind)
    events = HumanGrade.objects.filter(revision=column.revision_pk, passage=passage).order_by("number")
    place = (column.revision_pk, passage)
    hidden = hidden_of_cell(reader, topic, *place)
    events = events.filter(by=reader) if hidden.people else events
    now = {event.by_id: event for event in events}
    sheet = _sheet(_of_grader(config, grades, column, row), config, list(now.values()), reader)
    sheet = replace(sheet, ratings=_shown(sheet, Source(query.source)))
    mine = now.get(reader.pk)
    last = OwnRating(mine.number, mine.rating, mine.verdict, mine.is_withdrawn) if mine else None
    own = {place: last} if last else {}
    grid = TopicGrid(collection, pool, (column,), sheet, own, rater, query, hidden)
    return grid.window([column], [row], open_counts(bank.pk, topic.pk)).cells(row, 0)[0]


Graded = tuple[int, int, bool]
"""The grader's rating and confidence, and whether it rated an older wording."""


def _of_grader(
    config: GraderConfig | None, grades: TopicGrades | None, column: GridColumn, row: int
) -> Graded:
    if config is None or grades is None:
        return MISSING, MISSING, False
    changes = ItemChange.objects.filter(item=column.pk).exclude(revision=column.revision_pk)
    older = sorted(set(changes.values_list("revision__uid", flat=True)))
    return (
        int(grades.matrix.columns([column.uid]).ratings[row, 0]),
        int(confidences_of(config, grades).columns([column.uid]).ratings[row, 0]),
        bool((grades.matrix.columns(older).ratings[row] >= 0).any()),
    )


def _sheet(
    graded: Graded, config: GraderConfig | None, events: list[HumanGrade], reader: User
) -> CheckedSheet:
    """`events` are each person's latest of the cell."""
    rating, confidence, is_older = graded
    standing = sorted((event for event in events if not event.is_withdrawn), key=lambda event: event.pk)
    people = decided(standing)
    is_wrong = config is not None and any(
        event.rating is None and (event.config_id, event.seen_rating) == (config.pk, rating)
        for event in standing
    )
    return CheckedSheet(
        _one(rating),
        np.zeros(1, dtype=np.int16),
        min_relevant=0,
        min_grades=_one(MISSING)[0],  # one cell alone is not measured
        graded=_one(rating),
        people=_one(MISSING if people is None else people),
        checked=np.array([[people is not None or is_wrong]]),
        confidences=_one(confidence),
        older=np.array([[is_older]]),
        mine=np.array([[any(event.by_id == reader.pk for event in standing)]]),
    )


def _one(value: int) -> Ratings:
    return np.full((1, 1), value, dtype=np.int8)


def _shown(sheet: CheckedSheet, source: Source) -> Ratings:
    by_people = source is Source.HUMANS or (source is Source.CORRECTED and sheet.checked.any())
    return sheet.people if by_people else sheet.graded
