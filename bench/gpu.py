"""Prompts and tokens a second on this machine's GPU, ours beside the published way, and share of the peak.

Ours is the grader that a worker uses, at its own precision and with the batches that it finds. The published
way is transformers' `generate` with 5 beams, the prompts of one passage at a time, at most 10, in float32, as
its scripts load the model. Both rate prompts of about --tokens tokens, made of questions and passages of the
demo collection. Without a GPU it runs on the processor.

    python bench/gpu.py --model google/flan-t5-large
    python bench/gpu.py --shape large                 # the same shape with random weights: no download

FLOPs are those of the encoder's matrix products without padding. The peak is that of the data sheet (dense
bfloat16) where the device is known, and measured with large products where it is not.
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import _flan_shape as flan_shape
import torch
import transformers
from grading_throughput import Peer, Timed, encoder_flops, matmul_peak, ours_once

from grading.graders import GraderSpec
from grading.graders.hf_encoders import Seq2SeqGrader
from grading.graders.registry import build
from grading.types import CellToGrade, Passage

PEAKS = {
    "H200": 989e12,
    "H100 NVL": 835e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "A10": 125e12,
    "RTX 4090": 165e12,
    "RTX 3090": 71e12,
}
"""FLOP/s, dense bfloat16; a longer name comes before its beginning."""
TARGETS = {"prompts/s": 1_000.0, "of the peak": 0.4, "times the published way": 10.0}
"""FLAN-T5-large, 370 tokens, one H100."""


class Run(NamedTuple):
    prompts: int
    timed: Timed
    cpu: float
    """Seconds of the processor, of all threads."""

    @property
    def rate(self) -> float:
        return self.prompts / self.timed.seconds


def main() -> None:
    options = arguments()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.threads:
        torch.set_num_threads(options.threads)
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as temporary:
        if not options.model:
            flan_shape.build(options.shape, Path(temporary), device=options.device)
        compare(options, options.model or temporary)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--model", help="a sequence-to-sequence model's name or folder")
    parser.add_argument("--shape", choices=flan_shape.SHAPES, default="large", help="without --model")
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "int8"), default="auto")
    parser.add_argument("--tokens", type=int, default=370, help="of a prompt, on average")
    parser.add_argument("--prompts", type=int, default=20_000, help="that ours rates")
    parser.add_argument("--published", type=int, default=200, help="that the published way rates")
    parser.add_argument("--threads", type=int, default=0)
    return parser.parse_args()


def compare(options: argparse.Namespace, model: str) -> None:
    settings = {"device": options.device, "dtype": options.dtype}
    grader = build(GraderSpec("hf_seq2seq", model, flan_shape.PROMPT_CLASS, settings))
    assert isinstance(grader, Seq2SeqGrader)
    pairs = pairs_of(grader, max(options.prompts, options.published), options.tokens)
    warm = pairs[:10]
    list(grader.grade(warm))
    part = pairs[: options.prompts]
    ours = timed(part, lambda: ours_once(grader, part))
    report(options, grader, part, ours)
    if options.published:
        peer, few = Peer(Path(model), options.device, "float32"), pairs[: options.published]
        peer.rate(warm, beams=5)
        published = timed(few, lambda: peer.rate(few, beams=5))
        beside(ours, published)


def timed(pairs: list[CellToGrade], work: Callable[[], Timed]) -> Run:
    started = time.process_time()
    took = work()
    return Run(len(pairs), took, time.process_time() - started)


def pairs_of(grader: Seq2SeqGrader, wanted: int, tokens: int) -> list[CellToGrade]:
    """Cells of the demo collection whose passages are so much longer that prompts have so many tokens."""
    pairs = flan_shape.demo_pairs(wanted)
    sample = flan_shape.demo_pairs(1_000)
    now, passages = (
        statistics.mean(map(len, grader._tokens(texts)))
        for texts in ([grader._text(pair) for pair in sample], [pair.passage.text for pair in sample])
    )
    factor = 1 + (tokens - now) / passages
    return [CellToGrade(pair.item, stretched(pair.passage, factor), pair.topic) for pair in pairs]


def stretched(passage: Passage, factor: float) -> Passage:
    """With its words again, or without its last ones."""
    words = passage.text.split()
    n = max(1, round(len(words) * factor))
    return Passage(passage.passage_id, " ".join((words * (1 + n // len(words)))[:n]))


def report(options: argparse.Namespace, grader: Seq2SeqGrader, pairs: list[CellToGrade], ours: Run) -> None:
    lengths = [len(tokens) for tokens in grader._tokens([grader._text(pair) for pair in pairs[:2_000]])]
    config = grader._loaded.model.config
    flops = statistics.mean(encoder_flops(config, min(length, 512)) for length in lengths)
    peak, source = peak_of(options, grader._loaded.dtype)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "processor"
    print(f"{name}, {grader.device}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{config.num_layers} layers of {config.d_model}; prompts of {statistics.mean(lengths):.0f} tokens")
    print(f"  batches                    {grader._size.tokens:12,} tokens")
    print(f"  ours                       {ours.rate:12,.2f} prompts/s ({ours.prompts:,} prompts)")
    print(f"                             {ours.rate * statistics.mean(lengths):12,.0f} tokens/s")
    share = ours.rate * flops / peak
    print(f"  share of the peak          {share:12.1%} of {peak / 1e12:,.2f} TFLOP/s, {source}")


def peak_of(options: argparse.Namespace, dtype: str) -> tuple[float, str]:
    """FLOP/s, and where that comes from."""
    if options.device == "cuda" and dtype == "bfloat16":
        name = torch.cuda.get_device_name()
        known = next((peak for part, peak in PEAKS.items() if part in name), None)
        if known:
            return known, "by its data sheet"
    dtype = dtype if dtype in {"float32", "bfloat16"} else "float32"
    return matmul_peak(argparse.Namespace(device=options.device, dtype=dtype)), f"measured in {dtype}"


def beside(ours: Run, published: Run) -> None:
    print(f"  the published way          {published.rate:12,.2f} prompts/s ({published.prompts:,} prompts)")
    print(f"  ours / published           {ours.rate / published.rate:12.1f} times, by the clock")
    ratio = (published.cpu / published.prompts) / (ours.cpu / ours.prompts)
    print(f"                             {ratio:12.1f} times, by processor time")
    both = [(rating, ours.timed.ratings[key]) for key, rating in published.timed.ratings.items()]
    known = [(theirs, here) for theirs, here in both if theirs is not None]
    equal = sum(theirs == here for theirs, here in known)
    print(f"  the same rating            {equal:12,} of {len(known):,}")
    print("  to reach on an H100        " + ", ".join(f"{least:g} {what}" for what, least in TARGETS.items()))


if __name__ == "__main__":
    main()
