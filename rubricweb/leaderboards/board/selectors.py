"""Compute the leaderboard: a function of bank, grader, runs and measure, stored in cold storage alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np
from django.db.models import Count, QuerySet
from numpy.typing import NDArray

from grading.arrays import divide, none_if_nan
from grading.graders.registry import BACKENDS
from grading.measures import registry
from grading.statistics.influence import TIED_DECIMALS, ranks
from grading.statistics.mean_intervals import Summary, marks, mean_and_stderr
from grading.statistics.rank_correlation import Correlation, kendall, pearson, spearman, tau_gap
from grading.statistics.rank_intervals import approximate_ranks
from rubricweb.banks.models import Item, VersionItem
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import OFFICIAL, Collection, Run, Topic
from rubricweb.corpus.official import Official, official_boards, with_topics
from rubricweb.corpus.pools import CACHED_TOPICS, CollectionPool, TopicPool
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.corpus.topic_pools import ordered_otherwise
from rubricweb.graders.calibration_cards import status
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.panels import is_panel, panel_members
from rubricweb.grades.scoring import MeasureSpec, ScoreTable, judged_counts, judgment_table
from rubricweb.leaderboards.board import (
    Board,
    BoardCorrelation,
    BoardRow,
    BoardSpec,
    ColumnScore,
    MeanBasis,
    MeasureColumn,
)
from rubricweb.leaderboards.board.certainty import Certainty, certainty, top
from rubricweb.leaderboards.board.estimated import KEPT
from rubricweb.leaderboards.board.kept import kept
from rubricweb.leaderboards.board.scores import (
    Basis,
    answered,
    basis,
    column_basis,
    counting_topics,
    current_shares,
    items_stamp,
    n_graded,
    score_column,
    score_units,
    scores_by_topic,
    topics_without_items,
)
from rubricweb.leaderboards.board.verified import Verified, verified

Floats = NDArray[np.float64]
Further = Sequence[tuple[MeasureColumn, Basis, Floats]]
"""Further columns with what they are scored on and their scores, shape (runs, units)."""


@dataclass(frozen=True, slots=True)
class Authors:
    """The runs of a board by what is known of the models behind them."""

    by_grader: frozenset[int]
    """Ids of runs that the model wrote or reranked which grades the board."""
    n_items: int
    """Items that it drafted."""
    closed_book: frozenset[int]
    """Ids of runs that answer without retrieval."""


def authors(spec: BoardSpec, pool: CollectionPool) -> Authors:
    ours = set(pool.run_pks)
    rows = [row for row in _runs(spec.collection.pk) if row.pk in ours]
    models = [config.llm for config in _graders(spec)]
    return Authors(
        frozenset(row.pk for row in rows if any(is_same_model(row.llm, name) for name in models)),
        _items_by(spec),
        frozenset(row.pk for row in rows if row.is_closed_book),
    )


@read_once
def _runs(collection_id: int) -> list[Any]:
    """Return the accepted runs with where they are from."""
    return _accepted(collection_id)


@compiled_once
def _accepted(collection: int) -> QuerySet[Run, Any]:
    runs = Run.objects.accepted().filter(collection=collection)
    return runs.values_list("pk", "task", "team", "llm", "is_closed_book", named=True)


def is_same_model(name: str, other: str) -> bool:
    """Return whether two names are of one model, wherever it is kept; two empty names are of none.

    >>> is_same_model("meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama-3-8b-instruct")
    True
    """
    first, second = (path.rstrip("/").rsplit("/", 1)[-1].lower() for path in (name, other))
    return bool(first) and first == second


def _graders(spec: BoardSpec) -> list[GraderConfig]:
    """Return who grades: the members of a panel."""
    return panel_members(spec.config) if is_panel(spec.config) else [spec.config]


def _has_model(config: GraderConfig) -> bool:
    backend = BACKENDS.get(config.backend)
    return backend is None or backend.needs_model


def _items_by(spec: BoardSpec) -> int:
    """Return how many items of the bank the grading model drafted."""
    models = [config.llm for config in _graders(spec) if _has_model(config)]
    if spec.bank is None or not models:
        return 0
    by_model = _drafted(spec.bank.pk) if spec.version is None else _drafted_of(spec.version.pk)
    of_kinds = [(llm, n) for llm, kind, n in by_model if kind in spec.kinds]
    return sum(n for llm, n in of_kinds if any(is_same_model(llm, name) for name in models))


@compiled_once
def _drafted(bank: int) -> QuerySet[Item, Any]:
    """Return how many items models drafted: model, kind, number."""
    items: QuerySet[Item] = Item.including_secret.active().filter(bank=bank).exclude(draft__request__llm=None)
    return items.order_by().values_list("draft__request__llm", "kind").annotate(Count("pk"))


@compiled_once
def _drafted_of(version: int) -> QuerySet[VersionItem, Any]:
    entries: QuerySet[VersionItem] = VersionItem.including_secret.filter(version=version)
    entries = entries.exclude(item__draft__request__llm=None)
    return entries.order_by().values_list("item__draft__request__llm", "item__kind").annotate(Count("pk"))


def board(spec: BoardSpec) -> Board:
    """Score and rank every run of the collection."""
    calibration = status(spec.bank, spec.config, spec.version) if spec.bank else None
    return replace(kept(spec, _computed), calibration=calibration)


def _computed(spec: BoardSpec) -> Board:
    base, k = basis(spec), spec.measure.judged_at
    table = score_units(base, spec.measure)
    further = _further(base)
    texts = dict(_texts(spec.collection.pk))
    topics, columns = counting_topics(base, table.scores, texts)
    measured = _Measured(
        certainty=_certainty(table, spec),
        verified=verified(base, k),
        authors=authors(spec, base.pool),
        judged=judged_shares(base, k),
        current=current_shares(base, k),
        others=[mean_and_stderr(scores) for *_, scores in further],
        by_topic=scores_by_topic(table.scores, columns),
    )
    counted, certain = _counted(base, spec.measure, table.scores), measured.certainty
    return Board(
        spec=spec,
        rows=_rows(base, table, measured),
        n_topics=counted.n_topics,
        n_left_out=counted.n_left_out,
        n_undefined=counted.n_undefined,
        n_items=sum(len(uids) for uids in base.items.values()),
        items_stamp=items_stamp(base.pool, base.items),
        judged_at=k,
        correlations=_correlations(spec, base.pool, table, certain),
        n_vital=sum(items.n_vital for items in base.topic_items.values()),
        columns=tuple(_counted(of, column.measure, scores) for column, of, scores in further),
        marks=marks(np.round(table.means(), TIED_DECIMALS)),
        top=top(table.run_tags, table.scores, certain),
        topics=topics,
        without_items=topics_without_items(base, texts),
        n_graded=n_graded(base),
        test=certain.test if certain else spec.test,
        monte_carlo=(certain.error_of_p, certain.error_of_ends) if certain else None,
        verified=(measured.verified.cells, measured.verified.of),
        sample=measured.verified.sample,
        n_items_by_grader=measured.authors.n_items,
    )


@compiled_once
def _texts(collection: int) -> QuerySet[Topic, tuple[int, str]]:
    return Topic.objects.filter(collection=collection).values_list("pk", "text")


def _further(base: Basis) -> Further:
    bases = ((column, column_basis(base, column)) for column in base.spec.columns)
    return [(column, of, score_column(of, column).scores) for column, of in bases]


def run_origins(collection: Collection) -> dict[int, str]:
    """Return, by run, its task and team; nothing for readers who know runs by pseudonyms."""
    if shown_names(collection.pk, ("",)) != ("",):
        return {}
    return {row.pk: " · ".join(filter(None, (row.task, row.team))) for row in _runs(collection.pk)}


def of_judgments(measure: MeasureSpec) -> MeasureSpec:
    """Return the measure that human judgments are scored by beside this one."""
    name = measure.name if measure.uses_labels else registry.DEFAULT_OF_LABELS
    return MeasureSpec(name, trec_eval=measure.trec_eval)


def judged_by(measure: MeasureSpec, level: int) -> str:
    """Return the name of a measure of judgments, with the first relevant one where it plays a part.

    >>> judged_by(MeasureSpec("P_20"), 2), judged_by(MeasureSpec("ndcg_cut_10"), 2)
    ('P_20, relevant from 2', 'ndcg_cut_10, gains are the judgments')
    """
    by = "gains are the judgments" if measure.takes_gains else f"relevant from {level}"
    return f"{measure.name}, {by}"


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was computed of the runs beside their scores; arrays have shape (runs,)."""

    certainty: Certainty | None
    verified: Verified
    authors: Authors
    judged: Floats
    current: Floats
    others: Sequence[Summary]
    """By the further columns."""
    by_topic: Sequence[tuple[float | None, ...]]
    """Scores of each run on the topics that count."""


