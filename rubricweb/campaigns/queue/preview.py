"""What a campaign would ask of people, and what its ratings would settle, before it is opened."""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import NormalDist, median

import numpy as np

from grading.statistics.max_t import ALPHA, pairwise_p
from rubricweb.campaigns.queue import ordering
from rubricweb.campaigns.queue.actions import CampaignPlan
from rubricweb.campaigns.queue.models import Campaign, Turn
from rubricweb.campaigns.queue.ordering import Floats
from rubricweb.campaigns.queue.population import Choice, ChoiceInputs, ChosenCells, drawn_from
from rubricweb.campaigns.queue.selectors import LEAST_SECONDS, PACE_OF, pace
from rubricweb.core.formatting import counted, number
from rubricweb.corpus.models import Collection
from rubricweb.grades.humans import human_matrices

SECONDS = 20.0
"""Of one rating, until people have been timed."""
LAST_TURNS = 1_000
"""How many turns the pace is measured on."""
SURE = NormalDist().inv_cdf(0.975)
"""A pair is settled if its difference is larger than so many standard deviations of what is not rated."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring runs whose order the grader's errors could turn."""

    upper: str
    lower: str
    chance: float
    """That the grader's errors cannot turn their order any more, with the campaign's cells rated."""
    is_clear: bool
    """By the grader, the topics tell the two apart: the rule of leaderboards calls them clear."""

    @property
    def is_likely(self) -> bool:
        """The leaderboard will probably call their order clear."""
        return self.is_clear and self.chance >= 0.5


@dataclass(frozen=True, slots=True)
class Preview:
    cells: int
    population: int
    """How many cells match the choice."""
    passages: int
    items: int
    assessors: int
    """Per cell."""
    people: int
    """Who may rate."""
    seconds: float
    """Per rating."""
    is_measured: bool
    """The pace is that of people who rated here."""
    pairs: tuple[Pair, ...]
    """Close pairs, from the top of the leaderboard."""
    cutoff: int
    half_width: float | None = None
    """Of the interval of a middling run's estimate; None where that is not known before."""
    more: tuple[int, float] | None = None
    """What twice as many cells would bring: their number and the half-width then."""
    is_of_sums: bool = False
    """A sample for scores that are sums, of which no pairs of Rubric-Cover are told."""

    @property
    def ratings(self) -> int:
        return self.cells * self.assessors

    @property
    def total(self) -> float:
        """Seconds, of everybody together."""
        return self.ratings * self.seconds

    @property
    def hours(self) -> float:
        return self.total / 3_600

    @property
    def in_words(self) -> str:
        counts = f"{counted(self.cells, 'pair')}, {number(round(self.hours, 1), 1)} hours in total."
        return f"{counts} {self.too_few}".strip()

    @property
    def too_few(self) -> str:
        """Why the campaign could not be finished, as a sentence: a person rates a cell once."""
        if self.people >= self.assessors:
            return ""
        people = "1 can" if self.people == 1 else f"{self.people} can"
        return f"Each pair needs {self.assessors} people, and only {people} rate: no pair would be finished."

    @property
    def each(self) -> float:
        """Seconds of one person, if they share alike."""
        return self.total / self.people if self.people else self.total

    @property
    def once_more(self) -> float:
        """Seconds of one more assessor per cell."""
        return self.cells * self.seconds

    @property
    def likely(self) -> int:
        return sum(pair.is_likely for pair in self.pairs)

    @property
    def shown(self) -> tuple[Pair, ...]:
        """Those that the topics tell apart."""
        return tuple(pair for pair in self.pairs if pair.is_clear)


def preview(choice: Choice, plan: CampaignPlan, *, everybody: int, seconds: float | None) -> Preview:
    """`everybody` is the number of assessors, `seconds` what the organizer expects of one rating.

    Random cells are drawn once, by a fixed seed; the campaign will draw others.
    """
    inputs = ChoiceInputs(choice)
    drawn = drawn_from(inputs, seed=1)
    is_of_sums = choice.cells in (Campaign.Cells.ANSWERS, Campaign.Cells.PASSAGES)
    measured = None if seconds else measured_pace(choice.bank.collection)
    return Preview(
        cells=len(drawn.cells),
        population=drawn.population,
        passages=len({(cell.topic, cell.passage) for cell in drawn.cells}),
        items=len({cell.item for cell in drawn.cells}),
        assessors=plan.assessors,
        people=len(plan.people) or everybody,
        seconds=seconds or measured or SECONDS,
        is_measured=measured is not None,
        pairs=() if is_of_sums else close_pairs(inputs, drawn),
        cutoff=choice.cutoff,
        half_width=drawn.half_width,
        more=_with_more(inputs, drawn),
        is_of_sums=is_of_sums,
    )


