"""Say how certain a board is, sentence by sentence, with what it is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from django.urls import reverse
from numpy.typing import NDArray

from grading.statistics.agreement import ENOUGH_CELLS
from grading.statistics.mean_intervals import ConfidenceInterval
from grading.statistics.rank_correlation import Coefficient
from rubricweb.graders.calibration_cards import hides_numbers
from rubricweb.graders.rated_cells import shared_cells
from rubricweb.grades.models import GraderConfig
from rubricweb.leaderboards.agreement import Agreement, Labeller, agreements, lowest
from rubricweb.leaderboards.board import BoardSpec, provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard, scored_board
from rubricweb.leaderboards.board.scores import Basis, basis, n_graded, score_units, secret_wordings
from rubricweb.leaderboards.influence import Texts, item_texts
from rubricweb.leaderboards.meta import JUDGMENTS, CorrelationCell, Reference, correlation_cell, reference
from rubricweb.plots import Fact

ENOUGH_RUNS = 6
ENOUGH_PASSAGES = 30
ENOUGH_OF_A_GRADE = 10
"""Below these, a number says too little to be a title."""
NEARLY_SAME, MUCH, PARTLY = 0.8, 0.6, 0.3
"""From which Kendall's tau on an order is nearly people's, agrees with it, or agrees in part."""
APART = 0.05
"""From which difference of shares on a grader is more generous, or stricter, than people."""
LITTLE = 20
"""Per cent of the cells; below it, people's ratings do not vouch for the score."""
PEOPLES = "people's"
TAU = "\N{GREEK SMALL LETTER TAU}"
SHARES = (
    (0.98, "nearly always"),
    (0.9, "nine times in ten"),
    (0.8, "four times in five"),
    (0.75, "three times in four"),
    (2 / 3, "two times in three"),
    (0.6, "three times in five"),
    (0.5, "half the time"),
    (0.4, "two times in five"),
    (1 / 3, "one time in three"),
    (0.25, "one time in four"),
    (0.2, "one time in five"),
    (0.1, "one time in ten"),
    (0.02, "almost never"),
)
KENDALL = Coefficient.KENDALL
RatingPairs = Mapping[tuple[int, int], int]
"""How many cells the grader and people gave each two ratings."""


def in_words(share: float) -> str:
    """Return the share as people say it: the nearest of a few.

    >>> in_words(0.81), in_words(0.49), in_words(0.0)
    ('four times in five', 'half the time', 'almost never')
    """
    return min(SHARES, key=lambda named: abs(named[0] - share))[1]


def grades_from(low: int, high: int) -> str:
    """Return the grades that count, as the subject of a sentence.

    >>> grades_from(5, 5), grades_from(4, 5), grades_from(2, 5)
    ('Grade 5', 'Grade 4 or 5', 'Grade 2 or more')
    """
    if low >= high:
        return f"Grade {high}"
    return f"Grade {low} or {high}" if high == low + 1 else f"Grade {low} or more"


def order(tau: float | None, n_runs: int, whose: str) -> str:
    """Return how far two orders of runs agree; `whose` is the other one's, such as "people's".

    >>> order(0.69, 26, "people's"), order(0.9, 4, "people's")
    ("The order agrees with people's: τ 0.69", "Too few runs to compare with people's order")
    """
    if n_runs < ENOUGH_RUNS:
        return f"Too few runs to compare with {whose} order"
    if tau is None:
        return f"No order to compare with {whose}"
    if tau >= NEARLY_SAME:
        return f"The order is nearly {whose}: {TAU} {tau:z.2f}"
    if tau >= MUCH:
        return f"The order agrees with {whose}: {TAU} {tau:z.2f}"
    if tau >= PARTLY:
        return f"The order agrees with {whose} only in part: {TAU} {tau:z.2f}"
    return f"The order is not {whose}: {TAU} {tau:z.2f}"


def precision(relevant: int, labelled: int, n: int, grades: str) -> str:
    """Return how often passages of these grades are relevant to people, of `n` judged passages.

    >>> precision(80, 100, 500, "Grade 4 or 5")
    'Grade 4 or 5 is right four times in five'
    """
    if n < ENOUGH_PASSAGES:
        return f"Too few judged passages to compare: {n:,}"
    if labelled < ENOUGH_OF_A_GRADE:
        return f"{grades} is rare: {labelled:,} of {n:,} judged passages"
    return f"{grades} is right {in_words(relevant / labelled)}"


