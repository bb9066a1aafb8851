"""How much quicker a causal model rates from its first steps than by writing its replies to their end.

The peer is what our grader did before it knew lead-ins: it scores the first token, and where that is no bare
digit, as in "- 5: The answer is ...", it generates up to 64 tokens. Beside it the same grader with lead-ins,
and with the option `constrained`. Same cells of the demo, same weights, turn by turn in one run, with the
number of ratings that agree with the peer's.

    python bench/first_steps.py [--cells 96] [--rounds 3] [--threads N] [--model FOLDER]
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import _flan_shape as flan_shape
import torch
import transformers

from grading.graders import GraderSpec
from grading.graders.first_step import ReplyScorer
from grading.graders.hf_causal import CausalGrader
from grading.graders.hf_model import SMOLLM2
from grading.types import CellToGrade, Grade

DEMO_CELLS = 1022
Ratings = dict[tuple[str, str], int | None]


class ToTheEnd(CausalGrader):
    """Only a bare digit that ends the reply, or its line, is read from the first steps."""

    def _scorer_of(self, ends):  # type: ignore[no-untyped-def]
        scorer = ReplyScorer(self._loaded.tokenizer, self._prompt, ends, lead_ins=(("", " "),))
        scorer._read = lambda tokens, spelt, *, is_end: (  # type: ignore[method-assign]
            scorer._spellings[spelt] if is_end and tokens == spelt else None
        )
        return scorer


def main() -> None:
    options = arguments()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.threads:
        torch.set_num_threads(options.threads)
    plain = {"dtype": "float32", "device": "cpu"}
    spec = GraderSpec("hf_causal", options.model, flan_shape.PROMPT_CLASS, plain)
    graders = {
        "to the end": ToTheEnd(spec),
        "lead-ins": CausalGrader(spec),
        "constrained": CausalGrader(
            GraderSpec("hf_causal", options.model, flan_shape.PROMPT_CLASS, {**plain, "constrained": True})
        ),
    }
    cells = evenly(flan_shape.demo_pairs(DEMO_CELLS), options.cells)
    seconds: dict[str, list[float]] = {name: [] for name in graders}
    ratings: dict[str, Ratings] = {name: {} for name in graders}
    for part in parts(cells, options.rounds):
        for name, grader in graders.items():
            started = time.perf_counter()
            ratings[name] |= rated(grader, part)
            seconds[name].append((time.perf_counter() - started) / len(part))
            print(f"  {name}: {len(part)} cells, {1 / seconds[name][-1]:.2f} a second", file=sys.stderr)
    report(options, len(cells), seconds, ratings)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cells", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--model", default=SMOLLM2, help="a folder or a GGUF file")
    return parser.parse_args()


def evenly(pairs: list[CellToGrade], wanted: int) -> list[CellToGrade]:
    """So many, in runs of neighbours: a grader meets the passages of a topic together."""
    return pairs[: len(pairs) // wanted * wanted : max(1, len(pairs) // wanted)][:wanted]


def parts(pairs: list[CellToGrade], n: int) -> list[list[CellToGrade]]:
    size = -(-len(pairs) // n)
    return [pairs[start : start + size] for start in range(0, len(pairs), size)]


def rated(grader: CausalGrader, pairs: list[CellToGrade]) -> Ratings:
    outcomes = list(grader.grade(pairs))
    return {(one.item_id, one.passage_id): one.rating if isinstance(one, Grade) else None for one in outcomes}


def report(
    options: argparse.Namespace, n: int, seconds: dict[str, list[float]], ratings: dict[str, Ratings]
) -> None:
    print(f"{Path(options.model).name}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{n} cells of the demo, median of {len(seconds['to the end'])} rounds")
    before = ratings["to the end"]
    for name, each in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(seconds["to the end"], each, strict=True))
        same = sum(ratings[name][cell] == rating for cell, rating in before.items())
        print(
            f"  {name:<12} {1 / statistics.median(each):7.2f} cells/s   {ratio:5.2f} times as quick"
            f"   {same} of {len(before)} ratings agree"
        )


if __name__ == "__main__":
    main()
