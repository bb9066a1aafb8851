"""Correlate many boards with one other board, as a table, and one measure in detail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.mean_intervals import MIN_TOPICS, ConfidenceInterval, interval, resamples
from grading.statistics.rank_correlation import (
    NO_GRADES,
    Coefficient,
    Correlation,
    Cost,
    correlate,
    costliest,
    official_top,
    resampled,
)
from grading.statistics.rank_intervals import Standing, standings
from grading.topic_attributes import TopicSlice
from grading.types import Purpose
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import Official, official_boards, with_topics
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.corpus.run_slices import RunSlice
from rubricweb.grades.configs import WHOLE_SCALE, default_min_grade, kinds_of, scale_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by
from rubricweb.leaderboards.board import BoardError, BoardSpec, lookup
from rubricweb.leaderboards.board.certainty import ScoredBoard, scored_board
from rubricweb.leaderboards.board.lookup import parse_measure
from rubricweb.leaderboards.board.scores import Basis, items_stamp
from rubricweb.leaderboards.board.selectors import judged_by, judged_runs, of_judgments

JUDGMENTS = "judgments"
"""The name, in addresses, of the boards that human judgments make."""
OFFICIAL = "official:"
"""Comes before the name of an official leaderboard there."""
MAX_BOARDS = 200
RESAMPLES = 1_000
NAMED_COSTS = 3
KEPT_DRAWS = 2_000
Floats = NDArray[np.float64]
RunScores = tuple[tuple[str, float], ...]
NO_DRAWS: Floats = np.full(RESAMPLES, np.nan)


@dataclass(frozen=True, slots=True)
class Reference:
    label: str
    values: Mapping[str, float]
    """Run tag -> higher is better."""
    by_topic: NDArray[np.float64] | None = None
    """Shape (runs, topics), where its scores are of topics: they are resampled together with ours."""
    run_tags: tuple[str, ...] = ()
    """The runs of `by_topic`, in the order of its rows."""


def reference_choices(collection: Collection) -> list[tuple[str, str]]:
    """Return pairs of name and label; official boards first."""
    choices = [(f"{OFFICIAL}{board.name}", board.name) for board in official_boards(collection)]
    if any(topic.judgments for topic in collection_pool(collection).topics):
        choices.append((JUDGMENTS, "human judgments"))
    return choices


def reference(base: Basis, name: str, measure: MeasureSpec, min_relevant: int) -> Reference:
    """Return the board of that name in addresses to compare one of `measure` with."""
    board = official_named(base.spec.collection, name, base.spec.runs)
    return official_reference(board, base) if board else judged_reference(base.pool, measure, min_relevant)


def official_named(collection: Collection, name: str, runs: RunSlice | None = None) -> Official | None:
    """Return the official board of that name in addresses, with its scores of topics; None for judgments."""
    if name == JUDGMENTS:
        return None
    boards = {f"{OFFICIAL}{board.name}": board for board in official_boards(collection, runs)}
    return with_topics(collection, boards[name], runs)


def official_reference(board: Official, base: Basis) -> Reference:
    """Return the board on the topics that `base` is of; on all of its own if it has no scores of topics."""
    query_ids = [topic.query_id for topic in base.pool.topics]
    on_topics, over = board.scores_on(query_ids), ""
    values = board.scores
    if not base.spec.is_of_all_topics:
        values, over = on_topics or values, "" if on_topics else ", over all its topics"
    label = f"{board.name} ({board.kind}{over})"
    if not on_topics:
        return Reference(label, values)
    return Reference(label, values, _by_topic(board, values, query_ids), tuple(values))


def judged_reference(pool: CollectionPool, measure: MeasureSpec, min_relevant: int) -> Reference:
    """Return the board of the same measure by judgments of these topics; nDCG@10 beside a measure of items.

    `min_relevant` is the first judgment that is relevant.
    """
    measure = of_judgments(measure)
    table = judged_runs(pool, measure, min_relevant)
    means = measure.merits(np.round(table.means(), TIED_DECIMALS)).tolist()
    values = dict(zip(table.run_tags, means, strict=True))
    label = f"human judgments ({judged_by(measure, min_relevant)})"
    return Reference(label, values, measure.merits(table.scores), table.run_tags)


def _by_topic(board: Official, run_tags: Iterable[str], query_ids: Sequence[str]) -> NDArray[np.float64]:
    """Return an array of shape (runs, topics); NaN where the board has no score."""
    topics = [board.by_topic.get(query_id, {}) for query_id in query_ids]
    return np.array([[scores.get(run_tag, np.nan) for scores in topics] for run_tag in run_tags])


@dataclass(frozen=True, slots=True)
class Contender:
    """One row: everything of a board but its measure."""

    collection: Collection
    config: GraderConfig
    bank: Bank | None
    min_grade: int

    @property
    def label(self) -> str:
        return self.config.label

    @property
    def bank_name(self) -> str:
        return self.bank.name if self.bank else "labels"

    def spec(self, name: str) -> BoardSpec | None:
        """Return the board under a measure by its short name, whose threshold outranks the row's.

        None where that measure has no meaning for this grader.
        """
        try:
            named = parse_measure(name, MeasureSpec(min_grade=self.min_grade))
            measure = lookup.check_measure(self.config, named)
        except BoardError:
            return None
        return BoardSpec(self.collection, self.config, self.bank, kinds_of(self.config), measure)


def contenders(
    collection: Collection, configs: Sequence[GraderConfig], banks: Sequence[Bank], min_grades: Sequence[int]
) -> list[Contender]:
    """Return a row for each grader, bank that it graded, and threshold that it can reach."""
    rows = list(_rows(collection, configs, banks, min_grades))
    if len(rows) > MAX_BOARDS:
        raise BoardError("grader", f"{len(rows)} rows to compare, expected at most {MAX_BOARDS}")
    return rows


def _rows(
    collection: Collection, configs: Sequence[GraderConfig], banks: Sequence[Bank], min_grades: Sequence[int]
) -> Iterator[Contender]:
    bank_ids = {bank.pk for bank in banks}
    for config in configs:
        if config.purpose == Purpose.DIRECT:
            graded: list[Bank | None] = [None]
        else:
            graded = [bank for bank in banks_graded_by(config, collection) if bank.pk in bank_ids]
        # Labels and checked answers have scales of their own, and so have some ratings.
        is_whole = config.purpose == Purpose.RATE and scale_of(config) == WHOLE_SCALE
        thresholds = min_grades if is_whole else [default_min_grade(config)]
        for bank in graded:
            for min_grade in thresholds:
                yield Contender(collection, config, bank, min_grade)


@dataclass(frozen=True, slots=True)
class MetaSpec:
    """What is compared, and how."""

    reference: str
    measures: tuple[str, ...]
    min_relevant: int
    k: int | None = None
    """Compare the official top k only."""
    within: float | None = None
    """So much below the best is as good (EXAM++ 5.2); None: where the intervals say so."""
    board: Official | None = None
    """A board that is not the collection's, in place of `reference`."""
    topics: TopicSlice | None = None
    """Compare the boards on these topics; None for all."""
    runs: RunSlice | None = None
    """Compare them over these runs; None for all."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationCell:
    """One board and measure against another board; `by` is empty where the measure has no meaning."""

    by: Mapping[Coefficient, Correlation]
    draws: Mapping[Coefficient, Floats]
    """Shape (resamples,): over resampled topics."""
    against: str = ""
    ours: Mapping[str, float] = field(default_factory=dict)
    """Run tag -> score, higher is better."""
    theirs: Mapping[str, float] = field(default_factory=dict)
    n_topics: int = 0
    """Topics that `draws` resample."""
    n_items: int = 0
    items_stamp: str = ""

    def value(self, coefficient: Coefficient) -> float | None:
        correlation = self.by.get(coefficient)
        return correlation.value if correlation else None

    def interval(self, coefficient: Coefficient) -> ConfidenceInterval:
        return interval(self.draws.get(coefficient, NO_DRAWS))

    @property
    def costs(self) -> tuple[Cost, ...]:
        """Return the runs whose place costs Kendall's tau most."""
        if self.value(Coefficient.KENDALL) is None:
            return ()
        return _costs(tuple(self.ours.items()), tuple(self.theirs.items()))


