"""Rubric-Cover by people, estimated for every run from the cells that campaigns drew at random.

Which cells count is said by their `Draw`: one over all cells alike serves every board, a sample for
Rubric-Cover serves boards of its graders, threshold and cutoff. Either must have had the board's
items to draw from. Ratings of cells that a person chose to rate count for nothing here: people check what
looks wrong first.
"""

from __future__ import annotations

from collections.abc import Collection as Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import Length
from numpy.typing import NDArray

from grading.statistics.agreement import Checks, checks
from grading.statistics.cover_estimate import (
    CELLS_AN_ITEM,
    NOT_RATED,
    Estimates,
    SampleSize,
    Unit,
    estimate,
    sample_size,
)
from grading.types import MIN_RATING
from rubricweb.campaigns.models import CampaignCell
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Passage
from rubricweb.corpus.pools import CACHED_TOPICS, TopicPool
from rubricweb.grades.human_matrices import CheckedGrades
from rubricweb.grades.human_models import Draw, HumanGrade
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.scoring import MeasureSpec, Uids
from rubricweb.grades.topic_ratings import UNJUDGED, judged
from rubricweb.leaderboards.board import BoardSpec, EstimateSample, RunEstimate
from rubricweb.leaderboards.board.scores import Basis, TopicItems, answered, parts, wordings_of

MOST_UNSAMPLED = 0.05
"""The share of a board's items that may lie outside the draws, where they widen the intervals."""
KEPT = 64
NOT_DRAWN = "no campaign drew pairs for it"

Floats = NDArray[np.float64]
Item = tuple[int, str]
"""Topic and uid of the wording."""
Found = tuple[tuple[RunEstimate | None, ...], EstimateSample]


@dataclass(frozen=True, slots=True)
class EstimatedPart:
    """A topic or subtopic of the board; equal as long as nobody grades, rates or imports."""

    graded: TopicGrades
    checked: CheckedGrades
    uids: Uids
    min_relevant: int

    @property
    def relevant(self) -> NDArray[np.bool_] | None:
        """Shape (passages,): judged relevant; None for a topic without judgments."""
        if not len(self.graded.pool.judged.rows):
            return None
        return np.asarray(judged(self.graded.pool) >= self.min_relevant)

    def items(self, k: int) -> set[Item]:
        """Return the items that can be covered: some run has pooled passages among its first k."""
        is_ranked = (self.graded.pool.ranked_rows[:, :k] >= 0).any()
        return {(self.graded.pool.topic_id, uid) for uid in self.uids} if is_ranked else set()


@dataclass(frozen=True, slots=True)
class Draws:
    """Primary keys of draws that serve a board, and of those of its collection that do not."""

    serving: frozenset[int]
    others: frozenset[int]
    sampled: frozenset[Item]
    """Items of the board that the serving ones could draw from, or where none serves the nearest to it."""
    is_any: bool
    """Some draw was for such a board, though it may lack items."""


def estimated(base: Basis, checked: Mapping[int, CheckedGrades]) -> Found:
    """Return the estimate of each run, and the sample behind it; None for every run without a sample."""
    units = [(topic, listed) for topic, listed in base.units() if listed.uids]
    graded = matrices(base.spec.config, base.pool)
    board = tuple(
        EstimatedPart(
            graded[topic.topic_id], checked[topic.topic_id], listed.uids, base.spec.collection.min_relevant
        )
        for topic, listed in units
    )
    items = {item for part in board for item in part.items(base.spec.measure.depth)}
    draws = _draws(base.spec, items)
    left_out = items - draws.sampled
    shares = unit_shares(base, units)
    sizes = [len(items.uids) for _, items in units]
    worths = [_worths(items, base.spec) for _, items in units]
    adds = np.asarray(shares.repeat(sizes, axis=1) * np.concatenate([*worths, np.zeros(0)]))
    outside = adds * np.array([(p.graded.pool.topic_id, uid) in left_out for p in board for uid in p.uids])
    made = _estimates(board, draws.serving, base.spec.measure, (adds - outside).tobytes())
    elsewhere = sum(n_drawn(part.checked, part.uids, draws.others) for part in board)
    reason = _reason(made.size, len(left_out), len(items)) if draws.is_any else NOT_DRAWN
    sample = EstimateSample(made.size, Draw.Design.COVER, elsewhere, len(left_out), len(items), reason)
    if made.estimates is None or sample.reason:
        return (None,) * len(adds), sample
    under_way = progress(draws.serving)
    sample = replace(
        _with_cost(sample, made.estimates, base),
        drawn=under_way.drawn,
        rated=under_way.rated,
        checks=made.checks,
        knows_relevance=any(part.relevant is not None for part in board),
    )
    return _rows(made.estimates, outside.sum(axis=1)), sample


