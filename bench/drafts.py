"""What drafts of a small model cost: our writer beside plain `generate` of transformers, and the ratio.

Each drafts questions for the five topics of the demo, in a process of its own: ours as a worker runs it, the
peer with torch's defaults. Processor seconds, which other work on the machine disturbs less than time on the
clock; loading is told apart. The texts that both drafts list are compared.

    python bench/drafts.py [--model FOLDER] [--topics 5] [--longest 512]
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from _measuring import run

from grading.errors import ParseFailure
from grading.generation import DraftTask, draft
from grading.graders.hf_model import SMOLLM2
from grading.types import ItemKind, Topic

TOPICS = ROOT / "fixtures" / "demo" / "topics.jsonl"
AT_MOST = 8.0
"""Processor seconds a draft, on average."""


def main() -> None:
    options = arguments()
    if options.writer:
        print(json.dumps(drafted(options)))
        return
    print(f"{options.topics} drafts by {options.model}, at most {options.longest} tokens a reply")
    rows = {writer: child(writer) for writer in ("ours", "plain")}
    for writer, row in rows.items():
        print(
            f"  {writer:6} {row['cpu'] / options.topics:6.1f} processor s a draft, {row['tokens']:5} tokens, "
            f"{row['calls']} calls; {row['load']:.1f} s to load, on {row['threads']} threads"
        )
    same = sum(map(list.__eq__, rows["ours"]["texts"], rows["plain"]["texts"]))
    ratio = rows["plain"]["cpu"] / rows["ours"]["cpu"]
    print(f"  {ratio:.1f} times less; {same} of {options.topics} drafts list the same texts")
    if rows["ours"]["cpu"] / options.topics > AT_MOST:
        sys.exit(f"more than {AT_MOST:.0f} processor seconds a draft")


def child(writer: str) -> dict[str, Any]:
    """This script again, in the environment of its writer."""
    if writer == "ours":
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    else:
        os.environ.pop("OMP_WAIT_POLICY", None)
    row: dict[str, Any] = json.loads(
        run(sys.executable, *sys.argv, "--writer", writer).output.splitlines()[-1]
    )
    return row


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--model", default=SMOLLM2, help="name, folder or GGUF file of a causal model")
    parser.add_argument("--topics", type=int, default=5)
    parser.add_argument("--longest", type=int, default=512, help="tokens of a reply")
    parser.add_argument("--writer", choices=("ours", "plain"), help=argparse.SUPPRESS)
    return parser.parse_args()


def drafted(options: argparse.Namespace) -> dict[str, Any]:
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    start = time.process_time()
    writer = Counting(options)
    loaded = time.process_time()
    texts = [texts_of(writer, topic) for topic in topics()[: options.topics]]
    cpu = time.process_time() - loaded
    counts = {"tokens": writer.tokens, "calls": writer.calls, "threads": torch.get_num_threads()}
    return {"cpu": cpu, "load": loaded - start, "texts": texts, **counts}


class Counting:
    """A writer, with what it wrote. The plain one is `generate`, as our writer was before."""

    def __init__(self, options: argparse.Namespace) -> None:
        from grading.generation.models import CausalText

        class PlainText(CausalText):
            def quicken(self, model: object) -> bool:  # type: ignore[override]
                return False

            def _generated(self, prompt: str, *, special: bool = True) -> tuple[list[int], int]:
                loaded = self._loaded
                ids = torch.tensor(loaded.token_ids([prompt], special=special))
                with torch.inference_mode():
                    generated = loaded.model.generate(
                        input_ids=ids,
                        attention_mask=torch.ones_like(ids),
                        max_new_tokens=self._longest_reply,
                        num_beams=1,
                        do_sample=prompt in self._asked,
                        pad_token_id=loaded.pad,
                    )
                self._asked.add(prompt)
                return generated[0].tolist(), ids.shape[1]

        import torch

        torch.manual_seed(7)
        writer = CausalText if options.writer == "ours" else PlainText
        self._llm = writer(options.model, options.longest)
        self.tokens = self.calls = 0

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        reply = self._llm.complete(messages)
        self.tokens += len(self._llm._loaded.token_ids([reply], special=False)[0])
        self.calls += 1
        return reply


def texts_of(writer: Counting, topic: Topic) -> list[str]:
    try:
        return list(draft(writer, DraftTask(topic, ItemKind.QUESTION)).texts)
    except ParseFailure:
        return []


def topics() -> list[Topic]:
    topics = map(json.loads, TOPICS.read_text(encoding="utf-8").splitlines())
    queries = {topic["request_id"]: topic["title"] for topic in topics}
    return [Topic(query_id, text) for query_id, text in queries.items()]


if __name__ == "__main__":
    main()
