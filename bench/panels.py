"""Panels: is the effective number right, does its interval hold, and do learned weights help?

    OPENBLAS_NUM_THREADS=1 python bench/panels.py [--write]

Made-up judges rate cells 0 to 5 beside people. Each repeats an error that all have in common with a chance
of the root of r, so that r is the correlation of two judges' errors; on *lumpy* data topics have 2 to 60
cells and more, and half of the common errors are of the whole topic. Found: of all settings of judges and r
the worst distance of the effective number from the number of independent judges whose mean errs as much, as a
share of that; how often the interval holds n / (1 + (n - 1) r).

Rules: five judges, of whom some err together; how often the panel covers what people say is covered, by rule,
beside its best member. Weights are learned from other cells, as many as *rated*.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from _certainty import Row, report, share  # noqa: E402

from grading.statistics.panel import PanelRule, effective_judges, error_weights, panel_rating  # noqa: E402

SEED = 28_11
JUDGES, SHARED, TOPICS = (2, 3, 5, 9), (0.0, 0.2, 0.5, 0.8, 1.0), (8, 25, 54)
TRIES = 200
TRUTH = 40_000
VALUES = np.array([-2.0, -1, 0, 0, 1])
WORLDS = {
    "alike and apart": ((0.2, 0.2, 0.2, 0.2, 0.2), ()),
    "three of five err together": ((0.2, 0.2, 0.2, 0.2, 0.2), (0, 1, 2)),
    "one good, four poor that err together": ((0.1, 0.35, 0.35, 0.35, 0.35), (1, 2, 3, 4)),
}
"""How often each judge errs, and who repeats the first one's errors with a chance of 0.9."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def main() -> None:
    report("panels", [*effective(), *rules()])


def errors_of(random: Generator, topics: Ints, judges: int, shared: float, *, is_lumpy: bool) -> Floats:
    """Return an array of shape (cells, judges)."""
    common = random.choice(VALUES, len(topics))
    if is_lumpy:
        of_topic = random.choice(VALUES, topics.max() + 1)[topics]
        common = np.where(random.random(len(topics)) < 0.5, of_topic, common)
    own = random.choice(VALUES, (len(topics), judges))
    repeats = random.random((len(topics), judges)) < sqrt(shared)
    return np.where(repeats, common[:, np.newaxis], own)


def topics_of_cells(random: Generator, topics: int, *, is_lumpy: bool) -> Ints:
    lumpy = np.maximum(2, random.lognormal(2.3, 0.9, topics).astype(int))
    return np.repeat(np.arange(topics), lumpy if is_lumpy else random.integers(8, 25, topics))


def effective() -> Iterator[Row]:
    off = []
    for judges, shared in product(JUDGES, SHARED):
        random = default_rng([SEED, judges, int(shared * 10)])
        topics = np.arange(TRUTH) % 200
        errors = errors_of(random, topics, judges, shared, is_lumpy=False)
        truth = float(errors.var(axis=0).mean() / errors.mean(axis=1).var())
        off.append((abs(effective_judges(errors, topics).effective - truth) / truth, judges, shared))
    worst, judges, shared = max(off)
    setting = f"effective number, worst of {len(off)}: {judges} judges, r {shared}"
    yield Row(f"{setting}: off by", "0", worst, 1 / sqrt(TRUTH), SEED)
    for is_lumpy, topics_of in product((False, True), TOPICS):
        name = "lumpy" if is_lumpy else "even"
        held = {
            (judges, shared): _held(judges, shared, topics_of, is_lumpy=is_lumpy)
            for judges, shared in product(JUDGES, SHARED[1:-1])
        }
        judges, shared = min(held, key=lambda key: held[key])
        setting = f"interval, {name}, {topics_of} topics, worst of {len(held)}: {judges} judges, r {shared}"
        yield share(setting, ".95", held[judges, shared], TRIES, SEED)


def _held(judges: int, shared: float, n_topics: int, *, is_lumpy: bool) -> int:
    exact, count = judges / (1 + (judges - 1) * shared), 0
    for number in range(TRIES):
        random = default_rng([SEED, judges, int(shared * 10), n_topics, number])
        topics = topics_of_cells(random, n_topics, is_lumpy=is_lumpy)
        errors = errors_of(random, topics, judges, shared, is_lumpy=is_lumpy)
        interval = effective_judges(errors, topics).interval
        count += interval.low <= exact <= interval.high
    return count


def rules() -> Iterator[Row]:
    for world, (rates, together) in WORLDS.items():
        for rated in (50, 400):
            random = default_rng([SEED, rated])
            truth = random.integers(0, 2, rated + TRUTH)
            wrong = random.random((len(truth), len(rates))) < rates
            for judge in together[1:]:
                repeats = random.random(len(truth)) < 0.9
                wrong[:, judge] = np.where(repeats, wrong[:, together[0]], wrong[:, judge])
            votes = np.where(wrong, 1 - truth[:, np.newaxis], truth[:, np.newaxis])
            weights = error_weights((votes - truth[:, np.newaxis])[:rated].astype(np.float64)).tolist()
            best = float((~wrong[rated:]).mean(axis=0).max())
            for rule in (PanelRule.MAJORITY, PanelRule.WEIGHTS):
                made = [panel_rating(rule, row, weights) for row in votes[rated:].tolist()]
                right = sum(
                    one is not None and one.rating == true
                    for one, true in zip(made, truth[rated:].tolist(), strict=True)
                )
                if rule is PanelRule.WEIGHTS or rated == 50:
                    by = f"weights of {rated} rated" if rule is PanelRule.WEIGHTS else "majority"
                    yield share(f"{world}, {by}; best member {best:.3f}", "", right, TRUTH, SEED)


if __name__ == "__main__":
    main()
