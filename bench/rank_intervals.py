"""Whether what boards call clear is right, and how much they can tell.

    python bench/rank_intervals.py [--write]

Made-up boards, on which all runs are equally good: on how many some run is called clearly ahead of another,
by both tests. Then boards of runs that differ: which share of the true order is told, by ours and by Holm's
correction of paired t tests on the same boards; and with which power a pair is told whose difference is the
one that `max_t.resolution` states. Last, what one board takes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from _certainty import Row, report, share  # noqa: E402

from grading.statistics.max_t import ALPHA, PairedTest, pairwise_p, resolution  # noqa: E402

Floats = NDArray[np.float64]
Board = Callable[[Generator, int, int], Floats]
"""From runs and topics to scores of equally good runs."""
SEED = 5
NULL_BOARDS = 400
TOLD_BOARDS = 60
FLIPS, STUDENTISED = PairedTest.SIGN_FLIPS, PairedTest.STUDENTISED


def shares(random: Generator, runs: int, topics: int) -> Floats:
    """Shares of 20 items, on topics that are more or less hard."""
    return random.binomial(20, random.beta(2, 3, topics), (runs, topics)) / 20


def any_number(random: Generator, runs: int, topics: int) -> Floats:
    return random.beta(2, 3, topics) + random.gamma(1, 0.1, (runs, topics))


def half_steady(random: Generator, runs: int, topics: int) -> Floats:
    """Half of the runs have about a fifth of every topic, the others all of every fifth topic."""
    steady = random.binomial(20, 0.2, (runs // 2, topics)) / 20
    return np.vstack([steady, random.binomial(1, 0.2, (runs - runs // 2, topics))])


def one_not_steady(random: Generator, runs: int, topics: int) -> Floats:
    steady = random.binomial(20, 0.2, (runs - 1, topics)) / 20
    return np.vstack([steady, random.binomial(1, 0.2, (1, topics))])


def main() -> None:
    report("order", [*nothing_differs(), *unlike_runs()])
    report("told", told())
    report("resolution", resolved())
    seconds()


def nothing_differs() -> list[Row]:
    sizes = [(runs, topics) for runs in (5, 10, 27, 60) for topics in (8, 25, 54)]
    rows = [_false(f"{runs} runs x {topics} topics", shares, runs, topics, FLIPS) for runs, topics in sizes]
    rows += [
        _false(f"{runs} runs x {topics} topics, skewed scores", any_number, runs, topics, FLIPS)
        for runs, topics in ((10, 8), (10, 25), (27, 25))
    ]
    return rows + [
        _false(f"{runs} runs x {topics} topics, studentised", shares, runs, topics, STUDENTISED)
        for runs, topics in ((5, 54), (10, 8), (10, 25), (10, 54), (27, 25))
    ]


def unlike_runs() -> list[Row]:
    rows = []
    for name, board in (("half of the runs steady", half_steady), ("all but one steady", one_not_steady)):
        for runs, topics in ((10, 8), (10, 25), (10, 54), (27, 25)):
            for test, words in ((FLIPS, ""), (STUDENTISED, ", studentised")):
                setting = f"{runs} runs x {topics} topics, {name}{words}"
                rows.append(_false(setting, board, runs, topics, test))
    return rows


def _false(setting: str, board: Board, runs: int, topics: int, test: PairedTest) -> Row:
    random, wrong = default_rng(SEED), 0
    for _ in range(NULL_BOARDS):
        wrong += bool((pairwise_p(board(random, runs, topics), test) <= ALPHA).any())
    return share(setting, "at most .05", wrong, NULL_BOARDS, SEED)


def told() -> list[Row]:
    rows = []
    for runs, topics in ((10, 8), (10, 12), (10, 25), (27, 12), (27, 25), (27, 54)):
        ways = {"Holm": _holm, "ours": pairwise_p, "studentised": _studentised}
        for name, adjusted in ways.items():
            random = default_rng(SEED)
            found = [_share_told(differing(random, runs, topics), adjusted) for _ in range(TOLD_BOARDS)]
            error = float(np.std(found)) / np.sqrt(TOLD_BOARDS)
            rows.append(
                Row(
                    f"{runs} runs x {topics} topics, {name}", "share told", float(np.mean(found)), error, SEED
                )
            )
    return rows


def differing(random: Generator, runs: int, topics: int) -> Floats:
    """The higher the row, the better the run."""
    quality = np.linspace(-0.6, 0.6, runs)[:, np.newaxis] + random.normal(-0.8, 1, topics)
    odds = np.exp(quality + random.normal(0, 0.5, (runs, topics)))
    return random.binomial(10, odds / (1 + odds)) / 10


def _share_told(scores: Floats, adjusted: Callable[[Floats], Floats]) -> float:
    worse, better = np.triu_indices(len(scores), k=1)
    means = scores.mean(axis=1)
    return float(((adjusted(scores)[worse, better] <= ALPHA) & (means[better] > means[worse])).mean())


def _studentised(scores: Floats) -> Floats:
    return pairwise_p(scores, STUDENTISED)


def _holm(scores: Floats) -> Floats:
    first, second = np.triu_indices(len(scores), k=1)
    with np.errstate(all="ignore"):
        p = np.nan_to_num(ttest_1samp(scores[first] - scores[second], 0, axis=1).pvalue, nan=1.0)
    ascending = np.argsort(p)
    corrected = np.empty_like(p)
    corrected[ascending] = np.maximum.accumulate(p[ascending] * (len(p) - np.arange(len(p))))
    matrix = np.ones((len(scores), len(scores)))
    matrix[first, second] = matrix[second, first] = corrected
    return matrix


def resolved() -> list[Row]:
    """A pair of runs that differ by what boards of this kind state on average, among others that do not
    differ.
    """
    rows = []
    for runs, topics in ((5, 12), (10, 25), (27, 25), (27, 54)):
        random = default_rng(SEED)
        stated = np.mean([resolution(_even(random, runs, topics, 0.0)) for _ in range(20)])
        count = sum(
            bool(pairwise_p(_even(random, runs, topics, stated))[0, 1] <= ALPHA) for _ in range(NULL_BOARDS)
        )
        setting = f"{runs} runs x {topics} topics, a difference of {stated:.2f}"
        rows.append(share(setting, ".80", count, NULL_BOARDS, SEED))
    return rows


def _even(random: Generator, runs: int, topics: int, difference: float) -> Floats:
    scores = random.beta(2, 3, topics) + random.normal(0, 0.12, (runs, topics))
    scores[0] += difference
    return scores


def seconds() -> None:
    for runs, topics in ((10, 12), (27, 25), (60, 54), (300, 54)):
        scores = any_number(default_rng(SEED), runs, topics)
        started = time.process_time()
        pairwise_p(scores)
        ours, started = time.process_time() - started, time.process_time()
        _holm(scores)
        holm = time.process_time() - started
        print(f"{runs} runs x {topics} topics: {ours:.2f} s, Holm's correction of t tests {holm:.2f} s")


if __name__ == "__main__":
    main()
