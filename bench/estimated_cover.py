"""How often the interval of the estimated Rubric-Cover holds the true one, by simulation.

People rate every cell, in the simulation: where the grader reaches the threshold they do with a chance of the
first of a pair, elsewhere with that of the second. A sample is drawn as a campaign draws it, the estimate is
made as a board makes it, and compared with the cover that all of the people's ratings give. Errors are

- independent;
- clustered by item or by passage: its chance follows a Beta distribution with an intraclass correlation of
  0.1; or by both: normal effects of a quarter of the variance each behind a probit link;
- by run quality: the odds that people reach the threshold are 1.65 times as high (e^0.5) for each standard
  deviation of the mean score of the runs that have the passage among their first 20. The estimate takes no
  account of this.

    python bench/estimated_cover.py [FOLDER] [--draws 200] [--cells 400 900] [--seed 0]

FOLDER has the files of LLMJudge: `graded.jsonl.gz` (Workbench) and `runs/`. Without it a collection of the
same shape is made up. A share held is a mean over draws and runs; the runs of a draw share its sample, so its
Monte-Carlo error (+-) is the standard error over draws. Last, what all structures but the last give for each
pair of rates, and how far an end moves when only the estimate's own random order changes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grading.measures.covered import covered_items
from grading.statistics.cover_estimate import (
    NOT_RATED,
    Unit,
    estimate,
    sample_size,
)
from grading.statistics.cover_sample import Ranked, cover_sample

PAIRS = ((0.98, 0.005), (0.95, 0.01), (0.9, 0.02), (0.85, 0.03), (0.8, 0.03), (0.7, 0.05))
"""P(people >= t | grader >= t) and P(people >= t | grader < t)."""
PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
MIN_GRADE, CUTOFF = 4, 20
CORRELATION, SLOPE = 0.1, 0.5
ASKED = (0.93, 0.97)
SEEDS = 20
COLUMNS = (
    "cells  errors          agree  miss   held   +-     in {:.0%}-{:.0%}  worst run  bias    half-width"
    "  few misses"
)
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Random = np.random.Generator
Topics = tuple[Ranked, ...]


@dataclass(frozen=True, eq=False)
class Simulated:
    """Arrays of shape (draws, runs), but for `is_few` of shape (draws,)."""

    held: Mask
    errors: Floats
    halves: Floats
    is_few: Mask
    """So few misses were sampled that the board says "at least" before the level."""
    refused: float
    """Share of the draws of which the board says that it cannot tell; they are in no array."""

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of the share held; the runs of a draw are not independent."""
        return float(self.held.mean(axis=1).std() / np.sqrt(len(self.held)))


def independent(topics: Topics, rate: float, random: Random) -> list[Mask]:
    return [random.random(topic.reached.shape) < rate for topic in topics]


def by_item(topics: Topics, rate: float, random: Random) -> list[Mask]:
    shapes = [topic.reached.shape for topic in topics]
    return [random.random(shape) < _beta(rate, (1, shape[1]), random) for shape in shapes]


def by_passage(topics: Topics, rate: float, random: Random) -> list[Mask]:
    shapes = [topic.reached.shape for topic in topics]
    return [random.random(shape) < _beta(rate, (shape[0], 1), random) for shape in shapes]


def by_both(topics: Topics, rate: float, random: Random) -> list[Mask]:
    found = []
    for passages, items in (topic.reached.shape for topic in topics):
        effects = random.standard_normal((1, items)) / 2 + random.standard_normal((passages, 1)) / 2
        found.append(effects + random.standard_normal((passages, items)) * np.sqrt(0.5) < ndtri(rate))
    return found


def by_run_quality(topics: Topics, rate: float, random: Random) -> list[Mask]:
    found = []
    for topic, worth in zip(topics, passage_worths(topics), strict=True):
        rates = expit(logit(rate) + SLOPE * worth)
        rates *= rate / rates[np.unique(topic.ranked[topic.ranked >= 0])].mean()
        found.append(random.random(topic.reached.shape) < rates[:, np.newaxis])
    return found


STRUCTURES: dict[str, Callable[[Topics, float, Random], list[Mask]]] = {
    "independent": independent,
    "by item": by_item,
    "by passage": by_passage,
    "by both": by_both,
    "by run quality": by_run_quality,
}


