"""Rank intervals of a board: do they depend on a seed, how long do they take, and do they hold?

    python bench/rank_intervals.py [--collection SLUG]

The paired randomisation test counts all 2^n sign flips, so that it has no seed. Beside it, in the same
run, what samples flips: 25 a pair of runs, the least that Holm's first step needs, and 250. Over 30 seeds:
how many runs get another interval of ranks, by how many ranks an end moves at most, and the processor time of
one board. Scores are made up; with --collection those of that collection in the database of
RUBRIC_DATA_DIR, for each of its graders. Last, over made-up boards on which all runs are equally good: on how
many some run is called better (5 % at most), by both tests.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from grading.statistics import rank_intervals  # noqa: E402
from grading.statistics.paired_tests import ALPHA, PairedTest, p_values  # noqa: E402

Floats = NDArray[np.float64]
SEEDS = 30
SAMPLED = (25, 250)
"""Flips a pair of runs."""
NULL_BOARDS = 400
MEASURES = ("rubric_cover", "ndcg_cut_10", "P_20")
_BLOCK = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collection", metavar="SLUG")
    wanted = parser.parse_args()
    boards = collected(wanted.collection) if wanted.collection else made_up()
    print(f"{'board':<44}{'way':<18}{'seconds':>8}{'runs that change':>18}{'an end moves by':>17}")
    for name, scores in boards.items():
        compare(name, scores)
    nothing_differs()


def compare(name: str, scores: Floats) -> None:
    runs, topics = scores.shape
    started = time.process_time()
    exact = ends(scores, p_values(scores, PairedTest.RANDOMISATION))
    spent = time.process_time() - started
    again = ends(scores, p_values(scores, PairedTest.RANDOMISATION))
    moved = np.abs(exact - again).max()
    print(f"{f'{name}, {runs} x {topics}':<44}{'exact':<18}{spent:>8.2f}{0:>18}{moved:>17}")
    for a_pair in SAMPLED:
        flips = a_pair * runs * (runs - 1) // 2
        if flips > 1_000_000:
            print(f"{'':<44}{f'{a_pair:,} a pair':<18}{'too long':>8}")
            continue
        started = time.process_time()
        found = [ends(scores, sampled(scores, flips, seed)) for seed in range(SEEDS)]
        spent = (time.process_time() - started) / SEEDS
        swing = np.ptp(np.stack(found), axis=0)
        changed, most = int((swing.max(axis=0) > 0).sum()), int(swing.max())
        print(f"{'':<44}{f'{a_pair:,} a pair':<18}{spent:>8.2f}{changed:>18}{most:>17}")


def ends(scores: Floats, p: Floats) -> NDArray[np.int64]:
    """Shape (2, runs): the first and last rank that the tests leave open."""
    found = rank_intervals.order(np.round(scores.mean(axis=1), 12), rank_intervals.holm(p))
    return np.stack([found.first_possible, found.last_possible])


def sampled(scores: Floats, flips: int, seed: int) -> Floats:
    """P-values of all pairs from random sign flips that all pairs share."""
    random = np.random.default_rng(seed)
    first, second = np.triu_indices(len(scores), k=1)
    seen = np.abs((scores[first] - scores[second]).sum(axis=1)) * (1 - 1e-5)
    exceeded = np.zeros(len(first), dtype=np.int64)
    single = scores.astype(np.float32)
    for start in range(0, flips, _BLOCK):
        size = (min(_BLOCK, flips - start), scores.shape[1])
        signs = random.integers(2, size=size, dtype=np.int8).astype(np.float32) * 2 - 1
        sums = single @ signs.T
        for run in range(len(scores) - 1):
            mine = first == run
            apart = np.abs(sums[second[mine]] - sums[run])
            exceeded[mine] += (apart >= seen[mine, np.newaxis]).sum(axis=1)
    found = np.ones((len(scores), len(scores)))
    found[first, second] = found[second, first] = (exceeded + 1) / (flips + 1)
    return found


def made_up() -> dict[str, Floats]:
    """Boards whose runs differ by as much as those of a track do; shares of 20 items, and any numbers."""
    found = {}
    for runs, topics in ((26, 25), (60, 54)):
        random = np.random.default_rng(runs)
        quality = np.sort(random.uniform(0.3, 0.6, runs))[:, np.newaxis]
        scores = np.clip(
            quality + random.normal(0, 0.15, topics) + random.normal(0, 0.12, (runs, topics)), 0, 1
        )
        found[f"{runs} runs, any numbers"] = scores
        found[f"{runs} runs, 20 items a topic"] = np.round(scores * 20) / 20
    return found


def collected(slug: str) -> dict[str, Floats]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from dataclasses import replace

    from rubricweb.corpus.models import Collection
    from rubricweb.grades.defaults import scored_graders
    from rubricweb.grades.scales import default_min_grade
    from rubricweb.grades.scoring import MeasureSpec
    from rubricweb.leaderboards.board import lookup
    from rubricweb.leaderboards.board.scored import scored_board
    from rubricweb.leaderboards.board.types import BoardSpec

    collection, found = Collection.objects.get(slug=slug), {}
    for row in scored_graders(collection):
        bank = lookup.find_bank(collection, row.config, "")
        plain = MeasureSpec(MEASURES[0], default_min_grade(row.config))
        spec = BoardSpec(collection, row.config, bank, lookup.find_kinds(row.config, ""), plain)
        for name in MEASURES if bank else MEASURES[1:]:
            found[f"grader {row.config.pk}, {name}"] = scored_board(
                replace(spec, measure=replace(plain, name=name))
            )
    return {name: made.table.scores for name, made in found.items()}


def nothing_differs() -> None:
    """Runs of equal worth: a board that calls one better than another is wrong."""
    for test in PairedTest:
        for topics in (12, 25, 54):
            random, wrong = np.random.default_rng(topics), 0
            for _ in range(NULL_BOARDS):
                scores = random.beta(2, 3, topics) + random.gamma(1, 0.1, (8, topics))
                found = rank_intervals.order(scores.mean(axis=1), rank_intervals.holm(p_values(scores, test)))
                wrong += bool(found.better.any())
            said = f"8 equal runs x {topics} topics, {test}: wrong on {100 * wrong / NULL_BOARDS:.1f} %"
            print(f"{said} of boards, at most {100 * ALPHA:g} %")


if __name__ == "__main__":
    main()
