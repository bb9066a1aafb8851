"""What a local model's time goes to on a processor: matrix products, attention, and the rest.

A T5 of FLAN's shape and SmolLM2 rate prompts of the demo collection on one thread. Attention is two matrix
products with a softmax between them. The rest is all else until the ratings are there: other operations,
transformers' Python, reading the ratings. Other work on the machine slows all parts alike.

    python bench/model_profile.py [--dtype float32|bfloat16|int8] [--shape small] [--prompts 24] [--rows 6]
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import _flan_shape as flan_shape
import torch
import transformers

from grading.graders import GraderSpec, hf_batches
from grading.graders.hf_batches import EncodedPrompt, LocalGrader
from grading.graders.hf_model import SMOLLM2
from grading.graders.registry import build

TARGET = 0.08
PRODUCTS = frozenset(
    {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_int_mm", "mkldnn::_linear_pointwise"}
)
"""The last one also applies the activation behind some products."""
ATTENTION = ("aten::_scaled_dot_product", "aten::_softmax")


def main() -> None:
    options = arguments()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.model or temporary)
        if not (folder / "config.json").exists():
            flan_shape.build(options.shape, folder)
        profile("hf_seq2seq", str(folder), f"FLAN-T5-{options.shape} shape", options)
    profile("hf_causal", options.causal, "SmolLM2", options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "int8"), default="float32")
    parser.add_argument("--shape", choices=flan_shape.SHAPES, default="small")
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--rows", type=int, default=6, help="operations of the rest that are listed")
    parser.add_argument("--model", help="keep the T5 in this folder, or take it from there")
    parser.add_argument("--causal", default=SMOLLM2, help="name or folder of the causal model")
    return parser.parse_args()


def profile(backend: str, llm: str, name: str, options: argparse.Namespace) -> None:
    settings = {"device": "cpu", "dtype": options.dtype}
    grader = build(GraderSpec(backend, llm, flan_shape.PROMPT_CLASS, settings))
    assert isinstance(grader, LocalGrader)
    every = flan_shape.demo_pairs(1_000)
    pairs = every[:: len(every) // options.prompts][: options.prompts]
    batches = list(grader._batches(prompts(grader, pairs)))
    grader._run(batches[-1])
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        started = time.perf_counter()
        for batch in batches:
            grader._run(batch)
        seconds = time.perf_counter() - started
    spent = {event.key: event.self_cpu_time_total / 1e6 for event in profiler.key_averages()}
    print(f"{name}, {grader.device}: {len(pairs)} prompts, {seconds:.1f} s")
    report(spent, seconds, options.rows)
    grader.close()


def prompts(grader: LocalGrader, pairs: list[hf_batches.CellToGrade]) -> Iterator[EncodedPrompt]:
    return hf_batches._encoded(grader._asked(pairs), [])


def report(spent: dict[str, float], seconds: float, rows: int) -> None:
    products = sum(spent.get(name, 0.0) for name in PRODUCTS)
    attention = sum(took for name, took in spent.items() if name.startswith(ATTENTION))
    rest = seconds - products - attention
    line("matrix products", products / seconds)
    line("attention", attention / seconds)
    line(f"the rest (at most {TARGET:.0%})", rest / seconds)
    others = {
        name: took for name, took in spent.items() if name not in PRODUCTS and not name.startswith(ATTENTION)
    }
    for name in sorted(others, key=lambda name: -others[name])[:rows]:
        line(f"  {name}", others[name] / seconds)
    line("  Python, and operations too small to tell", (rest - sum(others.values())) / seconds)


def line(words: str, share: float) -> None:
    print(f"  {words:44} {share:6.1%}")


if __name__ == "__main__":
    main()
