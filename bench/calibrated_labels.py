"""Labels calibrated by people: do the intervals hold, and do they order runs better than the highest grade?

    OPENBLAS_NUM_THREADS=1 python bench/calibrated_labels.py [FOLDER] [--write]

Intervals: cells of topics that people and a grader rated 0 to 5, made up in SHAPES of how a rating follows
from a grade, with 5 to 17 cells a topic and topics of different level. The truth is the isotonic fit over
40,000 topics. Found: by number of topics and shape, how often the interval of the worst grade holds it.

Order of runs: FOLDER has the files of LLMJudge (`graded.jsonl.gz`, `runs/`), whose judgments 0 to 3 take the
place of people's ratings of passages; the grade of a passage is its highest. Printed: Kendall's tau of the
runs with the board by judgments, by plain labels and by calibrated ones, cross-fitted, and the interval of
the difference over topics (percentiles, as tau is no mean over topics).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from _certainty import Row, report, share  # noqa: E402

from grading.arrays import take_rows  # noqa: E402
from grading.measures import NOT_POOLED, registry  # noqa: E402
from grading.statistics.calibrated_labels import isotonic, label_maps, label_rows  # noqa: E402
from grading.statistics.calibration import RatedCells  # noqa: E402
from grading.statistics.mean_intervals import resamples  # noqa: E402
from grading.statistics.rank_correlation import Coefficient, kendall, resampled  # noqa: E402

SEED, TRIES, TRUTH, DRAWS = 32_10, 200, 40_000, 2_000
TOPICS = (10, 25, 54)
MIN_GRADE = 4
CUTS = [-0.2, 0.3, 0.8, 1.2, 1.7]
MEASURES = (("ndcg_cut_20", 2, 4), ("ndcg_cut_10", 2, 4), ("P_20", 2, 4), ("P_20", 2, 5), ("map", 2, 4))
"""Measure, first relevant judgment, and first relevant plain label."""
Floats = NDArray[np.float64]
Labels = NDArray[np.int16]


class Shape(NamedTuple):
    levels: tuple[float, ...]
    """The mean of people's latent opinion at each grade."""
    shares: tuple[float, ...]
    """How often the grader gives each grade."""
    by_topic: float = 0.4
    """The standard deviation of people's level over topics."""


EVEN = (1 / 6,) * 6
SHAPES = {
    "rises evenly": Shape((-0.5, 0.0, 0.5, 0.9, 1.3, 1.8), EVEN),
    "one step": Shape((0.1, 0.1, 0.1, 0.1, 1.4, 1.4), EVEN),
    "the grade says nothing": Shape((0.6,) * 6, EVEN),
    "mostly 0 4 5": Shape((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.45, 0.02, 0.02, 0.03, 0.38, 0.1)),
    "falls in the middle": Shape((0.0, 0.9, 0.3, 0.5, 1.2, 1.0), EVEN),
    "topics differ much": Shape((-0.5, 0.0, 0.5, 0.9, 1.3, 1.8), EVEN, 1.0),
}


def cells_of(shape: Shape, topics: int, random: Generator) -> RatedCells:
    """Draw the rated cells of so many topics."""
    sizes = random.integers(5, 18, topics)
    topic = np.repeat(np.arange(topics), sizes)
    grades = random.choice(6, len(topic), p=shape.shares)
    level = random.normal(0, shape.by_topic, topics)[topic]
    latent = np.array(shape.levels)[grades] + level + random.normal(0, 0.7, len(topic))
    return RatedCells(grades, np.digitize(latent, CUTS), topic)


def intervals() -> list[Row]:
    rows = []
    for name, shape in SHAPES.items():
        true = _truth(cells_of(shape, TRUTH, default_rng(SEED + 1)))
        for topics in TOPICS:
            random = default_rng(SEED)
            rows.append(_worst(f"{topics} topics, {name}", true, shape, topics, random))
    return rows


def _truth(cells: RatedCells) -> Floats:
    """Return an array of shape (grades, 2): the mean rating, and the share reaching the threshold."""
    counts = np.bincount(cells.grader, minlength=6).astype(np.float64)
    values = (cells.human, cells.human >= MIN_GRADE)
    sums = [np.bincount(cells.grader, weights=of, minlength=6) for of in values]
    return np.stack([isotonic(of, counts) for of in sums], axis=1)


