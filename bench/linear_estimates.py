"""How often the intervals of estimates that are linear in what people rate hold the true score.

In a simulation. A nugget score: 45 runs, each with one answer to 21 topics of 15 nuggets, so 315 cells a
run. The grader's verdicts correlate with people's by about .67, and it finds .057 too much. P@10: 26 runs
over 25 topics that share passages. Precision of support: 45 runs, each with 21 answers of 4 to 12 citations,
and a model that has people's label (none, partial, full) of 6 in 10. Cells, or passages, are drawn as a
campaign draws them, citations alike; half-widths are means over runs.

- classic: the ratings of people alone, cells drawn alike;
- PPI++: with the grader's verdicts, tuned by lambda, cells drawn alike;
- active: the same, cells drawn by the grader's confidence. The product does this.

In "errors by topic" the grader's errors in a topic go together. A setting with a grader that knows nothing
shows what tuning is for.

    python bench/linear_estimates.py [--draws 400] [--seed 0] [--write]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench._certainty import Row, report
from grading.statistics.cover_sample import Units, chances_of, drawn, linear_estimate, size_for

RUNS, TOPICS, NUGGETS = 45, 21, 15
NEW_WORLD = 20
"""Draws of one population, before another is made up."""
METHODS = ("classic", "PPI++", "active")
Floats = NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True, eq=False)
class World:
    """People's and the grader's credits of all units, and how sure the grader is."""

    weights: Floats
    people: Floats
    grader: Floats
    doubts: Floats


Maker = Callable[[Random], World]


@dataclass(frozen=True, eq=False)
class Simulated:
    """Arrays of shape (draws, runs)."""

    held: NDArray[np.bool_]
    errors: Floats
    halves: Floats


def nuggets(random: Random, *, by_topic: float = 0.0, knows: float = 1.0) -> World:
    """A latent support of each nugget by each answer; the grader sees it with noise and errs to the good."""
    shape = (RUNS, TOPICS, NUGGETS)
    latent = random.normal(0, 0.5, (RUNS, 1, 1)) + random.normal(-0.35, 1.6, (1, TOPICS, NUGGETS))
    latent = 1.6 * (latent + random.normal(0, 0.7, shape))
    people = (random.random(shape) < expit(latent)).astype(np.float64)
    clue = knows * (1.9 * (2 * people - 1) + 0.35 * latent) + random.normal(0, 2.4, shape)
    sure = expit(clue + random.normal(0, by_topic, (1, TOPICS, 1)) + 0.45)
    cells = TOPICS * NUGGETS
    weights = np.kron(np.eye(RUNS), np.full(cells, 1 / cells))
    return World(weights, people.ravel(), (sure > 0.5).ravel() * 1.0, np.minimum(sure, 1 - sure).ravel())


def precision(random: Random, *, topics: int = 25, runs: int = 26, passages: int = 120, k: int = 10) -> World:
    """P@k: each run ranks the passages of a topic by a noisy sight of their worth."""
    weights, people, grader, doubts = [], [], [], []
    for _ in range(topics):
        worth = random.normal(-1, 1.6, passages)
        noise = random.normal(0, 1, (runs, passages)) * np.linspace(0.8, 4, runs)[:, np.newaxis]
        ranked = np.argsort(-(worth + noise), axis=1)[:, :k]
        in_top = np.zeros((runs, passages))
        np.put_along_axis(in_top, ranked, 1 / k / topics, axis=1)
        relevant = (random.random(passages) < expit(worth)).astype(np.float64)
        sure = expit(1.9 * (2 * relevant - 1) + 0.35 * worth + random.normal(0, 2, passages) + 0.45)
        weights.append(in_top)
        people.append(relevant)
        grader.append((sure > 0.5) * 1.0)
        doubts.append(np.minimum(sure, 1 - sure))
    return World(
        np.concatenate(weights, axis=1), *(np.concatenate(each) for each in (people, grader, doubts))
    )


def support(random: Random) -> World:
    """Precision of support: citations weigh alike in an answer, and answers alike in a run."""
    n_cited = random.integers(4, 13, (RUNS, TOPICS))
    answer = np.repeat(np.arange(RUNS * TOPICS), n_cited.ravel())
    weights = np.zeros((RUNS, len(answer)))
    weights[answer // TOPICS, np.arange(len(answer))] = 1 / n_cited.ravel()[answer] / TOPICS
    good = random.normal(0.4, 0.6, RUNS)[answer // TOPICS] + random.normal(0, 0.5, RUNS * TOPICS)[answer]
    levels = good + random.normal(0, 1, len(answer))
    people = np.digitize(levels, [-0.3, 0.4]) / 2
    model = np.where(random.random(len(answer)) < 0.45, people, random.integers(0, 3, len(answer)) / 2)
    return World(weights, people, model, np.full(len(answer), 0.25))


def simulated(of: Maker, method: str, *, a_run: int, draws: int, seed: int) -> Simulated:
    """Sample so many units that a run has `a_run` rated ones on the mean."""
    random = np.random.default_rng([seed, a_run])
    made_with = np.random.default_rng([seed, a_run, 1])
    held, errors, halves = [], [], []
    for number in range(draws):
        if number % NEW_WORLD == 0:
            world = of(made_with)
            doubts = world.doubts if method == "active" else np.full(len(world.people), 0.25)
            grader = np.zeros(len(world.people)) if method == "classic" else world.grader
            size = size_for(world.weights, doubts, a_run)
            chances = chances_of(world.weights, doubts, size)
            true = world.weights @ world.people
        places = drawn(chances, size, seed=int(random.integers(2**31)))
        people = np.full(len(world.people), np.nan)
        people[places] = world.people[places]
        estimates = linear_estimate(Units(world.weights, grader, people, chances))
        held.append((estimates.low <= true) & (true <= estimates.high))
        errors.append(estimates.value - true)
        halves.append((estimates.high - estimates.low) / 2)
    return Simulated(np.array(held), np.array(errors), np.array(halves))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="rewrite the table of docs/certainty.md")
    options = parser.parse_args()
    rows = []
    for name, method, a_run, of in _settings():
        found = simulated(of, method, a_run=a_run, draws=options.draws, seed=options.seed)
        rows += _rows(f"{name}, {method}, {a_run} a run", found, options.seed)
    report("linear", rows)


def _settings() -> Iterator[tuple[str, str, int, Maker]]:
    for a_run in (30, 60, 100, 150):
        for method in METHODS:
            yield "nuggets", method, a_run, nuggets
    yield "nuggets, classic's width", "PPI++", 62, nuggets
    yield "nuggets, classic's width", "active", 58, nuggets
    yield "nuggets, errors by topic", "active", 60, lambda random: nuggets(random, by_topic=1.5)
    for method in ("classic", "active"):
        yield "nuggets, a grader that knows nothing", method, 60, lambda random: nuggets(random, knows=0.0)
    for method in METHODS:
        yield "P@10", method, 60, precision
    for method in ("classic", "PPI++"):
        yield "precision of support", method, 60, support


def _rows(setting: str, found: Simulated, seed: int) -> list[Row]:
    by_run = found.held.mean(axis=0)
    half, draws, worst = np.nanmean(found.halves), len(found.held), by_run.min()
    error = found.held.mean(axis=1).std() / np.sqrt(draws)
    return [
        Row(f"{setting}: half-width {half:.3f}", ".95", float(found.held.mean()), float(error), seed),
        Row(f"{setting}: worst run", ".95", float(worst), float(np.sqrt(worst * (1 - worst) / draws)), seed),
    ]


if __name__ == "__main__":
    main()