def confirmed(by_grade: Sequence[tuple[int, int, int]]) -> str:
    """Return how often people agree with the highest grade that enough cells have: grade, cells, covered.

    >>> confirmed([(4, 40, 20), (5, 20, 18)]), confirmed([(5, 3, 3)])
    ('People say that grade 5 covers the item nine times in ten', 'Too few pairs drawn at random: 3')
    """
    n = sum(cells for _, cells, _ in by_grade)
    enough = [row for row in by_grade if row[1] >= ENOUGH_OF_A_GRADE]
    if n < ENOUGH_CELLS or not enough:
        return f"Too few pairs drawn at random: {n:,}"
    grade, cells, covered = max(enough)
    return f"People say that grade {grade} covers the item {in_words(covered / cells)}"


def influence(n_items: int, n_beyond: int, largest_move: int, *, can_tell: bool) -> str:
    """Return whether single items decide a board: whether a run leaves its possible ranks without one.

    >>> influence(275, 0, 3, can_tell=True), influence(12, 2, 4, can_tell=True)
    ('No single item decides the board', '2 items decide the place of a run')
    """
    if not n_items:
        return "No items to leave out"
    if not can_tell:
        if not largest_move:
            return "No run moves, whichever item is left out"
        places = "1 place" if largest_move == 1 else f"{largest_move} places"
        return f"Without one item a run moves up to {places}"
    if n_beyond:
        return f"{n_beyond:,} {'item decides' if n_beyond == 1 else 'items decide'} the place of a run"
    return "No single item decides the board"


def threshold(current: int, best: int, n_runs: int, *, is_as_good: bool | None, whose: str) -> str:
    """Return whether the threshold in effect fits the other order; None: there are too few topics to test it.

    >>> threshold(4, 4, 26, is_as_good=True, whose="people's")
    "Grade 4 as threshold fits people's order best"
    >>> threshold(4, 3, 26, is_as_good=False, whose="people's")
    "Grade 3 as threshold fits people's order better than 4"
    """
    if n_runs < ENOUGH_RUNS:
        return "Too few runs to compare thresholds"
    if is_as_good is None:
        return "Too few topics to compare thresholds"
    if current == best:
        return f"Grade {current} as threshold fits {whose} order best"
    if is_as_good:
        return f"Grade {current} as threshold fits {whose} order as well as any"
    return f"Grade {best} as threshold fits {whose} order better than {current}"


def summary(tau: float | None, n_runs: int, leaning: float | None, whose: str) -> str:
    """Return the page in a sentence; `leaning` is how much larger the grader's share of relevant passages is.

    >>> summary(0.69, 26, 0.12, "people's")
    'The grader orders the runs much as people do, but is more generous.'
    """
    they = "people do" if whose == PEOPLES else "the official board does"
    bias = "is more generous" if leaning is not None and leaning > APART else ""
    bias = "is stricter" if leaning is not None and leaning < -APART else bias
    if tau is None or n_runs < ENOUGH_RUNS:
        few = f"Too few runs to say whether the grader orders them as {they}"
        return f"{few}; it {bias} than people are." if bias else f"{few}."
    if tau >= MUCH:
        return f"The grader orders the runs much as {they}{f', but {bias}' if bias else ''}."
    start = f"The grader orders the runs only partly as {they}"
    if tau < PARTLY:
        start = f"The grader does not order the runs as {they}"
    return f"{start}{f', and {bias}' if bias else ''}."


