#!/usr/bin/env python
"""Exemplars of rated pairs beside none: does a small model grade more as people do, and what does it take?

    python bench/exemplars.py FOLDER [--pairs 80] [--exemplars 4] [--llm SmolLM2-135M-Instruct.Q4_1]

FOLDER has the files of LLMJudge (`graded.jsonl.gz`, `queries.json`). Its judgments 0 to 3 take the place of
people's ratings, as 0, 2, 4 and 5 of the scale, and the query that of a question. Exemplars are chosen of all
pairs with the seeds 0 to 2, as a grader's are; pairs of other passages, as many of each judgment, are drawn
with a fixed seed and graded with the option `constrained`. Prints of each way the tokens of prompts and the
processor seconds a pair, the ratings, their kappa with people with squared weights, and how often a relevant
passage (judged 2 or 3) has the higher mean of the model's distribution than one that is not; 0.5 is chance.
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from grading.graders import Grader, GraderSpec, build, hf_model
from grading.graders.exemplars import LONGEST_PASSAGE, RatedPair, Slot, choose, fitting
from grading.graders.hf_causal import CausalGrader
from grading.segmentation import longest_start
from grading.statistics.agreement import contingency, weighted_kappa
from grading.types import CellToGrade, Exemplar, Grade, Item, ItemKind, Passage, Topic

PROMPT = "QuestionSelfRatedPromptWithReminder"
RATINGS = (0, 2, 4, 5)
"""The rating that stands for each judgment."""
SEEDS = range(3)
LONGEST_GRADED = 1_500
"""Characters of the passages that are graded."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=80)
    parser.add_argument("--exemplars", type=int, default=4)
    parser.add_argument("--llm", default=hf_model.SMOLLM2)
    options = parser.parse_args()
    hf_model.keep_copies_in(ROOT / ".cache" / "models")
    judged = judged_pairs(options.folder)
    chosen = [choose(map(_rated, judged), options.exemplars, seed) for seed in SEEDS]
    shown = {pair.doc_id for slots in chosen for slot in slots for pair in slot}
    drawn = sample([each for each in judged if each[0].passage.passage_id not in shown], options.pairs)
    print(f"{len(drawn)} pairs of {len({cell.topic for cell, _ in drawn})} topics, {options.llm}")
    grader = build(GraderSpec("hf_causal", options.llm, PROMPT, {"constrained": True}))
    compare("no exemplars", grader, drawn, [])
    texts = {cell.passage.passage_id: (cell, judgment) for cell, judgment in judged}
    for seed, slots in zip(SEEDS, chosen, strict=True):
        exemplars = [tuple(_exemplar(*texts[pair.doc_id]) for pair in slot) for slot in slots]
        compare(f"{len(slots)} exemplars, seed {seed}", grader, drawn, exemplars)


def judged_pairs(folder: Path) -> list[tuple[CellToGrade, int]]:
    """Return each query with each judged passage, and the judgment."""
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    pairs = []
    with gzip.open(folder / "graded.jsonl.gz", "rt", encoding="utf-8") as lines:
        for query_id, passages in map(json.loads, lines):
            query = queries[query_id]
            item = Item(f"{query_id}/query", ItemKind.QUESTION, query)
            for each in passages:
                judgment = each["paragraph_data"]["judgments"][0]["relevance"]
                passage = Passage(each["paragraph_id"], each["text"])
                pairs.append((CellToGrade(item, passage, Topic(query_id, query)), judgment))
    return pairs


def sample(judged: list[tuple[CellToGrade, int]], number: int) -> list[tuple[CellToGrade, int]]:
    """Return so many pairs, of each judgment as many, of passages that are not long."""
    chance, drawn = random.Random(7), []
    for label in range(len(RATINGS)):
        fitting_in = [one for one in judged if one[1] == label and len(one[0].passage.text) <= LONGEST_GRADED]
        drawn += chance.sample(fitting_in, number // len(RATINGS))
    return drawn


def _rated(judged: tuple[CellToGrade, int]) -> RatedPair:
    cell, judgment = judged
    doc_id = cell.passage.passage_id
    return RatedPair(doc_id, cell.topic.query_id, doc_id, RATINGS[judgment], len(cell.passage.text))


def _exemplar(cell: CellToGrade, judgment: int) -> Exemplar:
    text = longest_start(cell.passage.text, lambda start: len(start) <= LONGEST_PASSAGE)
    named = cell.item.kind, cell.topic.query_id, cell.item.text, cell.passage.passage_id
    return Exemplar(*named, text, RATINGS[judgment])


def compare(name: str, grader: Grader, drawn: list[tuple[CellToGrade, int]], slots: list[Slot]) -> None:
    cells = [replace(cell, exemplars=fitting(slots, cell)) for cell, _ in drawn]
    began = time.process_time()
    results = {(each.item_id, each.passage_id): each for each in grader.grade(cells)}
    seconds = time.process_time() - began
    ordered = [results[cell.item.item_id, cell.passage.passage_id] for cell in cells]
    both = [
        (each.rating, each.expectation or 0.0, judgment)
        for each, (_, judgment) in zip(ordered, drawn, strict=True)
        if isinstance(each, Grade) and each.rating is not None
    ]
    assert isinstance(grader, CausalGrader)
    prompts = [each.trace.prompt for each in ordered if each.trace]
    tokens = sum(map(len, grader._loaded.token_ids(prompts, special=False)))
    ratings, people = [rating for rating, _, _ in both], [RATINGS[judgment] for _, _, judgment in both]
    kappa = float(weighted_kappa(contingency(ratings, people, rows=range(6), columns=range(6))))
    wins = [
        float(high > low) + 0.5 * float(high == low)
        for _, high, good in both
        for _, low, bad in both
        if good >= 2 > bad
    ]
    print(
        f"  {name}: {tokens / len(cells):,.0f} tokens and {seconds / len(cells):.1f} processor s a pair; "
        f"{len(both)} of {len(cells)} rated, {dict(sorted(Counter(ratings).items()))}; kappa {kappa:.2f}; "
        f"relevant above not relevant {sum(wins) / max(1, len(wins)):.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
