#!/usr/bin/env python
"""The whole rubric in one call beside one pair a call: how far they agree, what fails, and what it takes.

    python bench/whole_rubric.py [--passages 12] [--llm SmolLM2-135M-Instruct.Q4_1]

Passages of the demo, drawn with a fixed seed, are asked about all questions, and about all nuggets, of their
topic with one local model: one pair a call, all in one call, and that with the option `constrained`, by which
the model only chooses the ratings. Prints of each way the calls, the tokens of prompts and of replies, the
failed grades and the processor seconds (the model is loaded); over the pairs that it and the first way rate
the share with the same rating and kappa; its ratings, and their mean by the place in the call; and how many
times its calls, tokens and seconds one pair a call takes.
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from bench.demo_constrained import demo_cells
from grading.graders import JSON, GraderSpec, Result, hf_model
from grading.graders.hf_causal import CausalGrader
from grading.graders.many_items import ManyItems
from grading.graders.registry import build
from grading.statistics.agreement import cohen_kappa, contingency
from grading.types import CellToGrade, Grade, ItemKind

ALONE = {ItemKind.QUESTION: "QuestionSelfRatedPromptWithReminder", ItemKind.NUGGET: "NuggetAssignment"}
WHOLE = {ItemKind.QUESTION: "QuestionSelfRatedWholeRubric", ItemKind.NUGGET: "NuggetAssignmentTenACall"}
Cell = tuple[str, str]


@dataclass(frozen=True)
class Way:
    """What one way of asking took, and brought."""

    name: str
    results: dict[Cell, Result]
    calls: int
    prompt_tokens: int
    reply_tokens: int
    seconds: float

    @property
    def ratings(self) -> dict[Cell, int]:
        graded = ((key, result) for key, result in self.results.items() if isinstance(result, Grade))
        return {key: grade.rating for key, grade in graded if grade.rating is not None}

    def report(self) -> None:
        failed = len(self.results) - len(self.ratings)
        print(
            f"  {self.name}: {self.calls:,} calls, {self.prompt_tokens:,} tokens of prompts and "
            f"{self.reply_tokens:,} of replies, {failed:,} of {len(self.results):,} failed, "
            f"{self.seconds:.1f} processor s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--passages", type=int, default=12)
    parser.add_argument("--llm", default=hf_model.SMOLLM2)
    options = parser.parse_args()
    hf_model.keep_copies_in(ROOT / ".cache" / "models")
    for kind, prompt_class in WHOLE.items():
        cells = sample(demo_cells(kind), options.passages)
        print(f"{kind}s: {len(cells)} pairs of {options.passages} passages, {options.llm}")
        alone = graded(ALONE[kind], cells, options.llm, constrained=False)
        for constrained in (False, True):
            compare(alone, graded(prompt_class, cells, options.llm, constrained=constrained))


def sample(cells: Iterable[CellToGrade], passages: int) -> list[CellToGrade]:
    """Return the cells of so many passages."""
    by_passage: dict[Cell, list[CellToGrade]] = {}
    for cell in cells:
        by_passage.setdefault((cell.topic.query_id, cell.passage.passage_id), []).append(cell)
    drawn = random.Random(7).sample(sorted(by_passage), passages)
    return [cell for key in drawn for cell in by_passage[key]]


def graded(prompt_class: str, cells: list[CellToGrade], llm: str, *, constrained: bool) -> Way:
    options: dict[str, JSON] = {"on_unparsable": "fail", "constrained": constrained}
    grader = build(GraderSpec("hf_causal", llm, prompt_class, options))
    caller = grader.caller if isinstance(grader, ManyItems) else grader
    assert isinstance(caller, CausalGrader)
    began = time.process_time()
    results = list(grader.grade(cells))
    seconds = time.process_time() - began
    traces = [result.trace for result in results if result.trace]
    calls = [
        result.trace.prompt
        for result in results
        if result.trace and (not result.trace.call_items or result.trace.call_items[0] == result.item_id)
    ]
    tokens = caller._loaded.token_ids
    way = Way(
        f"{prompt_class}{', constrained' * constrained}",
        {(result.item_id, result.passage_id): result for result in results},
        len(calls),
        sum(map(len, tokens(calls, special=False))),
        sum(map(len, tokens([trace.reply for trace in traces], special=False))),
        seconds,
    )
    way.report()
    return way


def compare(alone: Way, whole: Way) -> None:
    both = sorted(set(alone.ratings) & set(whole.ratings))
    pairs = [alone.ratings[key] for key in both], [whole.ratings[key] for key in both]
    if both:
        levels = range(max(map(max, pairs)) + 1)
        same = sum(map(int.__eq__, *pairs)) / len(both)
        kappa = float(cohen_kappa(contingency(*pairs, rows=levels, columns=levels)))
        print(f"    of {len(both)} pairs rated both ways {same:.0%} have the same rating, kappa {kappa:.2f}")
        print(f"    ratings one pair a call {_counts(pairs[0])}, of the whole rubric {_counts(pairs[1])}")
    else:
        print("    no pair is rated both ways")
    by_place: dict[int, list[int]] = {}
    for key, rating in whole.ratings.items():
        trace = whole.results[key].trace
        by_place.setdefault((trace.place or 0) if trace else 0, []).append(rating)
    means = ", ".join(f"{place}: {sum(some) / len(some):.1f}" for place, some in sorted(by_place.items()))
    print(f"    mean rating by place in the call: {means or 'none'}")
    print(
        f"    one pair a call takes {alone.calls / whole.calls:.1f} times the calls, "
        f"{alone.prompt_tokens / whole.prompt_tokens:.1f} times the tokens of prompts, "
        f"{alone.seconds / whole.seconds:.1f} times the processor seconds",
        flush=True,
    )


def _counts(ratings: Iterable[int]) -> dict[int, int]:
    return dict(sorted(Counter(ratings).items()))


if __name__ == "__main__":
    main()