class SampleProgress(NamedTuple):
    drawn: int
    rated: int


def progress(draws: Container[int]) -> SampleProgress:
    """Return how many cells the campaigns of these draws ask for, and how many of them somebody rated."""
    ratings = HumanGrade.objects.filter(
        draw=OuterRef("campaign__draw"), revision=OuterRef("revision"), passage=OuterRef("passage")
    )
    cells = CampaignCell.objects.filter(campaign__draw__in=draws, is_random=True)
    return SampleProgress(**cells.aggregate(drawn=Count("pk"), rated=Count("pk", filter=Exists(ratings))))


def _draws(spec: BoardSpec, items: set[Item]) -> Draws:
    """Sort the draws by whether they serve the board: those that had all but MOST_UNSAMPLED of its items."""
    draws, item_of = draws_of(spec.collection.pk), wordings_of(spec)
    graders = set(_graders(spec.collection.pk))
    fitting = {draw.pk: draw for draw in draws if _fits(draw, spec, graders)}
    drawn_from = {
        pk: {item_of[revision] for revision in draw.revisions if revision in item_of} & items
        for pk, draw in fitting.items()
    }
    serving = {pk for pk, drawn in drawn_from.items() if len(drawn) >= (1 - MOST_UNSAMPLED) * len(items)}
    nearest = max(drawn_from.values(), key=len, default=set())
    sampled = nearest.union(*(drawn_from[pk] for pk in serving))
    others = {draw.pk for draw in draws} - serving
    return Draws(frozenset(serving), frozenset(others), frozenset(sampled), bool(fitting))


@read_once
def draws_of(collection_id: int) -> list[Draw]:
    """Return all draws of the collection, the first one first."""
    return _all_draws(collection_id)


@compiled_once
def _all_draws(collection: int) -> QuerySet[Draw]:
    return Draw.objects.filter(collection=collection)


@compiled_once
def _graders(collection: int) -> QuerySet[Any, tuple[int, int]]:
    """Return the pairs of a draw and a grader whose ratings split its cells."""
    rows = Draw.configs.through.objects.filter(draw__collection=collection)
    return rows.values_list("draw_id", "graderconfig_id")


def _fits(draw: Draw, spec: BoardSpec, graders: Container[tuple[int, int]]) -> bool:
    if draw.design == Draw.Design.CELLS:
        return True
    is_same = (draw.cutoff, draw.min_grade) == (spec.measure.depth, spec.measure.min_grade)
    return draw.design == Draw.Design.COVER and is_same and (draw.pk, spec.config.pk) in graders


class _Made(NamedTuple):
    estimates: Estimates | None
    size: SampleSize
    checks: Checks | None


@lru_cache(maxsize=KEPT)
def _estimates(
    board: tuple[EstimatedPart, ...], draws: frozenset[int], measure: MeasureSpec, adds: bytes
) -> _Made:
    items = sum(len(part.uids) for part in board)
    shares = np.frombuffer(adds).reshape(-1, items) if items else np.zeros((0, 0))
    ends = np.cumsum([len(part.uids) for part in board], dtype=np.intp)
    units = [
        _unit(part, draws, measure, shares[:, end - len(part.uids) : end])
        for part, end in zip(board, ends.tolist(), strict=True)
    ]
    size = sample_size(units)
    if not (units and size.is_enough and size.cells):
        return _Made(None, size, None)
    judgments = [np.where((labels := judged(part.graded.pool)) == UNJUDGED, np.nan, labels) for part in board]
    return _Made(estimate(units), size, checks(units, judgments, _lengths(board, units)))


def _lengths(board: Sequence[EstimatedPart], units: Sequence[Unit]) -> list[Floats]:
    """Return, by unit, the logarithm of the characters of each rated passage, shape (passages,).

    NaN for the other passages and those without a text.
    """
    rated = [np.flatnonzero((unit.human != NOT_RATED).any(axis=1)).tolist() for unit in units]
    pks = {part.graded.pool.passage_pks[row] for part, rows in zip(board, rated, strict=True) for row in rows}
    passages = Passage.objects.filter(pk__in=pks).annotate(n=Length("text"))
    chars = dict(passages.values_list("pk", "n"))
    lengths = []
    for part, rows in zip(board, rated, strict=True):
        of_part = np.full(len(part.graded.pool.doc_ids), np.nan)
        for row in rows:
            of_part[row] = np.log(n) if (n := chars.get(part.graded.pool.passage_pks[row])) else np.nan
        lengths.append(of_part)
    return lengths


