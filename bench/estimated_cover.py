"""How often the interval of the estimated Rubric-Cover holds the true one, by simulation.

People rate every cell, in the simulation: where the grader reaches the threshold they do with a chance of the
first of a pair, elsewhere with that of the second. A sample is drawn as a campaign draws it, the estimate is
made as a board makes it, and compared with the cover that all of the people's ratings give. Errors are
independent, or clustered: an item's (or a passage's) chance follows a Beta distribution with an intraclass
correlation of 0.1, or both have normal effects of a quarter of the variance each behind a probit link.

    python bench/estimated_cover.py [FOLDER] [--draws 200] [--cells 400 900]

FOLDER has the files of LLMJudge: `graded.jsonl.gz` (Workbench) and `runs/`. Without it a collection of the
same shape is made up.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from grading.measures.cover_estimate import NOT_RATED, Unit, estimate, sample_size
from grading.measures.cover_sample import Ranked, cover_sample
from grading.measures.rubric_cover import covered_items

PAIRS = ((0.98, 0.005), (0.95, 0.01), (0.9, 0.02), (0.85, 0.03), (0.8, 0.03), (0.7, 0.05))
PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
MIN_GRADE, CUTOFF = 4, 20
CORRELATION = 0.1
Mask = NDArray[np.bool_]
Random = np.random.Generator


def independent(shape: tuple[int, int], rate: float, random: Random) -> Mask:
    return np.asarray(random.random(shape) < rate)


def by_item(shape: tuple[int, int], rate: float, random: Random) -> Mask:
    return np.asarray(random.random(shape) < _beta(rate, (1, shape[1]), random))


def by_passage(shape: tuple[int, int], rate: float, random: Random) -> Mask:
    return np.asarray(random.random(shape) < _beta(rate, (shape[0], 1), random))


def by_both(shape: tuple[int, int], rate: float, random: Random) -> Mask:
    passages, items = shape
    effects = random.standard_normal((1, items)) / 2 + random.standard_normal((passages, 1)) / 2
    return np.asarray(effects + random.standard_normal(shape) * np.sqrt(0.5) < ndtri(rate))


STRUCTURES = {"independent": independent, "by item": by_item, "by passage": by_passage, "by both": by_both}


def _beta(rate: float, shape: tuple[int, int], random: Random) -> NDArray[np.float64]:
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
    said = parser.parse_args()
    topics = list(llmjudge(said.folder)) if said.folder else made_up()
    runs, items = len(topics[0].ranked), sum(topic.reached.shape[1] for topic in topics)
    print(f"{runs} runs, {len(topics)} topics, {items} items, {said.draws} draws")
    print("cells  errors       P(h>=t|g>=t)  P(h>=t|g<t)  held   worst run  bias    half-width  cannot tell")
    for cells in said.cells:
        for name in said.structures:
            for pair in PAIRS:
                held, bias, half, refused = simulated(topics, pair, name, cells=cells, draws=said.draws)
                print(
                    f"{cells:5}  {name:11}  {pair[0]:12}  {pair[1]:11}  {held.mean():.3f}  {held.min():9.3f}"
                    f"  {bias:+.3f}  {half:10.3f}  {refused:11.0%}",
                    flush=True,
                )


def simulated(
    topics: Sequence[Ranked], pair: tuple[float, float], structure: str, *, cells: int, draws: int
) -> tuple[NDArray[np.float64], float, float, float]:
    """By run how often the interval holds the true cover; over all runs the mean error and half-width.

    Last the share of draws of which the board says that it cannot tell.
    """
    held, errors, halves = [], [], []
    for seed in range(draws):
        random = np.random.default_rng([seed, cells])
        people = [_people(topic, pair, structure, random) for topic in topics]
        true = true_cover(topics, people)
        units = sampled_units(topics, people, cells=cells, seed=seed)
        if not sample_size(units).is_enough:
            continue
        found = estimate(units)
        held.append((found.low <= true + 1e-9) & (true <= found.high + 1e-9))
        errors.append(found.value - true)
        halves.append((found.high - found.low) / 2)
    refused = 1 - len(held) / draws
    if not held:
        return np.full(len(topics[0].ranked), np.nan), np.nan, np.nan, refused
    return np.mean(held, axis=0), float(np.mean(errors)), float(np.mean(halves)), refused


def _people(topic: Ranked, pair: tuple[float, float], structure: str, random: Random) -> Mask:
    above, below = (STRUCTURES[structure](topic.reached.shape, rate, random) for rate in pair)
    return np.where(topic.reached, above, below)


def true_cover(topics: Sequence[Ranked], people: Sequence[Mask]) -> NDArray[np.float64]:
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


def made_up(*, topics: int = 25, items: int = 10, passages: int = 290, runs: int = 26) -> list[Ranked]:
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
    return found


if __name__ == "__main__":
    main()