def _certainty(table: ScoreTable, spec: BoardSpec) -> Certainty | None:
    if not spec.measure.bootstraps_by_topic:
        return None
    return certainty(table.scores, spec.test, less_is_better=spec.measure.registered.less_is_better)


def _counted(base: Basis, measure: MeasureSpec, scores: NDArray[np.float64]) -> MeanBasis:
    """Return how many topics or subtopics the means of scores, shape (runs, units), go over."""
    counted = np.asarray((~np.isnan(scores)).any(axis=0), dtype=np.bool_)
    undefined = 0
    if not measure.uses_labels:
        has_items = np.array([bool(part.uids) for _, part in base.units()], dtype=np.bool_)
        undefined = int((has_items & ~counted).sum())
    return MeanBasis(int(counted.sum()), int((~counted).sum()), undefined)


def _rows(base: Basis, table: ScoreTable, measured: _Measured) -> tuple[BoardRow, ...]:
    means, stderrs, n_topics = mean_and_stderr(table.scores)
    has_ranking = answered(topic for topic, _ in base.units()).reshape(table.scores.shape)
    n_answered = (has_ranking & ~np.isnan(table.scores)).sum(axis=1)
    places = ranks(base.spec.measure.merits(means))
    shared = np.bincount(places, minlength=1)
    otherwise = np.zeros(len(places), dtype=np.int64)
    for topic in base.pool.topics if base.spec.uses_labels else ():
        otherwise += ordered_otherwise(topic)
    certainty, authors = measured.certainty, measured.authors
    rows = []
    for run, (run_id, tag) in enumerate(zip(base.pool.run_pks, base.pool.run_tags, strict=True)):
        first, last = certainty.possible(run) if certainty else (None, None)
        is_behind = None
        if certainty and certainty.order.has_mean[run]:
            is_behind = bool(certainty.order.behind_first[run])
        row = BoardRow(
            run_id=run_id,
            run_tag=tag,
            rank=int(places[run]),
            is_tied=bool(shared[places[run]] > 1),
            score=none_if_nan(means[run]),
            stderr=none_if_nan(stderrs[run]),
            n_topics=int(n_topics[run]),
            n_answered=int(n_answered[run]),
            judged=none_if_nan(measured.judged[run]),
            first=first,
            last=last,
            is_behind=is_behind,
            low=none_if_nan(certainty.intervals.low[run]) if certainty else None,
            high=none_if_nan(certainty.intervals.high[run]) if certainty else None,
            verified=none_if_nan(measured.verified.shares[run]),
            estimate=measured.verified.estimates[run],
            current=none_if_nan(measured.current[run]),
            others=tuple(
                ColumnScore(
                    none_if_nan(other.mean[run]), none_if_nan(other.stderr[run]), int(other.n_topics[run])
                )
                for other in measured.others
            ),
            is_closed_book=run_id in authors.closed_book,
            is_by_grader=run_id in authors.by_grader,
            n_otherwise=int(otherwise[run]),
            by_topic=measured.by_topic[run],
        )
        rows.append(row)
    return tuple(sorted(rows, key=lambda row: (row.rank, row.run_tag)))


