"""How many prompts a second our sequence-to-sequence grader rates, beside generation as scripts publish it.

The peer is transformers' `generate` with 5 beams and early stopping, the prompts of one passage at a time, at
most 10. Same prompts, same weights, same machine, turn by turn in one run. The model has a FLAN-T5 shape and
random weights, so that nothing is downloaded (_flan_shape.py); most of its replies are one digit and the end.

    python bench/grading_throughput.py [--shape small|base|large] [--device cpu|cuda]
        [--dtype float32|bfloat16] [--prompts 210] [--rounds 3] [--threads N] [--model FOLDER]
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import _flan_shape as flan_shape
import torch
import transformers

from grading.graders import GraderSpec, hf_batches, hf_kernels
from grading.graders.hf_encoders import Seq2SeqGrader
from grading.graders.registry import build
from grading.parsing import parse_rating
from grading.types import CellToGrade, Grade

PEER_BATCH = 10
LONGEST_REPLY = 256
MATMUL = {"cpu": 2048, "cuda": 8192}
Ratings = dict[tuple[str, str], int | None]


class Timed(NamedTuple):
    seconds: float
    ratings: Ratings


class Round(NamedTuple):
    prompts: int
    ours: Timed
    beams: Timed
    greedy: Timed
    peak: float


def main() -> None:
    options = arguments()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.threads:
        torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.model or temporary)
        if not (folder / "config.json").exists():
            flan_shape.build(options.shape, folder, device=options.device)
        compare(options, folder)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--shape", choices=flan_shape.SHAPES, default="small")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--prompts", type=int, default=210)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--model", help="keep the model in this folder, or take it from there")
    return parser.parse_args()


def compare(options: argparse.Namespace, folder: Path) -> None:
    spec = GraderSpec(
        "hf_seq2seq",
        str(folder),
        flan_shape.PROMPT_CLASS,
        {"device": options.device, "dtype": options.dtype},
    )
    grader = build(spec)
    assert isinstance(grader, Seq2SeqGrader)
    peer = Peer(folder, options.device, options.dtype)
    pairs = flan_shape.demo_pairs(options.prompts)
    ours_once(grader, pairs[:PEER_BATCH])
    peer.rate(pairs[:PEER_BATCH], beams=5)
    rounds = []
    for part in parts(pairs, options.rounds):
        ours, beams = ours_once(grader, part), peer.rate(part, beams=5)
        greedy, peak = peer.rate(part, beams=1), matmul_peak(options)
        rounds.append(Round(len(part), ours, beams, greedy, peak))
    report(options, grader, pairs, rounds)


def parts(pairs: list[CellToGrade], n: int) -> Iterator[list[CellToGrade]]:
    size = -(-len(pairs) // n)
    return (pairs[start : start + size] for start in range(0, len(pairs), size))


def ours_once(grader: Seq2SeqGrader, pairs: list[CellToGrade]) -> Timed:
    started = time.perf_counter()
    grades = list(grader.grade(pairs))
    seconds = time.perf_counter() - started
    return Timed(
        seconds,
        {(g.item_id, g.passage_id): g.rating if isinstance(g, Grade) else None for g in grades},
    )


class Peer:
    """Transformers as the published scripts call it."""

    def __init__(self, folder: Path, device: str, dtype: str) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=getattr(torch, dtype))
        self.model = model.to(device).eval()

    @torch.inference_mode()
    def rate(self, pairs: list[CellToGrade], *, beams: int) -> Timed:
        prompt = GraderSpec("hf_seq2seq", "", flan_shape.PROMPT_CLASS).prompt
        search: dict[str, Any] = (
            {"num_beams": beams, "early_stopping": True} if beams > 1 else {"num_beams": 1}
        )
        replies: list[str] = []
        started = time.perf_counter()
        for _, group in groupby(pairs, key=lambda pair: pair.passage.passage_id):
            asked = [prompt.render(pair) for pair in group]
            for first in range(0, len(asked), PEER_BATCH):
                inputs = self.tokenizer(
                    asked[first : first + PEER_BATCH],
                    padding=True,
                    truncation=True,
                    max_length=512,
                    return_tensors="pt",
                ).to(self.model.device)
                said = self.model.generate(**inputs, **search, do_sample=False, max_new_tokens=LONGEST_REPLY)
                replies += self.tokenizer.batch_decode(said, skip_special_tokens=True)
        seconds = time.perf_counter() - started
        keys = [(pair.item.item_id, pair.passage.passage_id) for pair in pairs]
        return Timed(seconds, {key: digit(reply) for key, reply in zip(keys, replies, strict=True)})


def digit(reply: str) -> int | None:
    """The rating of a reply that begins with one, else None."""
    return parse_rating(reply).rating if reply[:1].isdigit() else None


def report(
    options: argparse.Namespace, grader: Seq2SeqGrader, pairs: list[CellToGrade], rounds: list[Round]
) -> None:
    def rate(name: str) -> float:
        return statistics.median(one.prompts / getattr(one, name).seconds for one in rounds)

    def ratio(name: str) -> float:
        return statistics.median(getattr(one, name).seconds / one.ours.seconds for one in rounds)

    lengths, computed = tokens(grader, parts(pairs, options.rounds))
    flops = statistics.mean(encoder_flops(grader._loaded.model.config, length) for length in lengths)
    peak = max(one.peak for one in rounds)
    machine = f"{grader.device}, torch {torch.__version__}, {torch.get_num_threads()} threads"
    print(f"FLAN-T5-{options.shape} shape, {machine}")
    print(f"{len(pairs)} prompts of {statistics.mean(lengths):.0f} tokens, median of {len(rounds)} rounds")
    print(f"  5 beams, passage by passage   {rate('beams'):8.2f} prompts/s")
    print(f"  greedy, passage by passage    {rate('greedy'):8.2f} prompts/s")
    print(f"  ours                          {rate('ours'):8.2f} prompts/s")
    print(f"  ours / 5 beams                {ratio('beams'):8.2f}")
    print(f"  ours / greedy                 {ratio('greedy'):8.2f}")
    print(f"  padding                       {1 - sum(lengths) / computed:8.1%} of our tokens")
    share = rate("ours") * flops / peak
    print(f"  encoder's FLOPs               {share:8.1%} of {peak / 1e12:.2f} TFLOP/s, large matrix products")
    compared(rounds, "greedy", "greedy decoding")
    compared(rounds, "beams", "5 beams")


def tokens(grader: Seq2SeqGrader, rounds: Iterable[list[CellToGrade]]) -> tuple[list[int], int]:
    """Of each prompt, and of all batches with their padding."""
    lengths, computed = [], 0
    for part in rounds:
        for batch in grader._batches(hf_batches._encoded(grader._asked(part), [])):
            lengths += [len(one.tokens) for one in batch]
            computed += hf_batches._padded_tokens(batch)
    return lengths, computed


def compared(rounds: list[Round], name: str, words: str) -> None:
    pairs = [
        (rating, one.ours.ratings[key])
        for one in rounds
        for key, rating in getattr(one, name).ratings.items()
        if rating is not None
    ]
    differ = sum(theirs != ours for theirs, ours in pairs)
    print(f"  {differ} of {len(pairs)} ratings differ from {words} at the same precision")


def encoder_flops(config: Any, length: int) -> float:
    inner = config.num_heads * config.d_kv
    linear = 4 * config.d_model * inner + 3 * config.d_model * config.d_ff
    return config.num_layers * length * (2.0 * linear + 4.0 * length * inner)


def matmul_peak(options: argparse.Namespace) -> float:
    """FLOP/s of a large matrix product: the best of many, by the quickest of the libraries in use."""
    n, dtype = MATMUL[options.device], getattr(torch, options.dtype)
    layers = [torch.nn.Linear(n, n, bias=False, device=options.device, dtype=dtype) for _ in range(2)]
    if options.device == "cpu" and hf_kernels.can_pack(dtype):
        hf_kernels.pack(layers[1])
    given = torch.randn(n, n, device=options.device, dtype=dtype)

    def once(layer: torch.nn.Linear) -> float:
        started = time.perf_counter()
        layer(given)
        if options.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    with torch.inference_mode():
        return 2.0 * n**3 / min(once(layer) for _ in range(12) for layer in layers)


if __name__ == "__main__":
    main()