@lru_cache(maxsize=KEPT_DRAWS)
def _costs(ours: RunScores, theirs: RunScores) -> tuple[Cost, ...]:
    costs = costliest(dict(ours), dict(theirs), Coefficient.KENDALL)
    return tuple(cost for cost in costs[:NAMED_COSTS] if cost.cost > 0)


@dataclass(frozen=True, slots=True, eq=False)
class MetaRow:
    contender: Contender
    cells: tuple[CorrelationCell, ...]
    """By measure."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationColumn:
    """A measure and a coefficient, over all rows."""

    measure: str
    coefficient: Coefficient
    cells: tuple[CorrelationCell, ...]
    standings: tuple[Standing | None, ...]

    @property
    def as_good(self) -> list[bool]:
        return [standing is not None and standing.is_as_good for standing in self.standings]


def meta_rows(
    rows: Sequence[Contender], spec: MetaSpec, coefficients: Iterable[Coefficient] = Coefficient
) -> list[MetaRow]:
    """Return a row a contender, with these coefficients of each measure."""
    chosen = tuple(coefficients)
    if rows and spec.board is None:
        spec = replace(spec, board=official_named(rows[0].collection, spec.reference, spec.runs))
    return [MetaRow(row, tuple(_cell(row, name, spec, chosen) for name in spec.measures)) for row in rows]


def column(
    rows: Sequence[MetaRow], place: int, coefficient: Coefficient, spec: MetaSpec
) -> CorrelationColumn:
    """Return the measure in that place with each row's standing beside the best."""
    cells = tuple(row.cells[place] for row in rows)
    values = [entry.value(coefficient) for entry in cells]
    draws = [entry.draws.get(coefficient) for entry in cells]
    topics = min((entry.n_topics for entry in cells if entry.draws), default=0)
    further = tuple(standings(values, draws, topics=topics, within=spec.within))
    return CorrelationColumn(spec.measures[place], coefficient, cells, further)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Contenders against one board, with each one's standing by each measure and coefficient."""

    rows: Sequence[MetaRow]
    spec: MetaSpec
    columns: Sequence[CorrelationColumn]

    def of(self, measure: str) -> list[CorrelationColumn]:
        return [row for row in self.columns if row.measure == measure]

    def wins(self, place: int) -> int:
        """Return the measures of which the row is best, or as good, by every rank correlation."""
        by_measure: dict[str, list[bool]] = {}
        for row in self.columns:
            if row.coefficient.is_of_order:
                by_measure.setdefault(row.measure, []).append(row.as_good[place])
        return sum(map(all, by_measure.values()))


