"""Compare a board with people: which cells they saw, and estimates from sums over their ratings.

Scores by people that are sums over what they rate, estimated for every run from the cells of one draw.

Two kinds of scores are: those of items, for runs with one passage a topic among their first k (an answer),
and P@k, over whole passages with all their items. Nothing is assumed of the grader, but every cell must have
had a known chance to be drawn: passages and items that are newer than the draw are outside. Of several draws
that serve the board, the one with most rated cells counts.
"""

from __future__ import annotations

from collections.abc import Collection as Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.arrays import divide, take_rows
from grading.measures import CellCredits, GradedTopic, ItemMeasure, cover, registry
from grading.statistics.cover_estimate import SampleSize
from grading.statistics.cover_sample import MIN_UNITS, LinearEstimates, Units, linear_estimate
from grading.types import MISSING, Ratings
from rubricweb.banks.models import ItemRevision
from rubricweb.campaigns.models import CampaignCell
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.pools import CACHED_TOPICS, TopicPool
from rubricweb.corpus.topic_pools import trec_rows
from rubricweb.grades.human_matrices import CheckedGrades, corrected
from rubricweb.grades.human_models import Draw, HumanStamp
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.scoring import Uids
from rubricweb.leaderboards.board import BoardSpec, EstimateSample, RunEstimate
from rubricweb.leaderboards.board.estimated import (
    MOST_UNSAMPLED,
    NOT_DRAWN,
    Floats,
    Found,
    draws_of,
    estimated,
    n_drawn,
    progress,
    unit_shares,
)
from rubricweb.leaderboards.board.scores import Basis, TopicItems, parts
from rubricweb.leaderboards.board.sentences import AVOIDED, SEVERAL

Mask = NDArray[np.bool_]
Place = tuple[int, str]
"""A passage, and the uid of a wording."""


@dataclass(frozen=True, eq=False)
class _TopicUnits:
    """One topic's: of shape (units,), but for `weights` of shape (runs, units)."""

    weights: Floats
    grader: Floats
    by_people: Floats
    chances: Floats
    can_be_drawn: Mask


def _is_sum(base: Basis) -> bool:
    """Return whether the score of every run is a sum over cells, or over passages."""
    measure = base.spec.measure.registered
    if not isinstance(measure, ItemMeasure):
        return True
    k = base.spec.measure.depth
    tops = (topic.ranked_rows[:, :k] >= 0 for topic in base.pool.topics)
    return measure.cells is not None and all((top.sum(axis=1) <= 1).all() for top in tops)


def estimated_sums(base: Basis, checked: Mapping[int, CheckedGrades]) -> Found:
    """Return the estimate of each run, and the sample behind it; None for a run with too few rated cells."""
    design = Draw.Design.PASSAGES if base.spec.measure.uses_labels else Draw.Design.ANSWERS
    units = [(topic, items) for topic, items in base.units() if items.uids]
    draws = draws_of(base.spec.collection.pk)
    rated = {draw.pk: _n_rated(units, checked, draw) for draw in draws}
    fitting = [draw for draw in draws if _fits(draw, base.spec, design)]
    elsewhere = sum(rated[draw.pk] for draw in draws if draw not in fitting)
    nobody = (None,) * len(base.pool.run_tags)
    is_sum = _is_sum(base)
    if not fitting or not units or not nobody or not is_sum:
        nothing = SampleSize(below=0, above=0, items=0, needed_items=0, needed_above=0)
        return nobody, EstimateSample(nothing, design, elsewhere, reason=NOT_DRAWN if is_sum else SEVERAL)
    draw = max(fitting, key=lambda each: rated[each.pk])
    gathered, can_be_drawn = _gathered(base, units, checked, draw)
    if (gathered.weights < 0).any():
        return nobody, EstimateSample(_size(gathered), design, elsewhere, reason=AVOIDED)
    under_way = progress([draw.pk])
    share_rated = under_way.rated / max(under_way.drawn, 1)
    within = Units(
        gathered.weights[:, can_be_drawn],
        gathered.grader[can_be_drawn],
        gathered.human[can_be_drawn],
        gathered.chances[can_be_drawn] * share_rated,
    )
    estimates, outside = linear_estimate(within), gathered.weights[:, ~can_be_drawn].sum(axis=1)
    is_covered = outside <= MOST_UNSAMPLED * gathered.weights.sum(axis=1)
    is_given = np.isfinite(estimates.value) & is_covered
    sample = EstimateSample(
        _size(within),
        design,
        elsewhere,
        unsampled=int((~can_be_drawn & gathered.weights.any(axis=0)).sum()),
        items=len(can_be_drawn),
        reason="" if is_given.any() else _reason(estimates, is_covered),
        drawn=under_way.drawn,
        rated=under_way.rated,
    )
    return _rows(estimates, outside, is_given), _with_cost(sample, estimates, within.weights)


