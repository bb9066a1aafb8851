"""How often the interval of the estimated Rubric-Cover holds the true one, and its checks warn.

People rate every cell, in the simulation: where the grader reaches the threshold they do with a chance of
0.9, elsewhere of 0.02. A sample is drawn as a campaign draws it, the estimate is made as a board makes it,
and compared with the cover that all of the people's ratings give. Errors are

- independent;
- clustered by item, by passage or by topic: its chance follows a Beta distribution with an intraclass
  correlation of 0.1;
- by relevance: the chances depend on the judgment of the passage, 0 to 3 (REAL and MILD below);
- by length, or by run quality: the odds that people reach the threshold are e^0.7 and e^0.5 times as high for
  each standard deviation of the passage's length, or of the mean score of the runs that have it among their
  first 20. The estimate takes no account of these; its check may see them.

    python bench/estimated_cover.py [FOLDER] [--draws 200] [--cells 400 900 1500] [--seed 0] [--write]

FOLDER has the files of LLMJudge: `graded.jsonl.gz` (Workbench) and `runs/`. Without it a collection of the
same shape is made up, in which one run prefers long passages. The runs of a draw share its sample, so the
Monte-Carlo error of the mean over runs is the standard error over draws. The worst run is that of every other
draw, and its share that of the draws between them: the lowest of 26 shares is low by chance alone. Last, how
far an end moves when only the estimate's own random order changes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench._certainty import Row, report, share
from grading.measures.cover import covered_items
from grading.statistics.agreement import Checks, checks
from grading.statistics.cover_estimate import (
    NOT_RATED,
    Unit,
    estimate,
    sample_size,
)
from grading.statistics.cover_sample import Ranked, cover_sample
from grading.statistics.max_t import ALPHA

PAIR = (0.9, 0.02)
"""P(people >= t | grader >= t) and P(people >= t | grader < t)."""
REAL = ((0.35, 0.6, 0.8, 0.9), (0.003, 0.01, 0.04, 0.1))
MILD = ((0.7, 0.78, 0.85, 0.9), (0.01, 0.015, 0.025, 0.04))
"""The same by the judgment of the passage."""
PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
MIN_GRADE, CUTOFF, MIN_RELEVANT = 4, 20, 2
CORRELATION, QUALITY_SLOPE, LENGTH_SLOPE = 0.1, 0.5, 0.7
SEEDS = 20
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True, eq=False)
class Topic(Ranked):
    """With the judgment of each passage, 0 to 3, and its length in standard deviations from the mean."""

    judged: NDArray[np.int64]
    length: Floats

    @property
    def relevant(self) -> Mask:
        return np.asarray(self.judged >= MIN_RELEVANT)


Topics = tuple[Topic, ...]


@dataclass(frozen=True, eq=False)
class Simulated:
    """Arrays of shape (draws, runs), but for `is_few` and `warned`."""

    held: Mask
    errors: Floats
    halves: Floats
    is_few: Mask
    """So few misses were sampled that the board says "at least" before the level."""
    warned: dict[str, int]
    """By check: the number of draws on which it warned."""
    refused: float
    """Share of the draws of which the board says that it cannot tell; they are in no array."""

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of the share held; the runs of a draw are not independent."""
        return float(self.held.mean(axis=1).std() / np.sqrt(len(self.held)))


def independent(topics: Topics, pair: tuple[float, float], random: Random) -> list[Mask]:
    return [_rated(topic, np.full(2, pair)[:, np.newaxis, np.newaxis], random) for topic in topics]


def clustered(by: str, topics: Topics, pair: tuple[float, float], random: Random) -> list[Mask]:
    total, found = 1 / CORRELATION - 1, []
    for topic in topics:
        passages, items = topic.reached.shape
        shape = {"item": (1, items), "passage": (passages, 1), "topic": (1, 1)}[by]
        rates = [random.beta(rate * total, (1 - rate) * total, shape) for rate in pair]
        found.append(_rated(topic, np.stack(rates), random))
    return found


def by_relevance(
    rates: tuple[tuple[float, ...], ...], topics: Topics, pair: tuple[float, float], random: Random
) -> list[Mask]:
    del pair
    return [_rated(topic, np.array(rates)[:, topic.judged, np.newaxis], random) for topic in topics]


def by_length(topics: Topics, pair: tuple[float, float], random: Random) -> list[Mask]:
    return _sloped(topics, [LENGTH_SLOPE * topic.length for topic in topics], pair, random)


def by_run_quality(topics: Topics, pair: tuple[float, float], random: Random) -> list[Mask]:
    return _sloped(topics, [QUALITY_SLOPE * worth for worth in passage_worths(topics)], pair, random)


def _sloped(
    topics: Topics, slopes: Sequence[Floats], pair: tuple[float, float], random: Random
) -> list[Mask]:
    found = []
    for topic, slope in zip(topics, slopes, strict=True):
        ranked, rates = np.unique(topic.ranked[topic.ranked >= 0]), []
        for rate in pair:
            each = expit(logit(rate) + slope)
            rates.append(np.minimum(each * rate / each[ranked].mean(), 1))
        found.append(_rated(topic, np.stack(rates)[:, :, np.newaxis], random))
    return found


def _rated(topic: Topic, rates: Floats, random: Random) -> Mask:
    """Return the cells that people rate at or above the threshold; `rates` where the grader does, and
    elsewhere.
    """
    chances = np.where(topic.reached, rates[0], rates[1])
    return np.asarray(random.random(topic.reached.shape) < chances)


