"""Agreement, and bias by group: do the intervals hold, and is a grader without bias accused?

    OPENBLAS_NUM_THREADS=1 python bench/agreement_intervals.py [--write]

Cells of topics that people and a grader rated 0 to 5, made up. On *even* data topics have 8 to 24 cells and
the grader is somewhat higher or lower by topic; on *lumpy* data topics have 2 to 60 cells and more, and the
grader is as much off by topic as people's ratings vary; on *agreeing* data both mostly rate the same. The
truth is the number over 40,000 topics.

Groups: six families of runs that overlap (10 % to 60 % of the cells, more on some topics than on others) and
thirds by the length of passages; on *unlike* data the grader is twice as far off, either way, on the cells of
the smallest family. Found: on how many cards some group is called clear, without any bias; and how often the
family that has one is found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from _certainty import Row, report, share  # noqa: E402

from grading.arrays import divide  # noqa: E402
from grading.statistics.agreement import (  # noqa: E402
    cohen_kappa,
    ordinal_alpha,
    weighted_kappa,
)
from grading.statistics.calibration import RatedCells, bias_p  # noqa: E402
from grading.statistics.max_t import ALPHA  # noqa: E402
from grading.statistics.mean_intervals import statistic_interval  # noqa: E402

SEED = 28_05
CUTS = [-0.2, 0.3, 0.8, 1.2, 1.7]
WORLDS = {"even": (0.5, 0.4, 0.6), "lumpy": (1.0, 1.0, 0.6), "agreeing": (0.5, 0.1, 0.15)}
"""Standard deviations: of topics, of the grader by topic, and of the grader by cell."""
TOPICS = (5, 8, 12, 25, 54)
TRIES = 400
TRUTH = 40_000
FAMILIES = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
BIASED = 2
"""The family that covers 40 % of the cells."""
CARDS = 2_000
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]


def main() -> None:
    rows = list(agreement())
    report("agreement", rows)
    report("groups", list(groups()))


def topics_of_cells(random: Generator, topics: int, world: str) -> Ints:
    lumpy = np.maximum(2, random.lognormal(2.3, 0.9, topics).astype(int))
    sizes = lumpy if world == "lumpy" else random.integers(8, 25, topics)
    return np.repeat(np.arange(topics), sizes)


def ratings(random: Generator, topic: Ints, world: str, raters: int) -> Ints:
    """Return an array of shape (raters, cells); people come first."""
    of_topics, by_topic, by_cell = WORLDS[world]
    topics = topic[-1] + 1
    truth = random.normal(size=len(topic)) + random.normal(0, of_topics, topics)[topic]
    others = [
        truth + random.normal(0, by_topic, topics)[topic] + random.normal(0, by_cell, len(topic))
        for _ in range(raters - 1)
    ]
    return np.stack([np.searchsorted(CUTS, values) for values in (truth, *others)])


def tables_of(random: Generator, topics: int, world: str) -> tuple[Floats, Floats, Floats]:
    """Return by topic: people by grader of 6 grades and of 3 labels, and coincidences of three people."""
    topic = topics_of_cells(random, topics, world)
    people, grader, third = ratings(random, topic, world, 3)
    grades, both = np.zeros((2, topics, 6, 6))
    np.add.at(grades, (topic, grader, people), 1.0)
    labels = grades.reshape(topics, 3, 2, 3, 2).sum(axis=(2, 4))
    for first, second in ((people, grader), (people, third), (grader, third)):
        np.add.at(both, (topic, first, second), 0.5)  # a third rating of a cell halves its pairs
        np.add.at(both, (topic, second, first), 0.5)
    return grades, labels, both


def mean_of(weights: Floats | Ints | NDArray[np.bool_]) -> Statistic:
    return lambda tables: divide((tables * weights).sum(axis=(-2, -1)), tables.sum(axis=(-2, -1)))


def of_fours(values: Floats | Ints | NDArray[np.bool_]) -> Statistic:
    """Of the cells that the grader rates 4."""
    return lambda tables: divide(tables[..., 4, :] @ values, tables[..., 4, :].sum(axis=-1))


FOURS = (np.arange(6) == 4)[:, np.newaxis]
APART = np.subtract.outer(np.arange(6), np.arange(6))
STATISTICS: dict[str, tuple[int, Statistic, tuple[float, float]]] = {
    "share of equal ratings": (0, mean_of(APART == 0), (0, 1)),
    "share within 1": (0, mean_of(abs(APART) <= 1), (0, 1)),
    "kappa of 6 grades": (0, cohen_kappa, (-1, 1)),
    "weighted kappa": (0, weighted_kappa, (-1, 1)),
    "bias": (0, mean_of(APART), (-5, 5)),
    "people's mean where the grader says 4": (0, of_fours(np.arange(6)), (0, 5)),
    "share that people rate 4 there": (0, of_fours(np.arange(6) >= 4), (0, 1)),
    "kappa of 3 labels": (1, cohen_kappa, (-1, 1)),
    "alpha of three people": (2, ordinal_alpha, (-1, 1)),
}


def agreement() -> Iterator[Row]:
    """Per kind of data and number of topics: the number whose interval held least; then where each did."""
    held: dict[tuple[str, int, str], Ints] = {}
    for world in WORLDS:
        truth = [table.sum(axis=0) for table in tables_of(default_rng(SEED), TRUTH, world)]
        for topics in TOPICS:
            random = default_rng(SEED + topics)
            counts = {name: np.zeros(2, dtype=np.int64) for name in STATISTICS}
            for _ in range(TRIES):
                tables = tables_of(random, topics, world)
                for name, (which, statistic, bounds) in STATISTICS.items():
                    cells = tables[which] * (FOURS if "4" in name else 1)
                    found = statistic_interval(cells, statistic, bounds=bounds)
                    is_held = found.low <= float(statistic(truth[which])) <= found.high
                    counts[name] += np.array([is_held, found.is_defined])
            defined = {(world, topics, name): counts[name] for name in counts if counts[name][1] >= TRIES / 4}
            _, _, name = worst = _least(defined)
            yield _row(f"{world}, {topics} topics, worst of {len(STATISTICS)}: {name}", defined[worst])
            held |= defined
    for name in STATISTICS:
        world, topics, _ = worst = _least({key: counts for key, counts in held.items() if key[2] == name})
        yield _row(f"{name}, worst of all: {world}, {topics} topics", held[worst])


def _least(held: dict[tuple[str, int, str], Ints]) -> tuple[str, int, str]:
    return min(held, key=lambda key: held[key][0] / held[key][1])


def _row(setting: str, counts: Ints) -> Row:
    return share(setting, ".95", int(counts[0]), int(counts[1]), SEED)


def card(
    random: Generator, topics: int, world: str, bias: float
) -> tuple[RatedCells, list[NDArray[np.bool_]]]:
    """Return made-up cells and their groups; the grader adds `bias` grades on one family."""
    topic = topics_of_cells(random, topics, world)
    of_topic = np.log(np.divide(FAMILIES, np.subtract(1, FAMILIES))) + random.normal(0, 0.8, (topics, 6))
    families = random.random((len(topic), 6)) < 1 / (1 + np.exp(-of_topic[topic]))
    length = random.lognormal(0, 0.5, len(topic)) * np.exp(random.normal(0, 0.3, topics))[topic]
    thirds = np.searchsorted(np.quantile(length, [1 / 3, 2 / 3]), length)[:, np.newaxis] == np.arange(3)
    spread = 1.0 + (families[:, 5] if world == "unlike" else 0.0)
    by_topic = {"even": 0.4, "lumpy": 1.0, "unlike": 0.4}[world]
    off = random.normal(0, by_topic, topics)[topic] + random.normal(0, 0.9, len(topic))
    people = np.full(len(topic), 10)  # far from the ends of the scale, which would be a bias by itself
    grader = people + np.rint(off * spread + bias * families[:, BIASED]).astype(np.int64)
    return RatedCells(grader, people, topic), [*families.T, *thirds.T]


def groups() -> Iterator[Row]:
    for place, world in enumerate(("even", "lumpy", "unlike")):
        for topics in (6, 8, 12, 25, 54):
            accused = sum(bool(_clear([k, topics, place], topics, world, 0.0)) for k in range(CARDS))
            yield share(f"{world}, {topics} topics: some of 9 groups, no bias", ".05", accused, CARDS, SEED)
    for bias in (0.25, 0.5):
        for topics in (12, 25, 54):
            caught = sum(BIASED in _clear([k, topics, 3], topics, "even", bias) for k in range(CARDS))
            yield share(
                f"even, {topics} topics: the family with {bias:+g} grades", "power", caught, CARDS, SEED
            )


def _clear(seeds: list[int], topics: int, world: str, bias: float) -> list[int]:
    cells, masks = card(default_rng([SEED, *seeds]), topics, world, bias)
    p = bias_p(cells, [(str(place), mask) for place, mask in enumerate(masks)])
    return np.flatnonzero(p <= ALPHA).tolist()


if __name__ == "__main__":
    main()
