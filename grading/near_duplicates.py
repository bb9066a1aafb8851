"""Near-duplicates among passages: MinHash LSH over shingles of nine words (Broder 1997).

So MS MARCO V2.1 was made (Pradeep et al. 2024, section 4), which gives neither the Jaccard similarity from
which on documents are duplicates nor the number of permutations: 0.8, as an option, and 128 here. LSH only
proposes pairs; the Jaccard similarity of all their shingles decides.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from hashlib import blake2b
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

NGRAM = 9
THRESHOLD = 0.8
PERMUTATIONS = 128
RECALL = 0.99
"""The chance that LSH proposes a pair whose similarity is just the threshold."""

Shingles = NDArray[np.uint64]
"""Hashes of a passage's shingles, ascending, each once."""
Key = TypeVar("Key", bound=Hashable)
_WORD = re.compile(r"\w+")


def find_near_duplicates(
    passages: Iterable[tuple[Key, str]], *, threshold: float = THRESHOLD
) -> list[tuple[Key, ...]]:
    """Return groups of keys, in the order of their first passage; a passage is in one group or none.

    Every passage of a group is a near-duplicate of another one in it, but not always of each: similarity is
    not transitive. Passages without words are in none.

    >>> words = "maple leaves turn red in autumn because chlorophyll breaks down and carotenoids remain"
    >>> find_near_duplicates([("d1", words), ("d2", "Why bread rises"), ("d3", f"{words.upper()}!")])
    [('d1', 'd3')]
    """
    shingler, index = Shingler(), _Index(threshold)
    keys: list[Key] = []
    for key, text in passages:
        shingles = shingler.shingles(text)
        if shingles.size:
            keys.append(key)
            index.add(shingles)
    return [tuple(keys[place] for place in group) for group in index.groups()]


def representative(doc_ids: Iterable[str]) -> str:
    """Return the passage that stands for a group of near-duplicates: the first by its id.

    Pradeep et al. 2024 (section 4) keep one document of each class and give no rule; of the pair in their
    Table 3 the one with the lower id is kept. Ids are compared as text, so that every database agrees.

    >>> representative(["msmarco_doc_00_995171191#0", "msmarco_doc_00_995170174#0"])
    'msmarco_doc_00_995170174#0'
    """
    return min(doc_ids)


def jaccard(first: Shingles, second: Shingles) -> float:
    """Return the share of the shingles of either that both have.

    >>> round(jaccard(np.array([1, 2, 3], dtype=np.uint64), np.array([2, 3, 4, 5], dtype=np.uint64)), 2)
    0.4
    """
    both = np.intersect1d(first, second, assume_unique=True).size
    return float(both / (first.size + second.size - both))


class Shingler:
    """Makes shingles of texts: every nine consecutive words without case and punctuation.

    A text of fewer words is one shingle. Shingles are compared by hashes of 64 bits.
    """

    def __init__(self) -> None:
        random = np.random.default_rng(NGRAM)
        self._factors = random.integers(0, 2**63, NGRAM, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._hashes = _WordHashes()

    def shingles(self, text: str) -> Shingles:
        """Return an empty array for a text without words."""
        hashes = np.fromiter(map(self._hashes.__getitem__, _WORD.findall(text.lower())), dtype=np.uint64)
        size = min(len(hashes), NGRAM)
        count = len(hashes) - size + bool(size)
        sums = np.zeros(count, dtype=np.uint64)
        for place, factor in enumerate(self._factors[:size]):
            sums += hashes[place : place + count] * factor
        return np.unique(sums)


class _WordHashes(dict[str, int]):
    """64 bits of each word that was asked for, the same in every process."""

    def __missing__(self, word: str) -> int:
        self[word] = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
        return self[word]


def bands(threshold: float, permutations: int) -> tuple[int, int]:
    """Return into how many bands of how many rows LSH cuts a signature: the longest rows with `RECALL`.

    A pair of similarity s is proposed with probability 1 - (1 - s^rows)^bands.

    >>> bands(0.8, 128)
    (21, 6)
    """
    fitting = [
        (permutations // rows, rows)
        for rows in range(1, permutations // 2 + 1)  # datasketch wants two bands at least
        if 1 - (1 - threshold**rows) ** (permutations // rows) >= RECALL
    ]
    return fitting[-1] if fitting else (permutations, 1)


class _Index:
    """Passages by number, and which of them are joined."""

    def __init__(self, threshold: float) -> None:
        from datasketch import MinHash, MinHashLSH  # half a second that only a search needs

        self._threshold = threshold
        self._lsh = MinHashLSH(num_perm=PERMUTATIONS, params=bands(threshold, PERMUTATIONS))
        self._empty = MinHash(num_perm=PERMUTATIONS, hashfunc=int)
        self._shingles: list[Shingles] = []
        self._same: dict[bytes, int] = {}
        self._parents: list[int] = []

    def add(self, shingles: Shingles) -> None:
        number = len(self._parents)
        self._parents.append(number)
        self._shingles.append(shingles)
        first = self._same.setdefault(shingles.tobytes(), number)
        if first != number:
            self._parents[number] = self._root(first)
            return
        signature = self._empty.copy()
        signature.update_batch((shingles >> np.uint64(32)).tolist())
        for other in self._lsh.query(signature):
            if (
                self._root(other) != self._root(number)
                and jaccard(self._shingles[other], self._shingles[number]) >= self._threshold
            ):
                self._parents[self._root(other)] = self._root(number)
        self._lsh.insert(number, signature, check_duplication=False)

    def groups(self) -> list[list[int]]:
        """Return the numbers of passages that are joined, two at least."""
        by_root: dict[int, list[int]] = {}
        for number in range(len(self._parents)):
            by_root.setdefault(self._root(number), []).append(number)
        return sorted(group for group in by_root.values() if len(group) > 1)

    def _root(self, number: int) -> int:
        """Follow the parents, and shorten the path (path halving)."""
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number
