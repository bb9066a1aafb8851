"""How fast are the responses of a track's runs imported, in how much memory, and how do both grow?

    python bench/import_responses.py [--runs 60] [--topics 54] [--sentences 12]

Generates runs in the form of RAG'25, and imports a tenth of them and then all, each time by a process of its
own into a new SQLite database (or one at DATABASE_URL, which must be empty). Beside it, json.loads and a
sha256 of each sentence, which any import has to do at least.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from _measuring import manage

WORDS = [
    "the",
    "a",
    "of",
    "and",
    "bees",
    "honey",
    "hive",
    "nectar",
    "leaves",
    "light",
    "water",
    "cloud",
    "winter",
    "food",
    "sleep",
    "rain",
    "soil",
    "air",
    "heat",
    "moon",
    "tide",
]
SLUG = "bench-responses"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--topics", type=int, default=54)
    parser.add_argument("--sentences", type=int, default=12)
    options = parser.parse_args()
    measured = [
        measure(runs, options.topics, options.sentences) for runs in (options.runs // 10, options.runs)
    ]
    (small, small_memory), (large, large_memory) = measured
    print(
        f"10 times the runs: {large / small:.1f} times the time, {large_memory / small_memory:.1f} the memory"
    )


def measure(runs: int, topics: int, sentences: int) -> tuple[float, float]:
    """Seconds of the processor without the start of the process, and peak MB."""
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as name:
        folder = Path(name)
        files = make(folder / "runs", runs, topics, sentences)
        queries = folder / "topics.tsv"
        queries.write_text("".join(f"t{topic}\tneed {topic}\n" for topic in range(topics)), encoding="utf-8")
        os.environ |= {"RUBRIC_DATA_DIR": str(folder / "var"), "RUBRIC_LOG_LEVEL": "ERROR"}
        manage("migrate", "-v0")
        start = manage("import_collection", "--help").cpu
        given = ["import_collection", SLUG, f"--queries={queries}", f"--responses={folder / 'runs'}"]
        took = manage(*given)
        least = plainly(files)
        size = sum(file.stat().st_size for file in files) / 1e6
        print(
            f"{runs} runs, {topics} topics, {runs * topics * sentences:,} sentences, {size:.1f} MB: "
            f"{took.cpu - start:.1f} s, {took.peak:.0f} MB; json and digests alone {least:.2f} s",
            flush=True,
        )
        return took.cpu - start, took.peak


def make(folder: Path, runs: int, topics: int, sentences: int) -> list[Path]:
    folder.mkdir()
    dice = random.Random(runs)
    files = []
    for run in range(runs):
        file = folder / f"run{run:03}.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for response in responses(dice, f"run{run:03}", topics, sentences):
                out.write(json.dumps(response) + "\n")
        files.append(file)
    return files


def responses(dice: random.Random, run: str, topics: int, sentences: int) -> Iterator[dict[str, object]]:
    for topic in range(topics):
        references = [f"msmarco_v2.1_doc_{topic:02}_{n}#{n}_{n}" for n in range(20)]
        answer = [
            {
                "text": " ".join(dice.choices(WORDS, k=18)) + ".",
                "citations": sorted(dice.sample(range(20), 2)),
            }
            for _ in range(sentences)
        ]
        metadata = {
            "team_id": f"team{run[-1]}",
            "run_id": run,
            "type": "automatic",
            "narrative_id": f"t{topic}",
        }
        yield {
            "metadata": {**metadata, "narrative": f"need {topic}"},
            "references": references,
            "answer": answer,
        }


def plainly(files: list[Path]) -> float:
    start = time.process_time()
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            for sentence in json.loads(line)["answer"]:
                hashlib.sha256(sentence["text"].encode()).hexdigest()
    return time.process_time() - start


if __name__ == "__main__":
    main()
