"""A corpus on disk: the BM25 index of its passages and their texts, in a folder of its own.

For corpora that no database should hold. The texts are one file of JSON lines, read where a passage begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from grading.errors import BadFormat
from grading.formats.passages import PassageEntry
from grading.systems.retrieval import DEPTH, PassageIndex
from grading.types import Passage, Ranking, Topic

Entries = Callable[[], Iterable[PassageEntry]]
"""Called several times, so that texts need not be held."""
_TEXTS, _STARTS = "texts.jsonl", "starts.npy"


class _Stored(msgspec.Struct):
    """A line of the texts."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    headings: str = ""

    @property
    def entry(self) -> PassageEntry:
        return PassageEntry(self.id, self.text, self.title, self.url, self.headings)


_decoder = msgspec.json.Decoder(_Stored)


@dataclass(slots=True)
class Corpus:
    """Passages that can be searched and read."""

    index: PassageIndex
    texts: mmap | bytes
    starts: NDArray[np.int64]
    """By place in the index: where its line begins."""
    places: dict[str, int]

    @classmethod
    def open(cls, folder: Path) -> Corpus:
        """A corpus that was built; its scores and texts are memory-mapped. Raises BadFormat without one."""
        index = PassageIndex.open(folder)
        try:
            starts: NDArray[np.int64] = np.load(folder / _STARTS)
            with (folder / _TEXTS).open("rb") as file:
                texts = mmap(file.fileno(), 0, access=ACCESS_READ)
        except (OSError, ValueError) as error:
            raise BadFormat(f"{folder} has no texts: {error}") from error
        return cls(index, texts, starts, {doc_id: place for place, doc_id in enumerate(index.ids)})

    def search(self, topic: Topic, *, depth: int = DEPTH) -> Ranking:
        """As `PassageIndex.search`."""
        return self.index.search(topic, depth=depth)

    def passages(self, doc_ids: Sequence[str]) -> list[PassageEntry]:
        """The passages of these ids in their order; ids that the corpus lacks are left out."""
        known = (self.places[doc_id] for doc_id in doc_ids if doc_id in self.places)
        return [self._passage(int(self.starts[place])) for place in known]

    def _passage(self, start: int) -> PassageEntry:
        return _decoder.decode(self.texts[start : self.texts.find(b"\n", start)]).entry

    def __len__(self) -> int:
        return len(self.places)


def build(folder: Path, entries: Entries, *, known: Path | None = None) -> int:
    """Write the corpus of just these passages into an empty folder, and return their number.

    What a corpus in the folder `known` has indexed already is not read again, unless a passage changed or
    went. Raises ValueError without passages, and for an id that comes twice.
    """
    index = _known_index(known).updated(lambda: (indexed(entry) for entry in entries()))
    if not index.ids:
        raise ValueError("the files have no passages")
    index.save(folder)
    starts = dict(_written(folder / _TEXTS, entries()))
    np.save(folder / _STARTS, np.array([starts[doc_id] for doc_id in index.ids], dtype=np.int64))
    return len(index.ids)


def size(folder: Path) -> tuple[int, float]:
    """How many passages a corpus has, and the bytes of one on average, without opening its index.

    Raises BadFormat without one.
    """
    try:
        count = len(np.load(folder / _STARTS, mmap_mode="r"))
        return count, (folder / _TEXTS).stat().st_size / count
    except (OSError, ValueError) as error:
        raise BadFormat(f"{folder} has no corpus: {error}") from error


def indexed(entry: PassageEntry) -> Passage:
    """With title and headings, as Farzi and Dietz 2024 (TREMA-UNH at TREC, section 2) retrieve passages."""
    return Passage(entry.doc_id, "\n".join(filter(None, (entry.title, entry.headings, entry.text))))


def _known_index(folder: Path | None) -> PassageIndex:
    try:
        return PassageIndex.open(folder) if folder else PassageIndex()
    except BadFormat:
        return PassageIndex()


def _written(path: Path, entries: Iterable[PassageEntry]) -> Iterator[tuple[str, int]]:
    """Write a line a passage; yield its id with where the line begins."""
    start = 0
    with path.open("wb") as file:
        for entry in entries:
            stored = _Stored(entry.doc_id, entry.text, entry.title, entry.url, entry.headings)
            line = msgspec.json.encode(stored) + b"\n"
            yield entry.doc_id, start
            start += file.write(line)
