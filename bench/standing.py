"""Whether the meta-evaluation is right about which graders are as good as the best, and what moved.

    python bench/standing.py [--write]

Graders that are equally good: each sees a run's true score of a topic with errors of the same size. On how
many tables is some grader called clearly behind the best; and on how many is one found whose errors are three
times as large? Then two boards by graders of the same truth: on how many does some run move clearly?
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from _certainty import Row, report, share  # noqa: E402

from grading.statistics.max_t import ALPHA, adjusted_p  # noqa: E402
from grading.statistics.mean_intervals import resamples  # noqa: E402
from grading.statistics.rank_correlation import Coefficient, correlate, resampled  # noqa: E402
from grading.statistics.rank_intervals import (  # noqa: E402
    relative_gains,
    standings,
)

Floats = NDArray[np.float64]
SEED, TABLES, RUNS, RESAMPLES = 9, 200, 20, 1_000


def main() -> None:
    rows = [_called(graders, topics, 1.0) for graders, topics in ((2, 25), (4, 25), (8, 25), (8, 54), (4, 8))]
    rows += [_called(4, topics, 3.0) for topics in (25, 54)]
    report("graders", rows)
    report("moves", [_moved(runs, topics) for runs, topics in ((10, 12), (26, 25), (26, 54))])


def _called(graders: int, topics: int, worse: float) -> Row:
    random, count = default_rng(SEED), 0
    for _ in range(TABLES):
        truth = _truth(random, topics)
        values, draws = [], []
        for grader in range(graders):
            spread = 0.15 * (worse if grader == graders - 1 else 1.0)
            scores = truth + random.normal(0, spread, truth.shape)
            values.append(correlate(scores.mean(axis=1), truth.mean(axis=1), Coefficient.KENDALL).value)
            drawn = resamples(topics, RESAMPLES).astype(np.float64) / topics
            draws.append(resampled(drawn @ scores.T, drawn @ truth.T, Coefficient.KENDALL))
        behind = [one is not None and not one.is_as_good for one in standings(values, draws, topics=topics)]
        count += behind[-1] if worse > 1 else any(behind)
    kind = "the last errs three times as much, and is called behind" if worse > 1 else "equally good"
    nominal = "power" if worse > 1 else "at most .05"
    return share(f"{graders} graders x {topics} topics, {kind}", nominal, count, TABLES, SEED)


def _moved(runs: int, topics: int) -> Row:
    random, count = default_rng(SEED), 0
    for _ in range(TABLES):
        truth = np.linspace(0.3, 0.6, runs)[:, np.newaxis] + random.normal(0, 0.12, (runs, topics))
        before, after = (truth + random.normal(0, 0.1, truth.shape) for _ in range(2))
        count += bool((adjusted_p(relative_gains(before, after)) <= ALPHA).any())
    return share(f"{runs} runs x {topics} topics", "at most .05", count, TABLES, SEED)


def _truth(random: Generator, topics: int) -> Floats:
    return np.linspace(0.3, 0.6, RUNS)[:, np.newaxis] + random.normal(0, 0.12, (RUNS, topics))


if __name__ == "__main__":
    main()
