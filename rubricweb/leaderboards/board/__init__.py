"""What a board is made of, and what it states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from grading.statistics import cover_estimate, cover_sample
from grading.statistics.agreement import Checks
from grading.statistics.cover_estimate import SampleSize
from grading.statistics.max_t import PairedTest
from grading.statistics.mean_intervals import Marks
from grading.statistics.rank_correlation import Correlation
from grading.statistics.rank_intervals import ApproximateRank
from grading.topic_attributes import TopicSlice
from grading.types import ItemKind
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.campaigns.selectors import check_address
from rubricweb.core.formatting import rank_span
from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import RunSlice
from rubricweb.graders.calibration_cards import CalibrationStatus
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.human_models import Draw
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.support.board import SupportColumn


class BoardError(Exception):
    """A board that cannot be made. Its text is for people; `field` names the control that it is about."""

    def __init__(self, field: str, text: str) -> None:
        self.field = field
        super().__init__(text)


class MissingTopic(StrEnum):
    """What a topic that a run lacks counts in the run's mean."""

    ZERO = "zero"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure beside the ranking one; `token` is its name in addresses and on the command line."""

    token: str
    label: str
    measure: MeasureSpec
    config: GraderConfig | None = None
    """Another grader than the board's own."""
    is_judgments: bool = False
    """The human judgments of the collection instead of grades."""
    support: SupportColumn | None = None
    """A score of citations instead of `measure`."""
    bank: Bank | None = None
    """The bank whose items the other grader grades; None if it labels passages."""
    kinds: frozenset[ItemKind] = frozenset()
    """The kinds of the other grader's items that the column is scored over."""

    @property
    def items(self) -> str:
        """Return what another grader's column is scored over: "nuggets", "direct labels"; else empty."""
        if self.config is None:
            return ""
        if self.bank is None:
            return "direct labels"
        return " and ".join(f"{kind}s" for kind in sorted(self.kinds, reverse=True))

    @property
    def items_of_bank(self) -> str:
        """Return `items` with their bank."""
        return f"{self.items} of rubric {self.bank.name}" if self.bank else self.items

    @property
    def is_own(self) -> bool:
        """Return whether it is scored by the grades that the board itself stands on."""
        return self.config is None and not self.is_judgments and self.support is None


@dataclass(frozen=True, slots=True)
class BoardSpec:
    """Everything that a board depends on, besides the grades and runs themselves."""

    collection: Collection
    config: GraderConfig
    bank: Bank | None
    """None for a direct grader, which labels passages without items."""
    kinds: frozenset[ItemKind]
    measure: MeasureSpec
    """What the runs are ranked by."""
    columns: tuple[MeasureColumn, ...] = ()
    version: BankVersion | None = None
    """None for the bank as it is now."""
    source: RatingSource = RatingSource.GRADER
    missing: MissingTopic = MissingTopic.ZERO
    by_subtopic: bool = False
    """A topic's score is the mean over its subtopics; a board of one topic averages its subtopics."""
    topic: str = ""
    """The query id of the one topic that the board is of; empty for all."""
    facet: str = ""
    """The one subtopic that the board is of."""
    topic_slice: TopicSlice | None = None
    """The topics that the board is of, by an attribute; None for all."""
    runs: RunSlice | None = None
    """The runs that the board is of, with the pool that they make; None for all."""
    test: PairedTest = PairedTest.SIGN_FLIPS

    @property
    def uses_labels(self) -> bool:
        """Return whether the ranking measure or a further column looks at labels, in trec_eval's order."""
        own = (column.measure for column in self.columns if column.support is None)
        return self.measure.uses_labels or any(measure.uses_labels for measure in own)

    @property
    def skips_missing(self) -> bool:
        return self.missing is MissingTopic.SKIP or self.measure.is_workbench

    @property
    def is_of_all_topics(self) -> bool:
        return not self.topic and self.topic_slice is None

    @property
    def check_address(self) -> str:
        """Return where people begin to check the grader on the rubric; empty where no item has a text."""
        return check_address(self.collection, self.config, self.bank) if self.bank else ""

    def includes(self, query_id: str) -> bool:
        """Return whether the topic is one that the board is of."""
        in_slice = self.topic_slice is None or query_id in self.topic_slice.query_ids
        return in_slice and self.topic in ("", query_id)