def judged_shares(base: Basis, k: int) -> NDArray[np.float64]:
    """Return graded / ranked passages of the first k over the topics with items, shape (runs,).

    NaN for a run without any.
    """
    totals = np.zeros((2, len(base.pool.run_tags)))
    for topic in base.pool.topics:
        if uids := base.items.get(topic.topic_id):
            totals += judged_counts(base.grades[topic.topic_id], uids, k)
    graded, ranked = totals
    return divide(graded, ranked)


def _correlations(
    spec: BoardSpec, pool: CollectionPool, table: ScoreTable, certain: Certainty | None
) -> tuple[BoardCorrelation, ...]:
    correlations = []
    better = certain.order.better if certain and certain.can_tell else None
    ours = _merits(table, spec.measure)
    if any(topic.judgments for topic in pool.topics):
        measure, level = of_judgments(spec.measure), spec.collection.min_relevant
        theirs = _merits(judged_runs(pool, measure, level), measure)
        correlations.append(_correlation("human judgments", judged_by(measure, level), ours, theirs))
    for official in official_boards(spec.collection, spec.runs):
        against = "official leaderboard" if official.name == OFFICIAL else official.name
        scores, over = _official_scores(spec, pool, official)
        agreement = _correlation(against, f"{official.kind}{over}", ours, scores)
        placed = tuple(approximate_ranks(ours, official.ranks_by(scores), better))
        correlations.append(replace(agreement, source=official.source, placed=placed))
    return tuple(correlations)