def _worst(setting: str, true: Floats, shape: Shape, topics: int, random: Generator) -> Row:
    """Return the row of the number whose interval holds least often, of those with an interval mostly."""
    tries = np.stack([_values(shape, topics, random) for _ in range(TRIES)])
    holds = (tries[..., 1] <= true + 1e-9) & (true - 1e-9 <= tries[..., 2])
    is_defined = ~np.isnan(tries[..., 1])
    counted, defined = (holds & is_defined).sum(axis=0), is_defined.sum(axis=0)
    shares = np.where(defined >= TRIES / 2, counted / np.maximum(defined, 1), np.inf)
    grade, number = np.unravel_index(shares.argmin(), shares.shape)
    width = np.nanmean(tries[:, grade, number, 2] - tries[:, grade, number, 1])
    what = ("mean rating", "share reaching the threshold")[number]
    print(f"{setting}: {what} at grade {grade}, width {width:.2f}", flush=True)
    at = (grade, number)
    return share(f"{setting}: {what} at grade {grade}", ".95", int(counted[at]), int(defined[at]), SEED)


def _values(shape: Shape, topics: int, random: Generator) -> Floats:
    """Return an array of shape (grades, 2, 3): value, low and high of the mean rating and of the share."""
    rows = label_rows(cells_of(shape, topics, random), min_grade=MIN_GRADE)
    estimates = [(row.expected, row.reached) for row in rows]
    return np.array([[(e.value, e.interval.low, e.interval.high) for e in pair] for pair in estimates])


def orders(folder: Path) -> None:
    """Print whether calibrated labels order the runs of LLMJudge better than plain ones."""
    from bench.human_minutes import llmjudge  # brings Django up

    topics, _ = llmjudge(folder)
    plain = [topic.ratings.max(axis=1).clip(0).astype(np.int16) for topic in topics]
    judged = [topic.judged for topic in topics]
    ranked = [topic.ranked for topic in topics]
    cells = RatedCells(
        np.concatenate(plain).astype(np.int64),
        np.concatenate(judged).astype(np.int64),
        np.repeat(np.arange(len(topics)), [len(of) for of in plain]),
    )
    maps = label_maps(cells)
    print(f"{len(cells.grader)} passages of {len(topics)} topics; labels of grades 0 to 5: {maps.usual}")
    calibrated = [maps.labels(place, grades) for place, grades in enumerate(plain)]
    for measure, relevant, level in MEASURES:
        truth = order_scores(ranked, judged, measure, relevant)
        first, second = (
            order_scores(ranked, plain, measure, level),
            order_scores(ranked, calibrated, measure, 1),
        )
        drawn = _taus(second, truth) - _taus(first, truth)
        low, high = np.nanpercentile(drawn, [2.5, 97.5])
        print(
            f"{measure}, plain label >= {level}: tau {_tau(first, truth):.3f}, calibrated "
            f"{_tau(second, truth):.3f}; difference {low:.3f} to {high:.3f}"
        )


def _tau(scores: Floats, truth: Floats) -> float:
    """Return Kendall's tau of the means over topics of two arrays of shape (runs, topics)."""
    return kendall(np.nanmean(scores, axis=1), np.nanmean(truth, axis=1)).value or 0.0


def _taus(scores: Floats, truth: Floats) -> Floats:
    """Return the tau of each of 2,000 resamples of the topics."""
    return resampled(*(_resampled_means(of) for of in (scores, truth)), Coefficient.KENDALL)


def _resampled_means(scores: Floats) -> Floats:
    counts = resamples(scores.shape[1])[:DRAWS].astype(np.float64)
    is_defined = ~np.isnan(scores)
    return np.asarray((counts @ np.where(is_defined, scores, 0.0).T) / (counts @ is_defined.T))


def order_scores(ranked: list[NDArray[np.int32]], labels: list[Labels], measure: str, level: int) -> Floats:
    """Return the scores, shape (runs, topics)."""
    columns = []
    for rows, of_topic in zip(ranked, labels, strict=True):
        lengths = (rows >= 0).sum(axis=1)
        of_runs = take_rows(of_topic, rows, outside=NOT_POOLED)
        columns.append(
            registry.label_scores(
                of_runs, of_topic, measure, lengths=lengths, level=level, is_judged_only=False
            )
        )
    return np.column_stack(columns)


def main() -> None:
    folder = next((Path(argument) for argument in sys.argv[1:] if argument != "--write"), None)
    if folder:
        orders(folder)
    report("calibrated", intervals())


if __name__ == "__main__":
    main()