def compared(rows: Sequence[MetaRow], spec: MetaSpec, coefficients: Iterable[Coefficient]) -> Comparison:
    chosen = tuple(coefficients)
    columns = [
        column(rows, place, coefficient, spec)
        for place in range(len(spec.measures))
        for coefficient in chosen
    ]
    return Comparison(rows, spec, columns)


def _cell(row: Contender, name: str, spec: MetaSpec, coefficients: Sequence[Coefficient]) -> CorrelationCell:
    board = row.spec(name)
    if board is None:
        return CorrelationCell({}, {})
    scored = scored_board(replace(board, topic_slice=spec.topics, runs=spec.runs))
    if spec.board:
        other = official_reference(spec.board, scored.base)
    else:
        other = judged_reference(scored.base.pool, board.measure, spec.min_relevant)
    return correlation_cell(scored, other, coefficients, k=spec.k)


def correlation_cell(
    scored: ScoredBoard, other: Reference, coefficients: Sequence[Coefficient], *, k: int | None = None
) -> CorrelationCell:
    """Compare a board with another one, or with its first `k` runs, by these coefficients."""
    theirs = other.values if k is None else official_top(other.values, k)
    correlations = _correlations(scored, theirs, coefficients)
    draws: dict[Coefficient, Floats] = {}
    if scored.spec.measure.bootstraps_by_topic:
        draws = {
            c: _draws_of(scored, other, theirs, c) for c in coefficients if correlations[c].value is not None
        }
    items = scored.base.items
    n_items, stamp = sum(len(uids) for uids in items.values()), items_stamp(scored.base.pool, items)
    n_topics = int(_counted(scored.table.scores).sum())
    return CorrelationCell(
        correlations, draws, other.label, scored.merit_by_run, theirs, n_topics, n_items, stamp
    )


def _correlations(
    scored: ScoredBoard, theirs: Mapping[str, float], coefficients: Sequence[Coefficient]
) -> dict[Coefficient, Correlation]:
    if scored.is_ungraded:
        return {name: Correlation(None, 0, NO_GRADES) for name in coefficients}
    ours = scored.merit_by_run
    return {name: correlate(ours, theirs, name) for name in coefficients}


def _draws_of(
    scored: ScoredBoard, other: Reference, theirs: Mapping[str, float], coefficient: Coefficient
) -> Floats:
    """Return the coefficient over resampled topics.

    Our topics are resampled, and theirs with them where their board is made of topics too.
    """
    tags = [tag for tag in scored.table.run_tags if tag in theirs]
    ours = scored.merits[_places(scored.table.run_tags, tags)]
    values, by_topic = np.array([theirs[tag] for tag in tags], dtype=np.float64), False
    if other.by_topic is not None:
        of_topics = other.by_topic[_places(other.run_tags, tags)]
        if _counted(of_topics).sum() >= MIN_TOPICS:
            values, by_topic = of_topics, True
    return _drawn(ours.tobytes(), values.tobytes(), len(tags), by_topic, coefficient)


@lru_cache(maxsize=KEPT_DRAWS)
def _drawn(ours: bytes, theirs: bytes, runs: int, by_topic: bool, coefficient: Coefficient) -> Floats:
    boards = _drawn_means(np.frombuffer(ours).reshape(runs, -1))
    values = np.frombuffer(theirs)
    against = _drawn_means(values.reshape(runs, -1)) if by_topic else values
    return resampled(boards, against, coefficient)


def _places(run_tags: Sequence[str], tags: Sequence[str]) -> list[int]:
    place = {tag: number for number, tag in enumerate(run_tags)}
    return [place[tag] for tag in tags]


def _drawn_means(scores: Floats) -> Floats:
    """Return means over resampled topics, the same ones for every board; shape (resamples, runs)."""
    counted = _counted(scores)
    counts = _draws(scores.shape[1])[:, counted]
    sizes = counts.sum(axis=1, keepdims=True)
    means: Floats = np.full((len(counts), len(scores)), np.nan)
    if counted.sum() >= MIN_TOPICS:
        means = divide(counts @ scores[:, counted].T, sizes)
    # A resample's ties are those of equal sums: their last digits are noise.
    return np.round(means, 9)


def _counted(scores: Floats) -> NDArray[np.bool_]:
    """Return an array of shape (topics,): whether every run has a score."""
    return np.asarray(~np.isnan(scores).any(axis=0))


@lru_cache(maxsize=4)
def _draws(n_topics: int) -> Floats:
    return resamples(n_topics, RESAMPLES).astype(np.float64)