def judged_runs(pool: CollectionPool, measure: MeasureSpec, level: int) -> ScoreTable:
    """Score by judgments the runs that rank a judged passage: of others the judgments say nothing, not 0.

    `level` is the first relevant judgment.
    """
    table = judgment_table(pool, measure, level=level)
    is_judged = np.zeros(len(table.run_tags), dtype=np.bool_)
    for topic in pool.topics:
        is_judged |= _ranks_judged(topic)
    run_tags = tuple(compress(table.run_tags, is_judged))
    return replace(table, run_tags=run_tags, scores=table.scores[is_judged])


@lru_cache(maxsize=CACHED_TOPICS)
def _ranks_judged(topic: TopicPool) -> NDArray[np.bool_]:
    """Return which runs rank a judged passage of the topic, shape (runs,)."""
    return np.asarray(np.isin(topic.rankings.rows, topic.judged.rows).any(axis=1))


def _merits(table: ScoreTable, measure: MeasureSpec) -> dict[str, float]:
    """Return the runs' means such that higher is better."""
    means = measure.merits(np.round(table.means(), TIED_DECIMALS))
    return dict(zip(table.run_tags, means.tolist(), strict=True))


def _official_scores(
    spec: BoardSpec, pool: CollectionPool, official: Official
) -> tuple[Mapping[str, float], str]:
    """Return its scores on the topics of the board, and in words that they are of others."""
    if spec.is_of_all_topics:
        return official.scores, ""
    query_ids = [topic.query_id for topic in pool.topics]
    on_topics = with_topics(spec.collection, official, spec.runs).scores_on(query_ids)
    return (on_topics, "") if on_topics else (official.scores, ", over all its topics")


def _correlation(
    against: str, measure: str, ours: Mapping[str, float], theirs: Mapping[str, float]
) -> BoardCorrelation:
    both = tuple((run_tag, theirs[run_tag]) for run_tag in ours if run_tag in theirs)
    coefficients = _coefficients(tuple(ours.items()), tuple(theirs.items()))
    return BoardCorrelation(against, measure, *coefficients, both)


@lru_cache(maxsize=KEPT)
def _coefficients(
    ours: tuple[tuple[str, float], ...], theirs: tuple[tuple[str, float], ...]
) -> tuple[Correlation, Correlation, Correlation, Correlation]:
    """Return rho, tau, tau-GAP and r of two boards, each the merits by run tag."""
    pair = dict(ours), dict(theirs)
    return spearman(*pair), kendall(*pair), tau_gap(*pair), pearson(*pair)
