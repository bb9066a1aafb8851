"""How far a model's ratings agree when the passage comes before the item, and what a prefix cache then saves.

    python bench/prompt_order.py FOLDER [--passages 25] [--llm SmolLM2-135M-Instruct.Q4_1]

FOLDER has the `graded.jsonl.gz` and `questions.jsonl.gz` of LLMJudge (Workbench). Each passage, drawn with a
fixed seed, is asked about all questions of its topic with a prompt and with its passage-first twin; the
likeliest rating of the scale counts (`constrained`). Prints kappa over cells and Spearman's correlation of
expectations between the two, and how each correlates with the judgments of the passages (mean expectation).
Then the tokens computed: without a cache, by the local back-end, by a server that caches blocks of 16 tokens.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grading.formats.graded import read_graded
from grading.graders import GraderSpec, hf_causal
from grading.graders.hf_causal import CausalGrader
from grading.graders.registry import build
from grading.statistics.agreement import cohen_kappa, contingency, weighted_kappa
from grading.types import CellToGrade, Grade, Item, ItemKind, Passage, Topic

PROMPT = "QuestionSelfRatedPromptWithReminder"
ORDERS = {"question first": PROMPT, "passage first": f"{PROMPT}PassageFirst"}
BLOCK = 16
"""Tokens, as in the automatic prefix caching of vLLM."""
LEVELS, MIN_GRADE = range(6), 4
Cell = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=25)
    parser.add_argument("--llm", default="SmolLM2-135M-Instruct.Q4_1")
    options = parser.parse_args()
    cells, judged = sample(options.folder, options.passages)
    print(f"{options.llm}: {len(cells)} cells of {options.passages} passages")
    expectations, ratings = [], []
    for name, prompt_class in ORDERS.items():
        spec = GraderSpec("hf_causal", options.llm, prompt_class, {"constrained": True, "dtype": "float32"})
        grades = graded(name, spec, cells)
        keys = sorted(grades)
        expectations.append([float(grades[key].expectation or 0) for key in keys])
        ratings.append([int(grades[key].rating or 0) for key in keys])
        by_passage = defaultdict(list)
        for key in keys:
            by_passage[key[1]].append(float(grades[key].expectation or 0))
        means = [float(np.mean(by_passage[passage])) for passage in judged]
        with_judgments = spearmanr(means, list(judged.values())).statistic
        print(f"  Spearman with the judgments of {len(judged)} passages {with_judgments:.3f}")
    agreement(ratings, expectations)


def sample(folder: Path, n: int) -> tuple[list[CellToGrade], dict[str, int]]:
    """The cells of `n` passages, and the judgments of these passages."""
    random.seed(7)
    questions, topics = {}, {}
    with gzip.open(folder / "questions.jsonl.gz", "rt") as file:
        for bank in map(json.loads, file):
            topics[bank["query_id"]] = Topic(bank["query_id"], bank["query_text"])
            questions[bank["query_id"]] = [
                Item(item["question_id"], ItemKind.QUESTION, item["question_text"]) for item in bank["items"]
            ]
    lines = read_graded(folder / "graded.jsonl.gz")
    pool = [(line.query_id, each) for line in lines for each in line.passages if line.query_id in topics]
    drawn = random.sample(pool, n)
    judged = {each.doc_id: each.judgments[0].relevance for _, each in drawn if each.judgments}
    cells = [
        CellToGrade(item, Passage(each.doc_id, each.text), topics[query_id])
        for query_id, each in drawn
        for item in questions[query_id]
    ]
    return cells, judged


def graded(name: str, spec: GraderSpec, cells: Sequence[CellToGrade]) -> dict[Cell, Grade]:
    """Print the tokens computed, too."""
    grader = build(spec)
    assert isinstance(grader, CausalGrader)
    computed = 0
    step = hf_causal.Continuation._step

    def counting(self, ids, *rest, **named):  # type: ignore[no-untyped-def]
        nonlocal computed
        computed += ids.numel()
        return step(self, ids, *rest, **named)

    hf_causal.Continuation._step = counting  # type: ignore[method-assign]
    start = time.perf_counter()
    results = list(grader.grade(cells))
    seconds = time.perf_counter() - start
    hf_causal.Continuation._step = step  # type: ignore[method-assign]
    ordered = sorted(cells, key=spec.prompt.render)
    rows = grader._tokens([grader._text(cell, cell.passage.text) for cell in ordered])
    every, served = sum(map(len, rows)), not_cached(rows)
    print(f"{name}: {every:,} tokens of prompts, in {seconds:.0f} s")
    for who, tokens in (("here", computed), ("a server with a prefix cache", served)):
        print(f"  computed by {who}: {tokens:,} ({every / tokens:.2f} times fewer)")
    grades = [result for result in results if isinstance(result, Grade)]
    return {(grade.item_id, grade.passage_id): grade for grade in grades}


def not_cached(rows: Iterable[Sequence[int]]) -> int:
    """Tokens outside of whole blocks that an earlier prompt began with; nothing is evicted."""
    cached: set[tuple[int, ...]] = set()
    computed = 0
    for row in rows:
        starts = [tuple(row[:end]) for end in range(BLOCK, len(row), BLOCK)]
        known = next((len(start) for start in reversed(starts) if start in cached), 0)
        computed += len(row) - known
        cached.update(starts)
    return computed


def agreement(ratings: Sequence[Sequence[int]], expectations: Sequence[Sequence[float]]) -> None:
    counts = contingency(*ratings, rows=LEVELS, columns=LEVELS)
    covers = [[int(rating >= MIN_GRADE) for rating in each] for each in ratings]
    covered = contingency(*covers, rows=(1, 0), columns=(1, 0))
    same = np.mean(np.array(ratings[0]) == np.array(ratings[1]))
    print(f"the two orders over {len(ratings[0])} cells: same rating {same:.2f}")
    print(
        f"  kappa {cohen_kappa(counts):.3f}, weighted {weighted_kappa(counts):.3f}, of >= {MIN_GRADE} ",
        end="",
    )
    print(f"{cohen_kappa(covered):.3f}, Spearman of expectations {spearmanr(*expectations).statistic:.3f}")
    for each, name in zip(ratings, ORDERS, strict=True):
        print(f"  ratings 0 to 5, {name}: {[each.count(level) for level in LEVELS]}")


if __name__ == "__main__":
    main()
