"""The search for near-duplicates beside the comparison of all pairs, for 1,000, 10,000 and 100,000 passages.

    python bench/near_duplicates.py

Makes passages of 60 words, by a Zipf distribution over 50,000 words, of which one in ten is another one with
up to two words edited. Each search runs in a fresh process. Beside it, in the same run, what one would write
first: the sets of shingles of all pairs of passages, of which some rows are compared and the rest multiplied.
For 1,000 passages all pairs are compared, and must give the same groups.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from _measuring import cpu_seconds, peak_memory

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grading.near_duplicates import NGRAM, THRESHOLD, find_near_duplicates  # noqa: E402

SIZES = (1_000, 10_000, 100_000)
WORDS, LENGTH, EDITED = 50_000, 60, 0.1
COMPARED_ROWS = 40
"""Passages that are compared with all others where not all pairs are."""

Passages = list[tuple[int, str]]


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(search(int(sys.argv[1]))))
        return
    before = 0.0
    for size in SIZES:
        done = subprocess.run(
            [sys.executable, __file__, str(size)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(done.stderr)
        found = json.loads(done.stdout)
        growth = f", {found['seconds'] / before:.1f} times the size before" if before else ""
        before = found["seconds"]
        print(
            f"{size:>7,} passages: {found['seconds']:6.2f} s{growth}, {found['memory']:.0f} MB, "
            f"{found['groups']:,} groups; all pairs {found['all_pairs']:,.0f} s{found['note']}"
        )


def search(size: int) -> dict[str, float | str]:
    made = passages(size)
    groups: list[tuple[int, ...]] = []
    took = cpu_seconds(lambda: groups.extend(find_near_duplicates(made)))
    memory = peak_memory()
    sets = shingle_sets(made)
    if size > SIZES[0]:
        some = cpu_seconds(lambda: [near(sets, row) for row in range(COMPARED_ROWS)])
        estimated, note = some / COMPARED_ROWS * size / 2, f", from {COMPARED_ROWS} rows"
        return _told(took, memory, len(groups), estimated, note)
    pairs: list[list[int]] = []
    estimated = cpu_seconds(lambda: pairs.extend(near(sets, row) for row in range(size)))
    if components(pairs) != {frozenset(group) for group in groups}:
        sys.exit("LSH and all pairs give other groups")
    return _told(took, memory, len(groups), estimated, ", the same groups")


def _told(took: float, memory: float, groups: int, all_pairs: float, note: str) -> dict[str, float | str]:
    return {"seconds": took, "memory": memory, "groups": groups, "all_pairs": all_pairs, "note": note}


def passages(size: int) -> Passages:
    random = np.random.default_rng(size)
    chances = 1 / np.arange(1, WORDS + 1)
    numbers = random.choice(WORDS, size=(size, LENGTH), p=chances / chances.sum())
    for row in np.flatnonzero(random.random(size) < EDITED):
        if row:
            numbers[row] = numbers[random.integers(row)]
            places = random.integers(LENGTH, size=random.integers(3))
            numbers[row, places] = random.integers(WORDS, size=len(places))
    return [(row, " ".join(f"word{number}" for number in line)) for row, line in enumerate(numbers)]


def shingle_sets(made: Passages) -> list[frozenset[int]]:
    """Number the shingles, so that sets of them are compared as fast as Python can."""
    known: dict[tuple[str, ...], int] = {}
    sets = []
    for _, text in made:
        words = text.split()
        parts = (tuple(words[start : start + NGRAM]) for start in range(len(words) - NGRAM + 1))
        sets.append(frozenset(known.setdefault(part, len(known)) for part in parts))
    return sets


def near(sets: list[frozenset[int]], row: int) -> list[int]:
    """Later passages that are near-duplicates of this one."""
    mine = sets[row]
    return [other for other in range(row + 1, len(sets)) if is_near(mine, sets[other])]


def is_near(mine: frozenset[int], others: frozenset[int]) -> bool:
    both = len(mine & others)
    return both >= THRESHOLD * (len(mine) + len(others) - both)


def components(pairs: list[list[int]]) -> set[frozenset[int]]:
    groups = {row: frozenset({row}) for row in range(len(pairs))}
    for row, others in enumerate(pairs):
        for other in others:
            joined = groups[row] | groups[other]
            groups.update(dict.fromkeys(joined, joined))
    return {group for group in groups.values() if len(group) > 1}


if __name__ == "__main__":
    main()