@lru_cache(maxsize=1)
def passage_worths(topics: Topics) -> list[Floats]:
    """By topic, by passage: the mean score of the runs that rank it, in standard deviations from the mean."""
    scores = true_cover(topics, [topic.reached for topic in topics])
    found = []
    for topic in topics:
        rows = np.where(topic.ranked < 0, len(topic.reached), topic.ranked)
        weights = np.repeat(scores[:, np.newaxis], rows.shape[1], axis=1)
        sums, counts = (
            np.bincount(rows.ravel(), one.ravel(), len(topic.reached) + 1)[:-1]
            for one in (weights, np.ones_like(weights))
        )
        means = np.divide(sums, counts, out=np.full(len(counts), scores.mean()), where=counts > 0)
        found.append((means - means[counts > 0].mean()) / means[counts > 0].std())
    return found


def _beta(rate: float, shape: tuple[int, int], random: Random) -> Floats:
    total = 1 / CORRELATION - 1
    return random.beta(rate * total, (1 - rate) * total, shape)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--cells", type=int, nargs="+", default=[400, 900])
    parser.add_argument("--structures", nargs="+", choices=STRUCTURES, default=list(STRUCTURES))
    parser.add_argument("--seed", type=int, default=0)
    said = parser.parse_args()
    topics = tuple(llmjudge(said.folder)) if said.folder else made_up()
    items = sum(topic.reached.shape[1] for topic in topics)
    print(f"{len(topics[0].ranked)} runs, {len(topics)} topics, {items} items, {said.draws} draws a line")
    print(COLUMNS.format(*ASKED))
    found = {}
    for cells, name, pair in product(said.cells, said.structures, PAIRS):
        found[cells, name, pair] = simulated(
            topics, pair, name, cells=cells, draws=said.draws, seed=said.seed
        )
        print(_line(cells, name, pair, [found[cells, name, pair]]), flush=True)
    print("\nall structures but the last")
    for cells, pair in product(said.cells, PAIRS):
        those = [found[cells, name, pair] for name in said.structures if name != "by run quality"]
        print(_line(cells, "all", pair, those))
    print(f"\nlargest move of an end over {SEEDS} seeds of the estimate: {steadiness(topics):.4f}")


def _line(cells: int, name: str, pair: tuple[float, float], parts: Sequence[Simulated]) -> str:
    answered = [part for part in parts if len(part.held)]
    if not answered:
        return f"{cells:5}  {name:14}  {pair[0]:5}  {pair[1]:5}  cannot tell"
    held = np.concatenate([part.held for part in answered])
    share = held.mean()
    error = np.sqrt(sum(part.monte_carlo_error**2 for part in answered)) / len(answered)
    few = np.mean(np.concatenate([part.is_few for part in answered]))
    verdict = _verdict(share, error, most_are_few=few > 0.5)
    bias = np.mean(np.concatenate([part.errors for part in answered]))
    half = np.mean(np.concatenate([part.halves for part in answered]))
    refused = np.mean([part.refused for part in parts])
    said = f"  {refused:.0%} cannot tell" if refused else ""
    return (
        f"{cells:5}  {name:14}  {pair[0]:5}  {pair[1]:5}  {share:.3f}  {error:.3f}  {verdict:9}"
        f"  {held.mean(axis=0).min():9.3f}  {bias:+.3f}  {half:10.3f}  {few:10.0%}{said}"
    )


def _verdict(share: float, error: float, *, most_are_few: bool) -> str:
    """In words: whether the share held is in ASKED, or may be by the Monte-Carlo error ("2 +-").

    Too high a share is right where most boards say that they hold "at least" their level.
    """
    low, high = ASKED
    if low <= share <= high:
        return "yes"
    if share > high and most_are_few:
        return "at least"
    return "2 +-" if low - 2 * error <= share <= high + 2 * error else "no"


def simulated(
    topics: Topics, pair: tuple[float, float], structure: str, *, cells: int, draws: int, seed: int = 0
) -> Simulated:
    held, errors, halves, few = [], [], [], []
    place = list(STRUCTURES).index(structure)
    for number in range(draws):
        random = np.random.default_rng(
            [seed, number, cells, place, round(pair[1] * 1000), round(pair[0] * 100)]
        )
        people = _people(topics, pair, structure, random)
        true = true_cover(topics, people)
        units = sampled_units(topics, people, cells=cells, seed=int(random.integers(2**32)))
        size = sample_size(units)
        if not size.is_enough:
            continue
        found = estimate(units)
        held.append((found.low <= true + 1e-9) & (true <= found.high + 1e-9))
        errors.append(found.value - true)
        halves.append((found.high - found.low) / 2)
        few.append(size.has_few_misses)
    shape = (len(held), len(topics[0].ranked))
    return Simulated(
        np.reshape(held, shape).astype(np.bool_),
        np.reshape(errors, shape),
        np.reshape(halves, shape),
        np.array(few, dtype=np.bool_),
        1 - len(held) / draws,
    )