@dataclass(frozen=True, slots=True)
class MeanBasis:
    """What a mean goes over: the same for every run, unless topics that a run lacks are left out."""

    n_topics: int
    n_left_out: int
    """Topics of the collection in no mean: without items or, for labels, without grades or judgments."""
    n_undefined: int = 0
    """Topics among them with items for which the measure is 0 / 0."""


@dataclass(frozen=True, slots=True)
class ColumnScore:
    """One run by a further column; `score` is None where no topic counts, `stderr` with fewer than two."""

    score: float | None
    stderr: float | None
    n_topics: int


CERTAIN = 1e-6
"""Interval ends that are closer are one number: rates of the model are kept off 0 and 1 by 1e-9."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The score by people, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_certain(self) -> bool:
        """Return whether people rated all that the score is made of: there is no interval."""
        return self.high - self.low < CERTAIN


@dataclass(frozen=True, slots=True)
class EstimateSample:
    """The rated cells of random draws that the estimates of a board stand on, or why there are none."""

    size: SampleSize
    design: str = Draw.Design.COVER
    """What a campaign must draw for such an estimate."""
    elsewhere: int = 0
    """Rated cells of draws that are not for this board: of another grader, threshold, cutoff or items."""
    unsampled: int = 0
    """Items of the board that were in no draw: added since, or without text then."""
    items: int = 0
    reason: str = ""
    """Why the board gives no estimate; empty where it does."""
    narrower: float | None = None
    """By which share the intervals would narrow with twice as many cells."""
    to_halve: int | None = None
    """About how many more cells would halve the intervals."""
    drawn: int = 0
    """Cells that the campaigns of its draws ask for."""
    rated: int = 0
    """Cells among them that somebody rated."""
    checks: Checks | None = None
    """Checks of what the estimate assumes; None where it assumes nothing, or without an estimate."""
    knows_relevance: bool = False
    """Its strata are by judgment, too."""

    @property
    def method(self) -> str:
        return cover_estimate.METHOD if self.design == Draw.Design.COVER else cover_sample.METHOD

    @property
    def is_level_at_least(self) -> bool:
        """Return whether the interval holds the true value more often than its level says."""
        return self.design == Draw.Design.COVER and self.size.has_few_misses


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One run; `score` is None where no topic counts, `stderr` with fewer than two topics."""

    run_id: int
    run_tag: str
    rank: int
    is_tied: bool
    score: float | None
    stderr: float | None
    n_topics: int
    """Topics in the mean: the same for every run, unless topics that a run lacks are left out."""
    n_answered: int
    """Topics among them that the run has a ranking for."""
    judged: float | None
    """Share of the run's first k passages that are graded."""
    first: int | None = None
    """The best rank that the paired test leaves open; None with fewer than two topics."""
    last: int | None = None
    is_behind: bool | None = None
    """It is clearly behind the first run; None without a score, and where nothing is tested."""
    low: float | None = None
    """The ends of the 95 % interval of the score; None with too few topics, or equal scores."""
    high: float | None = None
    verified: float | None = None
    """Share of the cells of the first k passages that people have rated or verified."""
    estimate: RunEstimate | None = None
    """The score that people's ratings of all cells would give; None where the board cannot tell."""
    current: float | None = None
    """While a job grades: the share of this run's cells that are graded; None where none of them waits."""
    others: tuple[ColumnScore, ...] = ()
    """By the further columns."""
    is_closed_book: bool = False
    """It answers from what a model knows, without retrieval."""
    is_by_grader: bool = False
    """The model that grades the board wrote or reranked it."""
    n_otherwise: int = 0
    """Topics whose passages trec_eval 9 and 10 order differently; 0 where no measure looks at labels."""
    by_topic: tuple[float | None, ...] = ()
    """The score on each of the board's topics; None where the topic counts for no mean of the run."""

    @property
    def place(self) -> str:
        """Return the competition rank; tied runs share the better one: "=3"."""
        return f"={self.rank}" if self.is_tied else str(self.rank)

    @property
    def interval(self) -> str:
        """Return the ranks that the topics leave open: "2-5"; a dash where there are too few to tell."""
        return "\N{EN DASH}" if self.first is None or self.last is None else rank_span(self.first, self.last)


