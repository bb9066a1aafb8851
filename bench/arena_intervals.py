"""What intervals and ranks of the vote board hold, and how much wider than needed intervals are.

    OPENBLAS_NUM_THREADS=1 python bench/arena_intervals.py [--write]

Four systems with strengths 1, .33, -.33 and -1 (or equal ones), 30 topics with six votes each, by people
who are drawn for each vote. Every topic and every person moves the strength of every system, by normal
deviates. The truth is what endless topics and people give; with one voter, endless topics of this voter.
About five minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _certainty import Row, report, share

from grading.statistics.bradley_terry import Strengths, Votes, _design, _fit, strengths

SEED = 28
SIMULATIONS = 1_000
SPREAD, EQUAL_4, EQUAL_8 = (1.0, 0.33, -0.33, -1.0), (0.0,) * 4, (0.0,) * 8
WORDS = np.log([90.0, 130.0, 180.0, 250.0])
"""Logs of how long the answers of each system are, on average."""
SLOPE = 1.0
COVERAGE, WIDTH, ORDER = ".93 to .98", "at most 1.3", "at most .05"
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


class Setting(NamedTuple):
    name: str
    voters: int
    truth: Sequence[float] = SPREAD
    topics: int = 30
    votes: int = 6
    """Of each topic."""
    by_topic: float = 0.5
    """Standard deviation of what a topic adds to the strength of a system."""
    by_voter: float = 0.25
    first_voter: float = 0.0
    """The share of votes of the first voter; 0 where all vote alike."""
    has_lengths: bool = False


class Drawn(NamedTuple):
    votes: Votes
    effects: np.ndarray
    """Shape (voters, systems)."""
    lengths: np.ndarray | None


EVERYBODY = [Setting(f"{n} voters" if n > 1 else "1 voter, of this voter", n) for n in (1, 2, 3, 5, 10)]
OTHERS = [
    Setting("2 voters who do not differ", 2, by_voter=0.0),
    Setting("10 voters who do not differ", 10, by_voter=0.0),
    Setting("2 voters who differ much (.5)", 2, by_voter=0.5),
    Setting("5 voters who differ much (.5)", 5, by_voter=0.5),
    Setting("3 voters, one with 80 % of the votes", 3, first_voter=0.8),
    Setting("180 voters of one vote", 180),
    Setting("topics that differ much (1)", 5, by_topic=1.0),
    Setting("strengths far apart (3 to -3)", 5, (3.0, 1.0, -1.0, -3.0)),
    Setting("5 topics", 5, topics=5),
    Setting("8 topics", 5, topics=8),
    Setting("2 systems, 2 voters", 2, truth=(0.5, -0.5)),
]
ORDERS = [
    Setting(f"{len(truth)} equal systems, {name}", n, truth, by_voter=spread)
    for truth in (EQUAL_4, EQUAL_8)
    for n, spread, name in ((1, 0.0, "1 voter"), (2, 0.25, "2 voters"), (5, 0.25, "5 voters"))
] + [
    Setting("4 equal systems, 2 voters who differ much (.5)", 2, EQUAL_4, by_voter=0.5),
    Setting("4 equal systems, 5 topics, 1 voter", 1, EQUAL_4, topics=5, by_voter=0.0),
]
LENGTHS = [
    Setting(f"slope of length, {name}", n, by_voter=spread, has_lengths=True)
    for n, spread, name in (
        (1, 0.0, "1 voter"),
        (2, 0.25, "2 voters"),
        (5, 0.25, "5 voters"),
        (2, 0.5, "2 voters who differ much (.5)"),
    )
]


def main() -> None:
    rows = [row for setting in EVERYBODY + OTHERS for row in intervals(setting)]
    alone = Setting("1 voter, of people in general", 1)
    rows.append(_held(alone, "not claimed", *_simulated(alone, of_voter=False)))
    rows += [orders(setting) for setting in ORDERS]
    rows.append(told(Setting("share of true orders that 5 voters tell", 5)))
    report("arena", rows + [row for setting in LENGTHS for row in intervals(setting)])


def intervals(setting: Setting) -> list[Row]:
    """How wide intervals are beside what is needed, and how often they hold the truth."""
    off, half = _simulated(setting)
    off, half = (one[~np.isnan(half).any(axis=1)] for one in (off, half))
    needed = 1.96 * np.sqrt((off**2).mean())
    ratio, spread = half.mean() / needed, half.mean(axis=1).std() / half.mean()
    error = ratio * np.sqrt((spread**2 + 0.5) / len(off))
    return [
        Row(f"{setting.name}: half-width / needed", WIDTH, ratio, error, SEED),
        _held(setting, COVERAGE, off, half),
    ]


def orders(setting: Setting) -> Row:
    random = np.random.default_rng(SEED)
    n = len(setting.truth)
    wrong = sum(fitted(random, setting)[0].ranks() != [(1, n)] * n for _ in range(SIMULATIONS))
    return share(f"{setting.name}: some rank is wrong", ORDER, wrong, SIMULATIONS, SEED)


def told(setting: Setting) -> Row:
    random = np.random.default_rng(SEED)
    clear = [np.triu(fitted(random, setting)[0].pairwise_p() <= 0.05, k=1) for _ in range(SIMULATIONS // 4)]
    return share(setting.name, "not claimed", int(np.sum(clear)), 6 * len(clear), SEED)


def _simulated(setting: Setting, *, of_voter: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """How far estimates are off, and half the lengths of their intervals: shape (simulations, values)."""
    random = np.random.default_rng(SEED)
    truth = limit_of_slope(setting) if setting.has_lengths else limit(setting)
    off, half = [], []
    for _ in range(SIMULATIONS):
        found, drawn = fitted(random, setting)
        if setting.has_lengths:
            off.append([found.length.slope - truth])
            half.append([(found.length.high - found.length.low) / 2])
        else:
            is_alone = of_voter and setting.voters == 1
            off.append(found.strength - (limit(setting, drawn.effects[0]) if is_alone else truth))
            half.append((found.high - found.low) / 2)
    return np.array(off), np.array(half)


def _held(setting: Setting, nominal: str, off: np.ndarray, half: np.ndarray) -> Row:
    held = (np.abs(off) <= half).mean(axis=1)
    return Row(f"{setting.name}: holds", nominal, held.mean(), held.std() / np.sqrt(len(held)), SEED)


def fitted(random: np.random.Generator, setting: Setting) -> tuple[Strengths, Drawn]:
    drawn = draw(random, setting)
    return strengths(drawn.votes, len(setting.truth), lengths=drawn.lengths), drawn


def draw(random: np.random.Generator, setting: Setting) -> Drawn:
    systems, size = len(setting.truth), setting.topics * setting.votes
    topic = np.repeat(np.arange(setting.topics), setting.votes)
    voter = random.integers(setting.voters, size=size)
    if setting.first_voter:
        is_first = random.random(size) < setting.first_voter
        voter = np.where(is_first, 0, random.integers(1, setting.voters, size=size))
    effects = random.normal(0, setting.by_voter, size=(setting.voters, systems))
    shifted = np.array(setting.truth) + effects[voter]
    shifted += random.normal(0, setting.by_topic, size=(setting.topics, systems))[topic]
    pairs = random.permuted(np.tile(np.arange(systems), (size, 1)), axis=1)[:, :2]
    every = np.arange(size)
    difference, lengths = shifted[every, pairs[:, 0]] - shifted[every, pairs[:, 1]], None
    if setting.has_lengths:
        words = (WORDS + random.uniform(-0.4, 0.4, size=(setting.topics, systems)))[topic]
        lengths = words[every, pairs[:, 0]] - words[every, pairs[:, 1]]
        likes = SLOPE + random.normal(0, setting.by_voter, size=setting.voters)
        difference = difference + likes[voter] * lengths
    chances = _chances(difference).cumsum(axis=1)
    outcome = 1 - (random.random(size)[:, None] > chances).sum(axis=1)
    return Drawn(Votes(pairs[:, 0], pairs[:, 1], outcome, topic, voter), effects, lengths)


def limit(setting: Setting, effects: np.ndarray | None = None) -> np.ndarray:
    """The strengths that endless topics give: of a voter with these effects, or of endless voters."""
    truth = np.array(setting.truth) + (0 if effects is None else effects)
    first, second = np.triu_indices(truth.size, k=1)
    spread = np.sqrt(2 * (setting.by_topic**2 + (setting.by_voter**2 if effects is None else 0)))
    differences = (truth[first] - truth[second])[:, None] + spread * POINTS
    counts = 1e6 * np.einsum("pno,n->po", _chances(differences), WEIGHTS / WEIGHTS.sum())
    return _fit(_design(first, second, truth.size), counts, truth.size)[: truth.size]


def limit_of_slope(setting: Setting) -> float:
    random = np.random.default_rng(SEED + 1)
    many = setting._replace(topics=3_000, voters=300 if setting.by_voter else 1)
    return float(np.mean([fitted(random, many)[0].length.slope for _ in range(5)]))


def _chances(differences: np.ndarray) -> np.ndarray:
    """Of a win, a tie and a loss, on a last axis."""
    chances = np.exp(np.stack([differences / 2, np.zeros_like(differences), -differences / 2], axis=-1))
    return chances / chances.sum(axis=-1, keepdims=True)


if __name__ == "__main__":
    main()
