"""The leaderboard: a function of bank, grader, runs and measure. Nothing of it is stored."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from grading.measures.influence import TIED_DECIMALS, ranks
from grading.measures.rank_correlation import kendall, spearman
from grading.measures.uncertainty import mean_and_stderr
from rubricweb.corpus.models import OFFICIAL, Run
from rubricweb.corpus.official import official_boards
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.scoring import Measure, ScoreTable, Uids, judged_counts, judgment_table, score_table
from rubricweb.grades.selectors import graded_items, items_by_topic
from rubricweb.leaderboards.boards import Board, BoardCorrelation, BoardRow, BoardSpec, TopicRow

JUDGED_MEASURE = "ndcg_cut_10"
"""What human judgments are scored by where the board's own measure is not one of labels."""
_AT_CUTOFF = re.compile(r"_([0-9]+)$")

Items = Mapping[int, Uids]


def board(spec: BoardSpec) -> Board:
    """Score and rank every run of the collection."""
    pool = collection_pool(spec.collection)
    items = items_of(spec)
    grades = matrices(spec.config, pool)
    table = score_table(pool, grades, items, spec.measure)
    counted = np.asarray(~np.isnan(table.scores).all(axis=0), dtype=np.bool_)
    k = judged_at(spec.measure)
    rows = _rows(pool, table, counted, _judged(pool, grades, items, k))
    return Board(
        spec=spec,
        rows=rows,
        n_topics=int(counted.sum()),
        n_left_out=int((~counted).sum()),
        n_items=sum(len(uids) for uids in items.values()),
        items_stamp=items_stamp(pool, items),
        judged_at=k,
        correlations=_correlations(spec, pool, table),
    )


def run_topics(spec: BoardSpec, run: Run) -> list[TopicRow]:
    """The run's score on every topic that counts, in the collection's order."""
    pool = collection_pool(spec.collection)
    items = items_of(spec)
    scores = score_table(pool, matrices(spec.config, pool), items, spec.measure).scores
    index = pool.run_pks.index(run.pk)
    texts = dict(spec.collection.topics.values_list("pk", "text"))
    return [
        TopicRow(
            topic_id=topic.topic_id,
            query_id=topic.query_id,
            text=texts[topic.topic_id],
            score=float(scores[index, column]),
            mean=float(scores[:, column].mean()),
            best=float(scores[:, column].max()),
            is_answered=bool(topic.ranked[index]),
        )
        for column, topic in enumerate(pool.topics)
        if not np.isnan(scores[index, column])
    ]


def items_of(spec: BoardSpec) -> Items:
    """By topic id: the items that the board stands on."""
    if spec.bank is None:
        return graded_items(spec.config, None, spec.collection)
    return items_by_topic(spec.bank, spec.kinds)


def items_stamp(pool: CollectionPool, items: Items) -> str:
    """Twelve digits that change with the item set, and with nothing else."""
    digest = hashlib.sha256()
    for topic in pool.topics:
        for uid in sorted(items.get(topic.topic_id, ())):
            digest.update(f"{topic.query_id}\n{uid}\n".encode())
    return digest.hexdigest()[:12]


def judged_at(measure: Measure) -> int:
    """The depth that `judged@k` looks at: the measure's own where it has one, else the cutoff."""
    found = None if measure.is_cover else _AT_CUTOFF.search(measure.name)
    return int(found[1]) if found else measure.cutoff


def _rows(
    pool: CollectionPool, table: ScoreTable, counted: NDArray[np.bool_], judged: NDArray[np.float64]
) -> tuple[BoardRow, ...]:
    means, stderrs, n_topics = mean_and_stderr(table.scores)
    answered = np.array([[bool(ids) for ids in topic.ranked] for topic in pool.topics], dtype=np.bool_)
    n_answered = answered[counted].sum(axis=0) if counted.any() else np.zeros(len(pool.run_tags), dtype=int)
    places = ranks(means)
    shared = np.bincount(places, minlength=1)
    rows = [
        BoardRow(
            run_id=pool.run_pks[run],
            run_tag=tag,
            rank=int(places[run]),
            is_tied=bool(shared[places[run]] > 1),
            score=_defined(means[run]),
            stderr=_defined(stderrs[run]),
            n_topics=int(n_topics[run]),
            n_answered=int(n_answered[run]),
            judged=_defined(judged[run]),
        )
        for run, tag in enumerate(pool.run_tags)
    ]
    return tuple(sorted(rows, key=lambda row: (row.rank, row.run_tag)))


def _judged(
    pool: CollectionPool, grades: Mapping[int, TopicGrades], items: Items, k: int
) -> NDArray[np.float64]:
    """Shape (runs,): graded / ranked passages of the first k, over the topics with items; NaN without any."""
    totals = np.zeros((2, len(pool.run_tags)))
    for topic in pool.topics:
        if uids := items.get(topic.topic_id):
            totals += judged_counts(grades[topic.topic_id], uids, k)
    graded, ranked = totals
    shares: NDArray[np.float64] = np.full(len(ranked), np.nan)
    return np.divide(graded, ranked, out=shares, where=ranked > 0)


def _correlations(spec: BoardSpec, pool: CollectionPool, table: ScoreTable) -> tuple[BoardCorrelation, ...]:
    found = []
    ours = dict(zip(table.run_tags, np.round(table.means(), TIED_DECIMALS).tolist(), strict=True))
    if any(topic.judgments for topic in pool.topics):
        name = JUDGED_MEASURE if spec.measure.is_cover else spec.measure.name
        level = spec.collection.min_relevant
        judged = judgment_table(pool, Measure(name), level=level)
        theirs = dict(zip(judged.run_tags, np.round(judged.means(), TIED_DECIMALS).tolist(), strict=True))
        found.append(_correlation("human judgments", f"{name}, relevant from {level}", ours, theirs))
    for official in official_boards(spec.collection):
        against = "official leaderboard" if official.name == OFFICIAL else official.name
        found.append(_correlation(against, official.kind, ours, official.scores))
    return tuple(found)


def _correlation(
    against: str, measure: str, ours: Mapping[str, float], theirs: Mapping[str, float]
) -> BoardCorrelation:
    return BoardCorrelation(against, measure, spearman(ours, theirs), kendall(ours, theirs))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