def steadiness(topics: Topics) -> float:
    """By how much an end of an interval moves when only the seed of the estimate does."""
    random = np.random.default_rng(0)
    units = sampled_units(topics, _people(topics, PAIRS[2], "by both", random), cells=400, seed=0)
    ends = [np.concatenate([one.low, one.high]) for one in (estimate(units, seed=n) for n in range(SEEDS))]
    return float(np.ptp(ends, axis=0).max())


def _people(topics: Topics, pair: tuple[float, float], structure: str, random: Random) -> list[Mask]:
    above, below = (STRUCTURES[structure](topics, rate, random) for rate in pair)
    return [
        np.where(topic.reached, over, under) for topic, over, under in zip(topics, above, below, strict=True)
    ]


def true_cover(topics: Sequence[Ranked], people: Sequence[Mask]) -> Floats:
    covered = [
        covered_items(one.astype(np.int8), topic.ranked, cutoff=CUTOFF, min_grade=1).mean(axis=1)
        for topic, one in zip(topics, people, strict=True)
    ]
    return np.asarray(np.mean(covered, axis=0))


def sampled_units(topics: Sequence[Ranked], people: Sequence[Mask], *, cells: int, seed: int) -> list[Unit]:
    """What a board has after a campaign of so many cells."""
    rated = [np.full(topic.reached.shape, NOT_RATED, dtype=np.int8) for topic in topics]
    for cell in cover_sample(topics, size=cells, seed=seed):
        rated[cell.topic][cell.row, cell.column] = people[cell.topic][cell.row, cell.column]
    return [
        Unit(
            topic.reached,
            topic.ranked,
            one,
            np.full((len(topic.ranked), one.shape[1]), 1 / one.shape[1] / len(topics)),
        )
        for topic, one in zip(topics, rated, strict=True)
    ]


def llmjudge(folder: Path) -> Iterator[Ranked]:
    """Topics with the ratings of PROMPT and the first CUTOFF passages of every run."""
    ranked: dict[str, list[list[str]]] = {}
    for path in sorted((folder / "runs").glob("*.run")):
        lists: dict[str, list[str]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            query_id, _, doc_id, *_ = line.split()
            lists.setdefault(query_id, []).append(doc_id)
        for query_id, doc_ids in lists.items():
            ranked.setdefault(query_id, []).append(doc_ids[:CUTOFF])
    with gzip.open(folder / "graded.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            query_id, passages = json.loads(line)
            row_of = {passage["paragraph_id"]: row for row, passage in enumerate(passages)}
            rows = [[row_of.get(doc_id, -1) for doc_id in ids] for ids in ranked[query_id]]
            padded = np.array([one + [-1] * (CUTOFF - len(one)) for one in rows], dtype=np.int32)
            yield Ranked(_reached(passages), padded)


def _reached(passages: list[dict[str, list[dict[str, object]]]]) -> Mask:
    cells: dict[str, list[int]] = {}
    for row, passage in enumerate(passages):
        for grades in passage["exam_grades"]:
            if grades["prompt_info"]["prompt_class"] == PROMPT:  # type: ignore[index]
                for rating in grades["self_ratings"]:  # type: ignore[attr-defined]
                    reached = cells.setdefault(rating["question_id"], [])
                    reached += [row] if rating["self_rating"] >= MIN_GRADE else []
    found = np.zeros((len(passages), len(cells)), dtype=np.bool_)
    for column, rows in enumerate(cells.values()):
        found[rows, column] = True
    return found


def made_up(*, topics: int = 25, items: int = 10, passages: int = 290, runs: int = 26) -> Topics:
    """Like LLMJudge: a sixth of the cells reach the threshold, and runs of all qualities."""
    random = np.random.default_rng(11)
    found = []
    for _ in range(topics):
        worth = random.beta(0.35, 1.0, passages)
        chances = worth[:, np.newaxis] * random.beta(0.6, 0.9, items)
        guesses = worth * np.linspace(0.9, 0.1, runs)[:, np.newaxis] + random.normal(
            0, 0.35, (runs, passages)
        )
        ranked = np.argsort(-guesses, axis=1)[:, :CUTOFF].astype(np.int32)
        found.append(Ranked(random.random(chances.shape) < chances, ranked))
    return tuple(found)


if __name__ == "__main__":
    main()