def _n_rated(
    units: Sequence[tuple[TopicPool, TopicItems]], checked: Mapping[int, CheckedGrades], draw: Draw
) -> int:
    draws = frozenset({draw.pk})
    return sum(n_drawn(checked[topic.topic_id], items.uids, draws) for topic, items in units)


def _fits(draw: Draw, spec: BoardSpec, design: Draw.Design) -> bool:
    if draw.design == Draw.Design.CELLS:
        return design == Draw.Design.ANSWERS
    return draw.design == design and draw.cutoff == cutoff_of(spec)


def cutoff_of(spec: BoardSpec) -> int:
    """Return how many passages of a run the score is made of."""
    return registry.find(spec.measure.name).cutoff or spec.measure.depth


def _gathered(
    base: Basis,
    units: Sequence[tuple[TopicPool, TopicItems]],
    checked: Mapping[int, CheckedGrades],
    draw: Draw,
) -> tuple[Units, Mask]:
    """Return the units of all topics, and which of them the draw could draw."""
    graded, shares = matrices(base.spec.config, base.pool), unit_shares(base, units)
    cells = CampaignCell.objects.filter(campaign__draw=draw, is_random=True)
    rows = cells.values_list("passage", "revision__uid", "draw_probability")
    wordings = ItemRevision.including_secret.filter(pk__in=draw.revisions).values_list("topic", "uid")
    population = _Population(
        {(passage, uid): chance for passage, uid, chance in rows}, set(draw.passages), set(wordings)
    )
    of_topics = [
        _Topic(
            base.spec, items, graded[topic.topic_id], checked[topic.topic_id], draw.pk, share, population
        ).units()
        for (topic, items), share in zip(units, shares.T, strict=True)
    ]
    weights = np.concatenate([each.weights for each in of_topics], axis=1)
    units_of_all = Units(
        weights,
        np.concatenate([each.grader for each in of_topics]),
        np.concatenate([each.by_people for each in of_topics]),
        np.concatenate([each.chances for each in of_topics]),
    )
    return units_of_all, np.concatenate([each.can_be_drawn for each in of_topics])


@dataclass(frozen=True, slots=True)
class _Population:
    """What a draw could draw, and the chance of each cell that it drew."""

    chances: Mapping[Place, float]
    passages: Container[int]
    """Empty for all."""
    wordings: Container[tuple[int, str]]

    def drawable(self, topic: TopicPool, rows: Sequence[int], uids: Uids) -> Mask:
        """Return an array of shape (rows, items)."""
        passages = [not self.passages or topic.passage_pks[row] in self.passages for row in rows]
        wordings = [(topic.topic_id, uid) in self.wordings for uid in uids]
        return np.outer(np.array(passages, dtype=np.bool_), np.array(wordings, dtype=np.bool_))

    def chances_of(self, topic: TopicPool, rows: Sequence[int], uids: Uids) -> Floats:
        """Return an array of shape (rows, items); NaN for cells that were not drawn."""
        pks = [topic.passage_pks[row] for row in rows]
        chances = [[self.chances.get((pk, uid), np.nan) for uid in uids] for pk in pks]
        return np.array(chances, dtype=np.float64).reshape(len(rows), len(uids))


