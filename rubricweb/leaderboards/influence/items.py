"""Each item: how hard it is, whether it tells good from bad, and what the board would be without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.measures.diagnostics import (
    as_answers,
    difficulty,
    discrimination,
    redundant_pairs,
    rest_means,
)
from grading.measures.influence import Dependent, Influence, dependents, influences, means_without
from grading.measures.rubric_cover import covered_items
from rubricweb.banks.models import ItemRevision
from rubricweb.grades.scoring import topic_labels, topic_scores
from rubricweb.leaderboards.items import NOTHING, Asked
from rubricweb.leaderboards.scored import Scored, only

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item of one topic. Numbers are None where they are undefined."""

    topic_id: int
    query_id: str
    uid: str
    by_runs: float | None
    """Share of the runs that cover it."""
    by_passages: float | None
    """Share of its rated passages that reach the threshold."""
    tells_runs: float | None
    """Corrected item-total correlation over runs."""
    tells_passages: float | None
    """The same over the passages of the pool."""
    influence: Influence


@dataclass(frozen=True, slots=True)
class DependentRow:
    """A run whose place changes with one item."""

    run_tag: str
    row: ItemRow
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two items of a topic that nearly the same passages answer."""

    topic_id: int
    query_id: str
    first: str
    second: str
    overlap: float
    n_both: int
    n_either: int


@dataclass(frozen=True, slots=True)
class Influences:
    rows: list[ItemRow]
    dependents: list[DependentRow]


def item_influences(made: Scored, *, topic_id: int | None = None) -> Influences:
    """Of all items, or of one topic's."""
    board = made.means
    rows: list[ItemRow] = []
    boards: list[Floats] = []
    for place, (topic, asked) in enumerate(made.base.units()):
        if not asked.uids or (topic_id is not None and topic.topic_id != topic_id):
            continue
        without = np.round(means_without(made.table.scores, place, _scores_without(made, place, asked)), 12)
        boards.append(without)
        rows += _rows(made, place, without)
    if not rows:
        return Influences([], [])
    found = dependents(board, np.concatenate(boards))
    return Influences(rows, [_dependent(made, rows, one) for one in found])


def pairs(made: Scored) -> list[PairRow]:
    """Redundant pairs of all topics, most alike first."""
    found = []
    for topic, asked in made.base.units():
        ratings = made.base.grades[topic.topic_id].matrix.columns(asked.uids).ratings
        for pair in redundant_pairs(ratings, min_grade=made.spec.measure.min_grade):
            first, second = asked.uids[pair.first], asked.uids[pair.second]
            found.append(
                PairRow(
                    topic.topic_id, topic.query_id, first, second, pair.overlap, pair.n_both, pair.n_either
                )
            )
    return sorted(found, key=lambda pair: (-pair.overlap, -pair.n_both))


def _scores_without(made: Scored, place: int, asked: Asked) -> Floats:
    """Shape (items, runs): the topic's scores without each item; NaN where no item is left."""
    topic, _ = made.base.units()[place]
    grades, measure = made.base.grades[topic.topic_id], made.spec.measure
    whole, known = made.table.scores[:, place], dict[str, int]()
    if measure.is_trec:
        known = topic_labels(grades, asked.uids, measure)
    found = []
    for uid in asked.uids:
        rest = only(asked, [other for other in asked.uids if other != uid])
        if not rest.uids:
            found.append(np.full(len(whole), np.nan))
        elif measure.is_trec and topic_labels(grades, rest.uids, measure) == known:
            found.append(whole)  # no label hangs on this item
        else:
            found.append(topic_scores(grades, rest.uids, measure, rest.weights))
    return np.array(found)


def _rows(made: Scored, place: int, without: Floats) -> list[ItemRow]:
    topic, asked = made.base.units()[place]
    measure = made.spec.measure
    ratings = made.base.grades[topic.topic_id].matrix.columns(asked.uids).ratings
    by_run = covered_items(ratings, topic.ranked_rows, cutoff=measure.cutoff, min_grade=measure.min_grade)
    runs, passages = by_run.astype(np.float64), as_answers(ratings, measure.min_grade)
    easy_runs, easy_passages = difficulty(runs), difficulty(passages)
    tells_runs = discrimination(runs, without.T)
    tells_passages = discrimination(passages, rest_means(passages))
    effects = influences(made.means, without)
    return [
        ItemRow(
            topic_id=topic.topic_id,
            query_id=topic.query_id,
            uid=uid,
            by_runs=_defined(easy_runs[item]),
            by_passages=_defined(easy_passages[item]),
            tells_runs=_defined(tells_runs[item]),
            tells_passages=_defined(tells_passages[item]),
            influence=effects[item],
        )
        for item, uid in enumerate(asked.uids)
    ]


def _dependent(made: Scored, rows: list[ItemRow], one: Dependent) -> DependentRow:
    return DependentRow(made.run_tags[one.run], rows[one.item], one.before, one.after)


def item_texts(made: Scored) -> dict[tuple[int, str], str]:
    """By topic id and uid; an item whose words are not known goes by its id."""
    topics = [topic.topic_id for topic, asked in made.base.units() if asked != NOTHING]
    rows = ItemRevision.objects.filter(topic__in=topics).values_list("topic_id", "uid", "text")
    return {(topic_id, uid): text or uid for topic_id, uid, text in rows}


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