def _with_more(inputs: ChoiceInputs, drawn: ChosenCells) -> tuple[int, float] | None:
    """Return the number of cells, and the half-width, of a sample of twice the size, if there are more."""
    if not drawn.half_width or len(drawn.cells) >= drawn.population:
        return None
    twice = copy(inputs)
    twice.choice = replace(inputs.choice, size=2 * len(drawn.cells))
    larger = drawn_from(twice, seed=1)
    return None if larger.half_width is None else (len(larger.cells), larger.half_width)


def measured_pace(collection: Collection) -> float | None:
    """Return the median, over people, of their seconds per rating in the collection, at least LEAST_SECONDS.

    None if nobody rated.
    """
    turns = Turn.objects.filter(campaign__collection=collection, state__in=Turn.DONE).exclude(done_at=None)
    times: dict[int | None, list[datetime | None]] = defaultdict(list)
    for person, at in turns.order_by("-done_at").values_list("person", "done_at")[:LAST_TURNS]:
        if len(times[person]) <= PACE_OF:
            times[person].append(at)
    paces = [one for one in map(pace, times.values()) if one]
    return max(LEAST_SECONDS, median(paces)) if paces else None


def close_pairs(inputs: ChoiceInputs, drawn: ChosenCells) -> tuple[Pair, ...]:
    """Return the neighbouring runs by Rubric-Cover@k that errors of the grader could swap.

    Each cell that nobody rated may change sides of the threshold with `ordering.flip_chances`, independently;
    the variance of a pair's difference is the sum over the cells that alone decide it for one of the two. A
    pair is close if the difference is below `SURE` standard deviations. Rating the drawn cells takes their
    variance away and moves the difference by as much; the chance is that what then remains is too little to
    turn it. Whether the topics tell the two apart is another question, which `max_t` answers for all pairs of
    runs together, as on the leaderboard.
    """
    means = inputs.means
    if len(means) < 2:
        return ()
    before, after = _variances(inputs, drawn)
    order = np.argsort(-means, kind="stable")
    gaps = -np.diff(means[order])
    names = [inputs.pool.run_tags[at] for at in order]
    chances = settling_chances(gaps, before, after)
    is_close = gaps < SURE * np.sqrt(before)
    p = pairwise_p(inputs.scores)[order[:-1], order[1:]] if is_close.any() else np.ones(len(gaps))
    return tuple(
        Pair(names[at], names[at + 1], float(chances[at]), bool(p[at] <= ALPHA))
        for at in np.flatnonzero(is_close).tolist()
    )


def _variances(inputs: ChoiceInputs, drawn: ChosenCells) -> tuple[Floats, Floats]:
    """Of each neighbouring pair's difference: before the campaign, and with its cells rated."""
    human = human_matrices(inputs.pool)
    chosen: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for cell in drawn.cells:
        chosen[cell.topic].add((cell.passage, cell.revision))
    before = np.zeros(max(len(inputs.means) - 1, 0))
    after = before.copy()
    for sheet in inputs.sheets:
        uids = [column.item_column.uid for column in sheet.columns]
        rated = human[sheet.pool.topic_id].matrix.columns(uids).ratings >= 0
        chances = np.where(rated, 0.0, ordering.flip_chances(sheet.cells, inputs.checked))
        doubts = ordering.pair_doubts(sheet.cells, chances, inputs.means, len(inputs.sheets))
        places = chosen[sheet.pool.topic_id]
        is_drawn = np.array(
            [[(pk, one.revision) in places for one in sheet.columns] for pk in sheet.pool.passage_pks]
        )
        before += doubts.sum(axis=(1, 2))
        after += (doubts * ~is_drawn).sum(axis=(1, 2))
    return before, after


def settling_chances(gaps: Floats, before: Floats, after: Floats) -> Floats:
    """By pair: the probability that its difference ends beyond `SURE` standard deviations of what remains.

    A difference of 0.1 that half of a variance of 0.01 may still move:

    >>> two = settling_chances(np.full(2, 0.1), np.full(2, 0.01), np.array([0.005, 0.0]))
    >>> two.round(2).tolist()
    [0.29, 1.0]
    """
    from scipy.special import ndtr  # a tenth of a second that commands start without

    margin, moved = SURE * np.sqrt(after), np.sqrt(np.maximum(before - after, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        within = ndtr((margin - gaps) / moved) - ndtr((-margin - gaps) / moved)
    chances = np.where(moved > 0, 1 - within, gaps > margin)
    return np.asarray(np.where(after > 0, chances, 1.0), dtype=np.float64)