def checked(n_rated: int, n_graded: int) -> str:
    """Return a sentence on how many of the board's pairs people have rated.

    >>> checked(200, 10_000)
    'Trust the bands of the board, not the score itself: people have rated 2 % of the graded pairs.'
    >>> checked(0, 10_000)
    'No grade of this grader has been checked by people yet.'
    """
    if not n_rated or not n_graded:
        return "No grade of this grader has been checked by people yet."
    share = 100 * n_rated / n_graded
    percent = f"{share:.0f} %" if share >= 1 else "less than 1 %"
    warning = "Trust the bands of the board, not the score itself: " if share < LITTLE else ""
    return f"{warning}{'people' if warning else 'People'} have rated {percent} of the graded pairs."


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
    def base(self) -> Basis:
        return basis(self.spec)

    @cached_property
    def scored(self) -> ScoredBoard:
        return ScoredBoard(self.base, score_units(self.base, self.spec.measure))

    @cached_property
    def texts(self) -> Texts:
        """Return the items' texts, without those that are secret from the reader."""
        return item_texts(self.base)

    @cached_property
    def other(self) -> Reference | None:
        if not self.against:
            return None
        relevant = self.spec.collection.min_relevant
        return reference(self.base, self.against, self.spec.measure, relevant)

    @cached_property
    def cell(self) -> CorrelationCell | None:
        return correlation_cell(self.scored, self.other, [KENDALL]) if self.other else None

    @property
    def labeller(self) -> Labeller:
        """Return what labels the passages, with the bank as it is now."""
        return Labeller(self.spec.collection, self.spec.config, self.spec.bank, self.spec.runs)

    @cached_property
    def agreement(self) -> Agreement:
        """Return the grader's labels of passages beside their judgments."""
        return agreements([self.labeller], min_answers=self.spec.measure.min_answers)[0]

    @cached_property
    def check_address(self) -> str:
        return self.spec.check_address

    @cached_property
    def n_rated(self) -> int | None:
        """Return how many of the grader's cells people rated; None for readers from whom cells are hidden."""
        bank = self.spec.bank
        return None if bank is None or hides_numbers(bank) else len(shared_cells(bank, self.spec.config))

    def drawn(self, config: GraderConfig) -> RatingPairs | None:
        """Return the ratings by the grader and by people of the cells that were drawn at random."""
        bank = self.spec.bank
        if bank is None or hides_numbers(bank):
            return None
        return Counter((cell.grader, cell.human) for cell in shared_cells(bank, config) if cell.is_drawn)

    @property
    def n_graded(self) -> int:
        """Return how many cells of the board have a grade."""
        return n_graded(self.base)

    @property
    def whose(self) -> str:
        return PEOPLES if self.against == JUDGMENTS else "the official board's"

    @property
    def n_runs(self) -> int:
        """Return runs that both boards have."""
        correlation = self.cell.by.get(KENDALL) if self.cell else None
        return correlation.n if correlation else 0

    @property
    def tau(self) -> float | None:
        return self.cell.value(KENDALL) if self.cell else None

    @property
    def leaning(self) -> float | None:
        """Return the grader's share of relevant passages less people's; None without any."""
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

    def stated(self, *further: tuple[str, str]) -> list[tuple[str, str]]:
        """Return what the files of its tables state."""
        return [*provenance.scored_statements(self.scored), *further]

    @property
    def runs_fact(self) -> Fact:
        n_topics = self.cell.n_topics if self.cell else 0
        runs = "1 run" if self.n_runs == 1 else f"{self.n_runs:,} runs"
        return Fact("n", f"{runs}, {n_topics:,} topic{'s' * (n_topics != 1)}")

    @cached_property
    def _compare(self) -> str:
        return f"{reverse('leaderboards:compare', args=[self.spec.collection.slug])}?{self.query}"

    def run_page(self, run_pk: int) -> str:
        return f"{self._compare}&a={run_pk}"

    def grid(self, topic_id: int) -> str:
        """Return the address of the topic's grid; empty without items."""
        bank, chosen = self.spec.bank, {"view": "grid"}
        return reverse("review:topic", args=[bank.pk, topic_id], query=chosen) if bank else ""

    def public(self, texts: Texts) -> Texts:
        """Return the texts that a file may have."""
        secret = secret_wordings(self.spec.collection.pk)
        return {place: text for place, text in texts.items() if place not in secret}


def interval_facts(ends: ConfidenceInterval) -> tuple[Fact, ...]:
    """Return both ends for the foot of a picture; nothing where they are undefined."""
    return (Fact("95 %", f"{ends.low:z.2f} to {ends.high:z.2f}"),) if ends.is_defined else ()
