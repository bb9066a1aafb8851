#!/usr/bin/env python
"""What `make demo MODEL=smollm2` gains and loses by asking for nothing but the rating (`constrained`).

    python bench/demo_constrained.py [--cells 60]

So many cells of each prompt of the demo, drawn with a fixed seed, are asked both ways. Prints the processor
seconds a cell (the model is loaded), and over the cells that both rate the share with the same rating and
kappa. Asked openly, the model may also reply without a rating, which is a failed grade.
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from grading.formats.graded import read_graded
from grading.graders import GraderSpec, hf_model
from grading.graders.registry import build
from grading.statistics.agreement import cohen_kappa, contingency
from grading.types import CellToGrade, Grade, Item, ItemKind, Passage, Topic

DEMO = ROOT / "fixtures" / "demo"
PROMPTS = {
    ItemKind.QUESTION: "QuestionSelfRatedUnanswerablePromptWithChoices",
    ItemKind.NUGGET: "NuggetSelfRatedPrompt",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cells", type=int, default=60, help="of each prompt")
    cells = parser.parse_args().cells
    hf_model.keep_copies_in(ROOT / ".cache" / "models")
    for kind, prompt_class in PROMPTS.items():
        drawn = random.Random(7).sample(demo_cells(kind), cells)
        print(f"{prompt_class}: {cells} cells of the demo")
        constrained, plain = (rated(prompt_class, drawn, constrained=is_so) for is_so in (True, False))
        both = sorted(set(constrained) & set(plain))
        pairs = [constrained[key] for key in both], [plain[key] for key in both]
        kappa = float(cohen_kappa(contingency(*pairs, rows=range(6), columns=range(6))))
        same = sum(map(int.__eq__, *pairs)) / max(1, len(both))
        print(f"  of {len(both)} cells rated both ways {same:.0%} have the same rating, kappa {kappa:.2f}")


def demo_cells(kind: ItemKind) -> list[CellToGrade]:
    """Every passage of a topic under every item of this kind."""
    key = kind.value
    pools = {line.query_id: line.passages for line in read_graded(DEMO / "passages.jsonl")}
    banks = map(json.loads, (DEMO / f"{key}s.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        CellToGrade(
            Item(item[f"{key}_id"], kind, item[f"{key}_text"]),
            Passage(each.doc_id, each.text),
            Topic(bank["query_id"], bank["query_text"]),
        )
        for bank in banks
        for item in bank["items"]
        for each in pools[bank["query_id"]]
    ]


def rated(prompt_class: str, cells: list[CellToGrade], *, constrained: bool) -> dict[tuple[str, str], int]:
    """Return the rating of each cell by its item and its passage; failed grades have none."""
    grader = build(GraderSpec("hf_causal", hf_model.SMOLLM2, prompt_class, {"constrained": constrained}))
    began = time.process_time()
    results = list(grader.grade(cells))
    seconds = time.process_time() - began
    grades = [result for result in results if isinstance(result, Grade) and result.rating is not None]
    way = "constrained" if constrained else "open"
    print(f"  {way:12}{seconds / len(cells):6.2f} processor s a cell, {len(grades)} rated", flush=True)
    return {(grade.item_id, grade.passage_id): grade.rating or 0 for grade in grades}


if __name__ == "__main__":
    main()
