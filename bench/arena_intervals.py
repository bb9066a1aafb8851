"""How often intervals of strengths from votes cover the truth, beside percentiles of the same resamples.

    python bench/arena_intervals.py

Four systems, six votes a topic, each topic with strengths of its own (a standard deviation of 1 around the
systems'), by one voter. The truth is what 12,000 topics give. Prints the share of 300 simulations whose 95 %
interval has it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grading.statistics.bradley_terry import Votes, strengths

TRUTH = np.array([0.6, 0.2, -0.2, -0.6])
PER_TOPIC, TOPIC_SD, SIMULATIONS = 6, 1.0, 300


def main() -> None:
    random = np.random.default_rng(11)
    limit = np.mean([strengths(votes(random, 4_000), 4, n=2).strength for _ in range(3)], axis=0)
    print(f"{'topics':>6}  {'ours':>6}  {'percentiles':>11}")
    for topics in (10, 30, 60):
        ours, percentiles = zip(*(covered(random, topics, limit) for _ in range(SIMULATIONS)), strict=True)
        print(f"{topics:>6}  {np.mean(ours):6.3f}  {np.mean(percentiles):11.3f}", flush=True)


def covered(random: np.random.Generator, topics: int, limit: np.ndarray) -> tuple[float, float]:
    found = strengths(votes(random, topics), 4, n=200)
    low, high = np.percentile(found.resampled, [2.5, 97.5], axis=0)
    ours = np.mean((found.low <= limit) & (limit <= found.high))
    return float(ours), float(np.mean((low <= limit) & (limit <= high)))


def votes(random: np.random.Generator, topics: int) -> Votes:
    topic = np.repeat(np.arange(topics), PER_TOPIC)
    shifted = TRUTH + random.normal(0, TOPIC_SD, size=(topics, 4))
    pairs = np.array([random.permutation(4)[:2] for _ in topic])
    half = (shifted[topic, pairs[:, 0]] - shifted[topic, pairs[:, 1]]) / 2
    chances = np.exp(np.stack([half, np.zeros_like(half), -half], axis=1)).cumsum(axis=1)
    drawn = random.random(len(topic)) * chances[:, -1]
    outcome = 1 - (drawn[:, None] > chances).sum(axis=1)
    return Votes(pairs[:, 0], pairs[:, 1], outcome, topic, np.zeros_like(topic))


if __name__ == "__main__":
    main()
