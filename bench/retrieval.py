"""BM25 over generated passages, beside bm25s alone: time to build, peak memory, queries a second.

    python bench/retrieval.py                 1,000,000 passages
    python bench/retrieval.py 100000

Makes passages of 60 words, by Zipf's law over 200,000 words, and queries of 6. Ours reads, stems,
builds, saves, opens the index by memory map and searches; then 1 % more passages come in. bm25s alone is
given the same words by its own tokenizer with the same stemmer, and searches by its own `retrieve`. Each runs
in a fresh process; the ten highest scores of both are compared, since passages share scores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import snowballstemmer
from _measuring import peak_memory, seconds

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grading.systems.retrieval import K1, STOP_WORDS, B, PassageIndex  # noqa: E402
from grading.types import Passage, Topic  # noqa: E402

SIZE, LENGTH, VOCABULARY = 1_000_000, 60, 200_000
QUERIES, QUERY_WORDS, DEPTH, COMPARED = 200, 6, 100, 10
MORE = 0.01
"""The share of passages that are added to an index that was saved."""
BLOCK = 10_000

Measured = dict[str, float | list[list[float]]]


def main() -> None:
    vocabulary()
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    size = numbers[0] if numbers else SIZE
    if "ours" in sys.argv or "alone" in sys.argv:
        print(json.dumps(ours(size) if "ours" in sys.argv else alone(size)))
        return
    measured = {name: in_a_process(name, size) for name in ("ours", "alone")}
    for name, one in measured.items():
        more = f", {MORE:.0%} more in {one['more']:.1f} s" if "more" in one else ""
        print(
            f"{name:>5}, {size:,} passages: built in {one['build']:.1f} s{more}, {one['memory']:,.0f} MB, "
            f"{one['rate']:.0f} queries a second"
        )
    own, other = measured["ours"], measured["alone"]
    ratios = {name: own[name] / other[name] for name in ("build", "memory", "rate")}  # type: ignore[operator]
    print("ours / alone: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))
    apart = difference(own["first"], other["first"])  # type: ignore[arg-type]
    print(f"largest difference of the first {COMPARED} scores: {apart:.1e}")


def in_a_process(name: str, size: int) -> Measured:
    command = [sys.executable, __file__, str(size), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    return measured


def ours(size: int) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        index, path = PassageIndex(), Path(folder) / "index"

        def build() -> None:
            index.add(Passage(doc_id, text) for doc_id, text in passages(size))
            index.save(path)

        took = seconds(build)
        opened = PassageIndex.open(path)
        topics = [Topic(str(number), text) for number, text in enumerate(queries())]
        opened.search(topics[0], depth=DEPTH)
        found: list[list[float]] = []

        def search() -> None:
            found.extend([*opened.search(one, depth=DEPTH).scores[:COMPARED]] for one in topics)

        searching = seconds(search)
        memory = peak_memory()
        later = (Passage(f"later{doc_id}", text) for doc_id, text in passages(int(MORE * size), seed=2))
        more = seconds(lambda: (opened.add(later), opened.search(topics[0])))  # type: ignore[func-returns-value]
    return {"build": took, "more": more, "memory": memory, "rate": len(topics) / searching, "first": found}


def alone(size: int) -> Measured:
    import bm25s

    stem = snowballstemmer.stemmer("english").stemWord
    options = {"stopwords": STOP_WORDS.split(), "stemmer": lambda words: [stem(word) for word in words]}
    options |= {"token_pattern": r"(?u)[^\W_]{2,}", "show_progress": False}
    made = bm25s.BM25(k1=K1, b=B, method="lucene")

    def build() -> None:
        words = bm25s.tokenize([text for _, text in passages(size)], **options)
        made.index(words, show_progress=False)

    took = seconds(build)
    asked = bm25s.tokenize(queries(), return_ids=False, **options)
    found: list[list[float]] = []

    def search() -> None:
        for words in asked:
            _, (scores,) = made.retrieve([words], k=min(DEPTH, size), show_progress=False)
            found.append(scores[:COMPARED].tolist())

    searching = seconds(search)
    return {"build": took, "memory": peak_memory(), "rate": len(asked) / searching, "first": found}


def passages(size: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    drawn, words = np.random.default_rng(seed), vocabulary()
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    for start in range(0, size, BLOCK):
        places = np.searchsorted(shares, drawn.random((min(BLOCK, size - start), LENGTH)) * shares[-1])
        for number, row in enumerate(places.tolist(), start):
            yield f"d{number}", " ".join([words[place] for place in row])


def queries() -> list[str]:
    places = np.random.default_rng(3).integers(50, VOCABULARY // 20, (QUERIES, QUERY_WORDS))
    words = vocabulary()
    return [" ".join(words[place] for place in row) for row in places]


@lru_cache(maxsize=1)
def vocabulary() -> list[str]:
    """Words of letters, most of which are their own stems."""
    letters = "abcdfghklmnoprtu"
    places = np.random.default_rng(0).integers(0, len(letters), (VOCABULARY, 7)).tolist()
    return ["".join(letters[place] for place in row) for row in places]


def difference(first: list[list[float]], second: list[list[float]]) -> float:
    """The largest between two scores of the same rank, where both have one."""
    pairs = (pair for one, other in zip(first, second, strict=True) for pair in zip(one, other, strict=False))
    return max(abs(one - other) for one, other in pairs)


if __name__ == "__main__":
    main()