SETTINGS: dict[str, Callable[[Topics, tuple[float, float], Random], list[Mask]]] = {
    "independent": independent,
    "by item": partial(clustered, "item"),
    "by passage": partial(clustered, "passage"),
    "by topic": partial(clustered, "topic"),
    "by relevance, mild": partial(by_relevance, MILD),
    "by relevance, real": partial(by_relevance, REAL),
    "by length": by_length,
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--cells", type=int, nargs="+", default=[400, 900, 1500])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="rewrite the table of docs/certainty.md")
    options = parser.parse_args()
    topics = tuple(llmjudge(options.folder)) if options.folder else made_up()
    items = sum(topic.reached.shape[1] for topic in topics)
    print(f"{len(topics[0].ranked)} runs, {len(topics)} topics, {items} items, {options.draws} draws a line")
    rows = []
    for name, cells in product(options.settings, options.cells):
        found = simulated(topics, name, cells=cells, draws=options.draws, seed=options.seed)
        rows += _rows(f"{name}, {cells:,} cells", found, options.seed)
    report("cover", rows)
    print(f"\nlargest move of an end over {SEEDS} seeds of the estimate: {steadiness(topics):.4f}")


def _rows(setting: str, found: Simulated, seed: int) -> list[Row]:
    if not len(found.held):
        return []
    draws, half = len(found.held), found.halves.mean()
    worst = [(part, found.held[1 - part :: 2].mean(axis=0).argmin()) for part in (0, 1)]
    n_held = sum(int(found.held[part::2, run].sum()) for part, run in worst)
    bias = np.mean([found.errors[part::2, run].mean() for part, run in worst])
    rows = [
        Row(
            f"{setting}: mean over runs, half-width {half:.3f}",
            "≥ .95",
            float(found.held.mean()),
            found.monte_carlo_error,
            seed,
        ),
        share(f"{setting}: worst run, bias {bias:+.3f}", "≥ .95", n_held, draws, seed),
    ]
    name = LOOKED_AT.get(setting.split(", ", maxsplit=1)[0], CHECKS[-1])
    return [*rows, share(f"{setting}: warns of {name}", "", found.warned[name], draws, seed)]


def simulated(
    topics: Topics,
    setting: str,
    pair: tuple[float, float] = PAIR,
    *,
    cells: int,
    draws: int,
    seed: int = 0,
) -> Simulated:
    held, errors, halves, few = [], [], [], []
    warned = dict.fromkeys(CHECKS, 0)
    place = list(SETTINGS).index(setting)
    for number in range(draws):
        random = np.random.default_rng([seed, number, cells, place])
        people = SETTINGS[setting](topics, pair, random)
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
        checked = checked_by(topics, units)
        warnings = [trend.p < ALPHA for trend in checked]
        for name, is_warning in zip(CHECKS, [*warnings, any(warnings[1:])], strict=True):
            warned[name] += int(is_warning)
    shape = (len(held), len(topics[0].ranked))
    return Simulated(
        np.reshape(held, shape).astype(np.bool_),
        np.reshape(errors, shape),
        np.reshape(halves, shape),
        np.array(few, dtype=np.bool_),
        warned,
        1 - len(held) / draws,
    )


CHECKS = ("relevance", "length", "run quality", "length or run quality")
LOOKED_AT = {f"by {name}": name for name in CHECKS}
"""By setting: the check that should warn; in the others none should."""


def steadiness(topics: Topics) -> float:
    """By how much an end of an interval moves when only the seed of the estimate does."""
    random = np.random.default_rng(0)
    people = SETTINGS["by item"](topics, PAIR, random)
    units = sampled_units(topics, people, cells=400, seed=0)
    ends = [np.concatenate([one.low, one.high]) for one in (estimate(units, seed=n) for n in range(SEEDS))]
    return float(np.ptp(ends, axis=0).max())


def checked_by(topics: Topics, units: Sequence[Unit]) -> Checks:
    judged = [topic.judged.astype(np.float64) for topic in topics]
    return checks(units, judged, [topic.length for topic in topics])


def true_cover(topics: Sequence[Ranked], people: Sequence[Mask]) -> Floats:
    covered = [
        covered_items(one.astype(np.int8), topic.ranked, cutoff=CUTOFF, min_grade=1).mean(axis=1)
        for topic, one in zip(topics, people, strict=True)
    ]
    return np.asarray(np.mean(covered, axis=0))


def sampled_units(topics: Sequence[Topic], people: Sequence[Mask], *, cells: int, seed: int) -> list[Unit]:
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
            topic.relevant,
        )
        for topic, one in zip(topics, rated, strict=True)
    ]


def llmjudge(folder: Path) -> Iterator[Topic]:
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
            judgments = [passage["paragraph_data"]["judgments"] for passage in passages]
            judged = [max((one["relevance"] for one in each), default=0) for each in judgments]
            length = np.log([len(passage["text"]) + 1 for passage in passages])
            yield Topic(
                _reached(passages),
                padded,
                np.clip(judged, 0, 3).astype(np.int64),
                (length - length.mean()) / length.std(),
            )


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
    """Like LLMJudge: a sixth of the cells reach the threshold, runs of all qualities; the middle one prefers
    long passages.
    """
    random = np.random.default_rng(11)
    found = []
    for _ in range(topics):
        worth = random.beta(0.35, 1.0, passages)
        chances = worth[:, np.newaxis] * random.beta(0.6, 0.9, items)
        judged = np.digitize(worth + random.normal(0, 0.15, passages), (0.25, 0.5, 0.75))
        length = random.standard_normal(passages)
        guesses = worth * np.linspace(0.9, 0.1, runs)[:, np.newaxis]
        guesses += random.normal(0, 0.35, (runs, passages))
        guesses[runs // 2] += length
        ranked = np.argsort(-guesses, axis=1)[:, :CUTOFF].astype(np.int32)
        found.append(Topic(random.random(chances.shape) < chances, ranked, judged, length))
    return tuple(found)


if __name__ == "__main__":
    main()