@dataclass(frozen=True, slots=True)
class BoardCorrelation:
    """Agreement of the order of runs with another board."""

    against: str
    measure: str
    spearman: Correlation
    kendall: Correlation
    tau_gap: Correlation
    """Of the order here, with the gaps between scores there."""
    pearson: Correlation
    scores: tuple[tuple[str, float], ...] = ()
    """By the other board: pairs of run and score."""
    source: str = ""
    """Of an official board: where its numbers are from."""
    placed: tuple[ApproximateRank, ...] = ()
    """Of an official board: where the runs would stand that it lacks, best first."""


@dataclass(frozen=True, slots=True)
class Top:
    """What can be said of the best runs."""

    can_tell: bool
    """Whether the topics are enough (`max_t.MIN_TOPICS`) for a run to be clearly ahead of another."""
    first: tuple[str, ...]
    """The run with the highest mean; several if they score exactly the same."""
    n_not_behind: int
    """Further runs that are not clearly behind."""
    n_behind: int
    """Runs that are; those without a score are neither."""
    resolution: float | None
    """The difference that the topics tell apart with the power of `max_t.POWER`; None if they tell none."""


@dataclass(frozen=True, slots=True)
class BoardTopic:
    """A topic of the board, or a subtopic where the board is of one topic."""

    topic_id: int
    query_id: str
    text: str
    facet: str = ""

    @property
    def name(self) -> str:
        return f"{self.query_id}/{self.facet}" if self.facet else self.query_id


@dataclass(frozen=True, slots=True)
class Board:
    spec: BoardSpec
    rows: tuple[BoardRow, ...]
    """Best first."""
    n_topics: int
    """Topics in the mean."""
    n_left_out: int
    """Topics of the collection without items, or for labels without grades; they are in no mean."""
    n_items: int
    items_stamp: str
    """A digest of the item set: equal stamps mean equal items."""
    judged_at: int
    correlations: tuple[BoardCorrelation, ...]
    n_undefined: int = 0
    """Topics among those left out with items for which the measure is 0 / 0."""
    n_vital: int = 0
    """Items that are vital, as all are that nobody said anything else of."""
    columns: tuple[MeanBasis, ...] = ()
    """What the means of the further columns go over."""
    marks: Marks | None = None
    top: Top | None = None
    """None with fewer than two topics or two runs."""
    topics: tuple[BoardTopic, ...] = ()
    """The topics that count, the easiest first."""
    without_items: tuple[BoardTopic, ...] = ()
    """Topics that count for nothing because nobody asked anything about them."""
    n_graded: int = 0
    """Cells that have a grade."""
    test: PairedTest = PairedTest.SIGN_FLIPS
    monte_carlo: tuple[float, float] | None = None
    """The largest Monte-Carlo standard errors: of a p-value at the board's level, of an end of a score's
    interval; None where nothing is tested.
    """
    verified: tuple[int, int] = (0, 0)
    """How many cells people have rated or verified, of how many."""
    sample: EstimateSample | None = None
    """What the estimates stand on; None for measures that have none."""
    calibration: CalibrationStatus | None = None
    """How the grader compares with people on the board's items; None for labels without items."""
    n_items_by_grader: int = 0
    """Items that the model drafted which grades the board."""

    @property
    def order(self) -> str:
        """Return the order in which measures of labels read runs, and the runs that the other reorders."""
        topics = {row.run_tag: row.n_otherwise for row in self.rows if row.n_otherwise}
        runs = ", ".join(f"{tag} ({n} topic{'' if n == 1 else 's'})" for tag, n in topics.items())
        other = self.spec.measure.trec_eval.other
        otherwise = f"; trec_eval {other} orders these differently: {runs}" if runs else ""
        return f"{self.spec.measure.order}{otherwise}"

    @property
    def counted(self) -> MeanBasis:
        """Return what the mean that ranks the runs goes over."""
        return MeanBasis(self.n_topics, self.n_left_out, self.n_undefined)

    @property
    def calibration_lacks(self) -> str:
        """Return why it lacks the calibration that its collection asks for; empty if it does not."""
        if not (self.spec.collection.requires_calibration and self.calibration):
            return ""
        return "" if self.calibration.is_current else self.calibration.text

    @property
    def is_ungraded(self) -> bool:
        """Return whether the grader said nothing yet about any passage that a run ranked."""
        return all(not row.judged for row in self.rows)

    @property
    def is_grading(self) -> bool:
        return any(row.current is not None for row in self.rows)
