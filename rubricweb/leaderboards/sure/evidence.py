"""A board with what it is compared with: computed once, for all pictures of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from django.urls import reverse
from numpy.typing import NDArray

from grading.formats.tables import DataTable, Value, from_mappings
from grading.statistics.mean_intervals import ConfidenceInterval
from grading.statistics.rank_correlation import Coefficient
from rubricweb.graders.calibration_cards import hides_numbers
from rubricweb.graders.calibration_samples import RatedSample, sample
from rubricweb.grades.models import GraderConfig
from rubricweb.leaderboards.agreement.selectors import Agreement, Labeller, agreements, lowest
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.board.types import BoardSpec
from rubricweb.leaderboards.meta.references import JUDGMENTS, Reference, reference
from rubricweb.leaderboards.meta.selectors import CorrelationCell, correlation_cell
from rubricweb.plots.pictures import Fact

KENDALL = Coefficient.KENDALL


@dataclass(frozen=True)
class Evidence:
    """A board with what it is compared with; what several pictures need is computed once."""

    spec: BoardSpec
    against: str
    """The other board's name in addresses; empty where the collection has none."""
    others: Sequence[GraderConfig]
    """Graders that are laid over."""
    query: str

    @cached_property
    def scored(self) -> ScoredBoard:
        return scored_board(self.spec)

    @cached_property
    def other(self) -> Reference | None:
        if not self.against:
            return None
        relevant = self.spec.collection.min_relevant
        return reference(self.scored.base, self.against, self.spec.measure, relevant)

    @cached_property
    def cell(self) -> CorrelationCell | None:
        return correlation_cell(self.scored, self.other, [KENDALL]) if self.other else None

    @cached_property
    def agreement(self) -> Agreement:
        """The grader's labels of passages beside their judgments, with the bank as it is now."""
        labeller = Labeller(self.spec.collection, self.spec.config, self.spec.bank)
        return agreements([labeller], min_answers=self.spec.measure.min_answers)[0]

    @cached_property
    def rated(self) -> RatedSample | None:
        """The grader's cells that people rated; None for readers from whom cells are hidden."""
        bank = self.spec.bank
        return None if bank is None or hides_numbers(bank) else sample(bank, self.spec.config)

    @property
    def drawn(self) -> RatedSample | None:
        """Those of `rated` that were drawn at random."""
        return self.rated.only(self.rated.is_drawn) if self.rated is not None else None

    @property
    def checked(self) -> tuple[int, int] | None:
        """How many of the board's graded cells people rated, and how many there are."""
        if self.rated is None:
            return None
        base = self.scored.base
        return len(self.rated), sum(
            int(
                (
                    base.grades[topic.topic_id].matrix.columns(base.items.get(topic.topic_id, ())).ratings
                    >= 0
                ).sum()
            )
            for topic in base.pool.topics
        )

    @property
    def whose(self) -> str:
        return "people's" if self.against == JUDGMENTS else "the official board's"

    @property
    def n_runs(self) -> int:
        """Runs that both boards have."""
        correlation = self.cell.by.get(KENDALL) if self.cell else None
        return correlation.n if correlation else 0

    @property
    def tau(self) -> float | None:
        return self.cell.value(KENDALL) if self.cell else None

    @property
    def leaning(self) -> float | None:
        """How much larger the grader's share of relevant passages is than people's; None without any."""
        counts = self.binary
        n = counts.sum()
        return float((counts[0].sum() - counts[:, 0].sum()) / n) if n else None

    @property
    def binary(self) -> NDArray[np.int64]:
        """Shape (2, 2): labels from the threshold on and below it, by relevant and other judgments."""
        low = lowest(self.agreement.labeller, self.spec.measure.min_grade)
        tables = self.agreement.binary(low, self.spec.collection.min_relevant)
        return np.array(tables).sum(axis=0) if tables else np.zeros((2, 2), dtype=np.int64)

    def by(self, config: GraderConfig) -> ScoredBoard:
        """Return the same board by another grader."""
        return scored_board(replace(self.spec, config=config))

    def data(self, lines: Sequence[Mapping[str, Value]], *stated: tuple[str, str]) -> DataTable:
        return from_mappings(lines, [*provenance.scored_statements(self.scored), *stated])

    @property
    def runs_fact(self) -> Fact:
        n_topics = self.cell.n_topics if self.cell else 0
        runs = "1 run" if self.n_runs == 1 else f"{self.n_runs:,} runs"
        return Fact("n", f"{runs}, {n_topics:,} topic{'s' * (n_topics != 1)}")

    def run_page(self, run_pk: int) -> str:
        address = reverse("leaderboards:compare", args=[self.spec.collection.slug])
        return f"{address}?{self.query}&a={run_pk}"


def interval_facts(ends: ConfidenceInterval) -> tuple[Fact, ...]:
    """Return both ends for the foot of a picture; nothing where they are undefined."""
    return (Fact("95 %", f"{ends.low:z.2f} to {ends.high:z.2f}"),) if ends.is_defined else ()