def _unit(part: EstimatedPart, draws: frozenset[int], measure: MeasureSpec, adds: Floats) -> Unit:
    ranked = part.graded.pool.ranked_rows[:, : measure.depth]
    ratings = _people_ratings(part, draws, measure)
    reached = part.graded.matrix.columns(part.uids).ratings >= measure.min_grade
    return Unit(np.asarray(reached), ranked, ratings, adds, part.relevant)


@lru_cache(maxsize=CACHED_TOPICS)
def n_drawn(checked: CheckedGrades, uids: Uids, draws: frozenset[int]) -> int:
    """Return how many cells of the draws people rated."""
    return int(checked.drawn_in(uids, draws).sum())


def _people_ratings(part: EstimatedPart, draws: frozenset[int], measure: MeasureSpec) -> NDArray[np.int8]:
    """Return people's ratings of cells of the draws, shape (passages, items).

    These are 1 or 0 for rated cells among some run's first k, else NOT_RATED. A verdict without a rating
    turns the grader's answer around.
    """
    reached = part.graded.matrix.columns(part.uids).ratings >= measure.min_grade
    by_people = part.checked.matrix.columns(part.uids).ratings
    drawn = part.checked.drawn_in(part.uids, draws)
    in_top = np.zeros(len(reached) + 1, dtype=np.bool_)
    in_top[part.graded.pool.ranked_rows[:, : measure.depth]] = True
    truth = np.where(by_people >= MIN_RATING, by_people >= measure.min_grade, ~reached)
    rated = drawn & in_top[:-1, np.newaxis]
    return np.where(rated, truth, NOT_RATED).astype(np.int8)


def unit_shares(base: Basis, units: Sequence[tuple[TopicPool, TopicItems]]) -> Floats:
    """Return an array of shape (runs, units): the share of each topic in the run's mean."""
    has_ranking = answered(topic for topic, _ in units).reshape(len(base.pool.run_tags), len(units))
    counts = has_ranking if base.spec.skips_missing else np.ones_like(has_ranking)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def _worths(items: TopicItems, spec: BoardSpec) -> Floats:
    """Return what covering each item adds to the score of the averaged topic or subtopic, shape (items,)."""
    averaged = parts(items, spec)
    worth = {uid: 1 / len(part.uids) / len(averaged) for part in averaged for uid in part.uids}
    return np.array([worth[uid] for uid in items.uids])


def _reason(size: SampleSize, unsampled: int, items: int) -> str:
    """Return the reason for which there is no estimate."""
    if unsampled > MOST_UNSAMPLED * items:
        return f"{unsampled:,} of its {items:,} items could not be drawn: they had no text then, or are newer"
    if size.items < size.needed_items:
        return (
            f"too few ratings: {size.items} items have {CELLS_AN_ITEM} or more rated pairs of the sample "
            f"that the grader rates below the threshold, and {size.needed_items} are needed to see whether "
            "what it misses falls on few items"
        )
    if size.above < size.needed_above:
        return (
            f"too few ratings: {size.above} rated pairs of the sample are at or above the threshold by the "
            f"grader, and {size.needed_above} are needed"
        )
    return ""


def _rows(estimates: Estimates, outside: Floats) -> tuple[RunEstimate, ...]:
    """Return the estimate of each run, widened by the items outside the draws.

    Nothing is known of them: they widen the interval from none covered to all.
    """
    return tuple(
        RunEstimate(value + unknown / 2, low, high + unknown)
        for value, low, high, unknown in zip(
            estimates.value.tolist(),
            estimates.low.tolist(),
            estimates.high.tolist(),
            outside.tolist(),
            strict=True,
        )
    )


def _with_cost(sample: EstimateSample, estimates: Estimates, base: Basis) -> EstimateSample:
    """Return what more cells would do to the median run's interval.

    The variance that stems from the rates falls with the size of the sample, the rest with the share of cells
    that stay unknown.
    """
    of_rates = float(np.median(estimates.settled))
    pools = [(topic, len(listed.uids)) for topic, listed in base.units()]
    k, have = base.spec.measure.depth, sample.size.cells
    there = sum(len(np.unique(t.ranked_rows[:, :k][t.ranked_rows[:, :k] >= 0])) * items for t, items in pools)
    sizes = np.arange(have, max(there, have + 1))
    variances = of_rates * have / sizes + (1 - of_rates) * (there - sizes) / max(there - have, 1)
    enough = np.flatnonzero(variances <= 1 / 4)
    twice = variances[min(have, len(sizes) - 1)]
    return replace(
        sample, narrower=float(1 - np.sqrt(twice)), to_halve=int(enough[0]) if len(enough) else None
    )
