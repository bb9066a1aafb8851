"""The rows of meta-evaluation: a grader with a bank and a threshold each. Measures are the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grading.types import Purpose
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import WHOLE_SCALE, default_min_grade, kinds_of, scale_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by
from rubricweb.leaderboards.board import lookup
from rubricweb.leaderboards.board.columns import parse_measure
from rubricweb.leaderboards.board.types import BoardError, BoardSpec

MAX_BOARDS = 200


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
    collection: Collection,
    configs: Sequence[GraderConfig],
    banks: Sequence[Bank],
    min_grades: Sequence[int],
) -> list[Contender]:
    """Return a row for each grader, bank that it graded, and threshold that it can reach."""
    rows = list(_rows(collection, configs, banks, min_grades))
    if len(rows) > MAX_BOARDS:
        raise BoardError("grader", f"{len(rows)} rows to compare, expected at most {MAX_BOARDS}")
    return rows


def _rows(
    collection: Collection,
    configs: Sequence[GraderConfig],
    banks: Sequence[Bank],
    min_grades: Sequence[int],
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
