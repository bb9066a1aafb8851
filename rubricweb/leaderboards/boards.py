"""What a board is made of, and what it states."""

from __future__ import annotations

from dataclasses import dataclass

from grading.measures.rank_correlation import Correlation
from grading.types import ItemKind
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Measure


@dataclass(frozen=True, slots=True)
class BoardSpec:
    """Everything that a board depends on, besides the grades and runs themselves."""

    collection: Collection
    config: GraderConfig
    bank: Bank | None
    """None for a direct grader, which labels passages without items."""
    kinds: frozenset[ItemKind]
    measure: Measure


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
    """Topics in the mean: the same for every run, since a topic that a run lacks counts 0."""
    n_answered: int
    """Of these, topics that the run has a ranking for."""
    judged: float | None
    """Share of the run's first k passages that are graded."""

    @property
    def place(self) -> str:
        """Competition rank; tied runs share the better one: "=3"."""
        return f"={self.rank}" if self.is_tied else str(self.rank)


@dataclass(frozen=True, slots=True)
class BoardCorrelation:
    """Agreement of the order of runs with another board."""

    against: str
    measure: str
    spearman: Correlation
    kendall: Correlation


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

    @property
    def is_ungraded(self) -> bool:
        """The grader said nothing yet about any passage that a run ranked."""
        return all(not row.judged for row in self.rows)


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic of one run, beside the other runs."""

    topic_id: int
    query_id: str
    text: str
    score: float
    mean: float
    best: float
    is_answered: bool

    @property
    def difference(self) -> float:
        return self.score - self.mean