@dataclass(frozen=True, eq=False)
class _Topic:
    """One topic, or a subtopic, of the board."""

    spec: BoardSpec
    items: TopicItems
    graded: TopicGrades
    checked: CheckedGrades
    draw: int
    share: Floats
    """Shape (runs,): of the topic in the run's mean."""
    population: _Population

    @property
    def pool(self) -> TopicPool:
        return self.graded.pool

    def units(self) -> _TopicUnits:
        return self._of_passages() if self.spec.measure.uses_labels else self._of_cells()

    def _of_cells(self) -> _TopicUnits:
        ranked = self.pool.ranked_rows[:, : self.spec.measure.depth]
        only = ranked.max(axis=1, initial=-1)
        rows = np.unique(only[only >= 0])
        measure = self.spec.measure.registered
        assert isinstance(measure, ItemMeasure)  # noqa: S101 - `is_sum` has looked
        assert measure.cells is not None  # noqa: S101
        cells, min_grade = measure.cells, self.spec.measure.min_grade
        reached, by_people, is_rated = self._ratings(rows)
        grader = cells.credit(reached, min_grade)
        ratings = np.where(by_people == MISSING, 1 - grader, cells.credit(by_people, min_grade))
        of_runs = (only[:, np.newaxis] == rows) * self.share[:, np.newaxis]
        weights = of_runs[:, :, np.newaxis] * _worths(self.items, self.spec, cells)
        chances = self.population.chances_of(self.pool, rows.tolist(), self.items.uids)
        return _TopicUnits(
            weights.reshape(len(ranked), grader.size),
            grader.ravel(),
            np.where(is_rated & ~np.isnan(chances), ratings, np.nan).ravel(),
            chances.ravel(),
            self.population.drawable(self.pool, rows.tolist(), self.items.uids).ravel(),
        )

    def _of_passages(self) -> _TopicUnits:
        measure, k = self.spec.measure, cutoff_of(self.spec)
        ranked = trec_rows(self.pool, measure.trec_eval)[:, :k]
        rows = np.unique(ranked[ranked >= 0])
        by_grader, by_people, is_rated = self._ratings(rows)
        turned = np.where(by_grader >= measure.min_grade, 0, measure.min_grade)
        by_people = np.where(by_people == MISSING, turned, by_people).astype(np.int8)
        weights = (ranked[:, :, np.newaxis] == rows).sum(axis=1) / k * self.share[:, np.newaxis]
        chances = self.population.chances_of(self.pool, rows.tolist(), self.items.uids)
        drawable = self.population.drawable(self.pool, rows.tolist(), self.items.uids)
        is_whole = (is_rated & ~np.isnan(chances)).all(axis=1)
        return _TopicUnits(
            weights,
            self._relevant(by_grader),
            np.where(is_whole, self._relevant(by_people), np.nan),
            chances[:, 0],
            np.asarray(drawable.all(axis=1)),
        )

    def _ratings(self, rows: NDArray[np.int32]) -> tuple[Ratings, Ratings, Mask]:
        """Return the grader's ratings, people's, and the drawn cells that people rated, shape (rows, items).

        MISSING for a cell that people only marked as wrong.
        """
        uids = self.items.uids
        graded, checked = (each.matrix.columns(uids).ratings[rows] for each in (self.graded, self.checked))
        return graded, checked, self.checked.drawn_in(uids, [self.draw])[rows]

    def _relevant(self, ratings: Ratings) -> Floats:
        """Return the share of the averaged subtopics that each passage is relevant for, shape (passages,).

        1 or 0 without subtopics.
        """
        measure, of = self.spec.measure, parts(self.items, self.spec)
        columns = [[self.items.uids.index(uid) for uid in part.uids] for part in of]
        reached = {"min_grade": measure.min_grade, "min_answers": measure.min_answers}
        labels = [cover.labels(ratings[:, each], mode=measure.mode, **reached) for each in columns]
        return np.asarray(np.mean([each >= measure.level for each in labels], axis=0, dtype=np.float64))


def _worths(items: TopicItems, spec: BoardSpec, cells: CellCredits) -> Floats:
    """Return what a full credit adds to the score of the averaged topic or subtopic, shape (items,)."""
    averaged = parts(items, spec)
    nothing = (np.zeros((0, 0), dtype=np.int8), np.zeros((0, 0), dtype=np.int32))
    worths = [cells.worths(GradedTopic(*nothing, part.weights)) / len(averaged) for part in averaged]
    worth = {
        uid: each
        for part, of in zip(averaged, worths, strict=True)
        for uid, each in zip(part.uids, of.tolist(), strict=True)
    }
    return np.array([worth[uid] for uid in items.uids])


def _size(gathered: Units) -> SampleSize:
    is_rated, is_above = ~np.isnan(gathered.human), gathered.grader >= 0.5
    return SampleSize(
        below=int((is_rated & ~is_above).sum()),
        above=int((is_rated & is_above).sum()),
        items=0,
        needed_items=0,
        needed_above=0,
        misses=int((~is_above & (gathered.human >= 0.5)).sum()),
    )


def _reason(estimates: LinearEstimates, is_covered: Mask) -> str:
    """Return why there is no estimate of any run, in words."""
    if not is_covered.any():
        return "most of its pairs could not be drawn: passages or items are newer than the draw"
    most = int(estimates.n_rated.max(initial=0))
    return f"too few ratings: no run has more than {most}, and {MIN_UNITS} are needed"


def _rows(estimates: LinearEstimates, outside: Floats, is_given: Mask) -> tuple[RunEstimate | None, ...]:
    """Return the estimate of each run, widened by the cells outside the draw.

    Nothing is known of them: they widen the interval from no credit to all.
    """
    ends = zip(estimates.value.tolist(), estimates.low.tolist(), estimates.high.tolist(), strict=True)
    return tuple(
        RunEstimate(value + unknown / 2, low, high + unknown) if given else None
        for (value, low, high), unknown, given in zip(ends, outside.tolist(), is_given.tolist(), strict=True)
    )


def _with_cost(sample: EstimateSample, estimates: LinearEstimates, weights: Floats) -> EstimateSample:
    """Return the sample with what more cells would do to the interval of a middling run.

    Its variance is in proportion to 1 / rated - 1 / all.
    """
    rated, there = (float(np.median(each)) for each in (estimates.n_rated, (weights > 0).sum(axis=1)))
    if not 0 < rated < there:
        return sample
    now = 1 / rated - 1 / there
    twice = max(1 / (2 * rated) - 1 / there, 0.0)
    to_halve = sample.size.cells * (1 / (now / 4 + 1 / there) / rated - 1)
    return replace(sample, narrower=float(1 - np.sqrt(twice / now)), to_halve=round(to_halve))


@dataclass(frozen=True, slots=True)
class Verified:
    cells: int
    """Cells of the pool and the board's items that people have rated or verified."""
    of: int
    """All of these cells."""
    shares: NDArray[np.float64]
    """Shape (runs,): of the cells of the first k passages; NaN without any."""
    estimates: tuple[RunEstimate | None, ...]
    sample: EstimateSample | None = None


@compiled_once
def _rated(collection: int) -> QuerySet[HumanStamp, int]:
    """Return a stamp of people's ratings, if there is one."""
    return HumanStamp.objects.filter(topic__collection=collection).values_list("pk", flat=True)[:1]


def verified(base: Basis, k: int) -> Verified:
    runs = len(base.pool.run_tags)
    units = [(topic, items) for topic, items in base.units() if items.uids]
    of = sum(len(topic.doc_ids) * len(items.uids) for topic, items in units)
    if not _rated(base.spec.collection.pk):
        return Verified(0, of, np.full(runs, np.nan), (None,) * runs)
    checked = corrected(base.spec.config, base.pool)
    counts = [checked_counts(checked[topic.topic_id], items.uids, k) for topic, items in units]
    cells = sum(int(checked[topic.topic_id].checked_in(items.uids).sum()) for topic, items in units)
    seen, all_cells = np.sum(counts, axis=0) if counts else np.zeros((2, runs))
    shares = divide(seen, all_cells)
    if not base.spec.measure.has_estimate:
        return Verified(cells, of, shares, (None,) * runs)
    measure = base.spec.measure.registered
    is_modelled = isinstance(measure, ItemMeasure) and measure.has_estimate
    sums = estimated_sums(base, checked)
    estimates = estimated(base, checked) if is_modelled and not any(sums[0]) else sums
    return Verified(cells, of, shares, *estimates)


@lru_cache(maxsize=CACHED_TOPICS)
def checked_counts(grades: CheckedGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Return how many cells of each run's first k pooled passages people saw, and all; shape (2, runs)."""
    per_passage = grades.checked_in(uids).sum(axis=1)
    top = grades.pool.ranked_rows[:, :k]
    return np.array(
        [take_rows(per_passage, top).sum(axis=1), (top >= 0).sum(axis=1) * len(uids)], dtype=np.int64
    )
