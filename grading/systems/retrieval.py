"""First-stage retrieval by BM25, the fusion of rankings, and a corpus on disk.

BM25 is as Anserini has it (Pradeep et al. 2024, section 6: k1 0.9, b 0.4). Terms are lower-cased runs of two
or more letters and digits without the stop words of Lucene's English analyser, stemmed by Snowball's English
rules. An index in a folder keeps the terms of every passage as numbers, so that passages are added without
reading the others' texts again, and bm25s's scores, which are memory-mapped.

A corpus on disk, for corpora that no database should hold, is a folder with the BM25 index of its passages
and their texts: one file of JSON lines, read from the offset of a passage.
"""

from __future__ import annotations

import json
import logging
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, overload
from zlib import crc32

import msgspec
import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from grading.errors import BadFormat
from grading.formats.passages import PassageEntry
from grading.types import Passage, Ranking, Topic

if TYPE_CHECKING:
    import bm25s


K1 = 0.9
B = 0.4
DEPTH = 100
"""Passages a topic (section 6)."""
STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these
they this to was will with
"""
_FORMAT = 1
_WORD = re.compile(r"[^\W_]{2,}")
_STOP_WORDS = frozenset(STOP_WORDS.split())
_stem_word = snowballstemmer.stemmer("english").stemWord


K = 60
"""The constant of Cormack et al. 2009, SIGIR, "Reciprocal rank fusion outperforms Condorcet"."""
Entries = Callable[[], Iterable[PassageEntry]]
"""Called several times, so that texts need not be held."""
_TEXTS, _STARTS = "texts.jsonl", "starts.npy"


class _WordNumbers(Sequence[list[int]]):
    """The words of each passage as numbers, one passage after the other in one array."""

    def __init__(self, numbers: Iterable[int] = (), ends: Iterable[int] = ()) -> None:
        self._numbers = array("i", numbers)
        self._ends = array("q", ends)

    def append(self, numbers: Sequence[int]) -> None:
        self._numbers.extend(numbers)
        self._ends.append(len(self._numbers))

    def save(self, folder: Path) -> None:
        np.save(folder / "numbers.npy", np.frombuffer(self._numbers, dtype=np.int32))
        np.save(folder / "ends.npy", np.frombuffer(self._ends, dtype=np.int64))

    @classmethod
    def open(cls, folder: Path) -> _WordNumbers:
        made = cls()
        made._numbers.frombytes(np.load(folder / "numbers.npy", mmap_mode="r").tobytes())
        made._ends.frombytes(np.load(folder / "ends.npy").tobytes())
        return made

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> list[int]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[int]]: ...
    def __getitem__(self, place: int | slice) -> list[int] | list[list[int]]:
        if isinstance(place, slice):
            return [self[position] for position in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self._numbers[self._ends[place - 1] if place else 0 : self._ends[place]].tolist()


@dataclass(slots=True)
class PassageIndex:
    """An inverted index of passages, in memory or in a folder."""

    ids: list[str] = field(default_factory=list)
    terms: _WordNumbers = field(default_factory=_WordNumbers)
    vocabulary: dict[str, int] = field(default_factory=dict)
    checks: array[int] = field(default_factory=lambda: array("L"))
    """CRC-32 of each passage's text, to see that it has changed."""
    _scores: bm25s.BM25 | None = None

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages. Raises ValueError for an id that is in the index."""
        seen, before = set(self.ids), len(self.ids)
        for passage in passages:
            if passage.passage_id in seen:
                raise ValueError(f"passage {passage.passage_id} is in the index")
            seen.add(passage.passage_id)
            self.ids.append(passage.passage_id)
            self.terms.append(
                [self.vocabulary.setdefault(word, len(self.vocabulary)) for word in index_words(passage.text)]
            )
            self.checks.append(crc32(passage.text.encode()))
        if len(self.ids) > before:
            self._scores = None

    def updated(self, passages: Callable[[], Iterable[Passage]]) -> PassageIndex:
        """Return an index of just these passages.

        It is this one with the new ones, or another where one changed or went.

        `passages` is called twice, so that texts need not be held.
        """
        places = {doc_id: place for place, doc_id in enumerate(self.ids)}
        same = 0
        for passage in passages():
            place = places.get(passage.passage_id)
            if place is not None:
                if self.checks[place] != crc32(passage.text.encode()):
                    break
                same += 1
        index = self if same == len(self.ids) else PassageIndex()
        kept = set(index.ids)
        index.add(passage for passage in passages() if passage.passage_id not in kept)
        return index

    def search(self, topic: Topic, *, depth: int = DEPTH) -> Ranking:
        """Return the passages that share a word with the topic, best first; ties in the order of adding."""
        numbers = [self.vocabulary[word] for word in index_words(topic.text) if word in self.vocabulary]
        if not numbers:
            return Ranking("bm25", topic.query_id, (), ())
        scores = self._bm25().get_scores_from_ids(numbers)
        places = _best(scores, depth)
        ids, values = (self.ids[place] for place in places), (float(scores[place]) for place in places)
        return Ranking("bm25", topic.query_id, tuple(ids), tuple(values))

    def save(self, folder: Path) -> None:
        """Write the index; what stood in the folder before is replaced."""
        folder.mkdir(parents=True, exist_ok=True)
        self._bm25().save(folder / "bm25s", show_progress=False)
        self.terms.save(folder)
        content = {
            "format": _FORMAT,
            "ids": self.ids,
            "vocabulary": list(self.vocabulary),
            "checks": self.checks.tolist(),
        }
        (folder / "index.json").write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> PassageIndex:
        """Return an index that was saved, its scores memory-mapped.

        Raises BadFormat where the folder has none.
        """
        try:
            content = json.loads((folder / "index.json").read_text(encoding="utf-8"))
            terms = _WordNumbers.open(folder)
            import bm25s

            scores = bm25s.BM25.load(folder / "bm25s", mmap=True, load_vocab=False, show_progress=False)
        except (OSError, ValueError, KeyError) as error:
            raise BadFormat(f"{folder} has no index: {error}") from error
        if content["format"] != _FORMAT:
            raise BadFormat(f"{folder} has an index of format {content['format']}; build it anew")
        vocabulary = {word: number for number, word in enumerate(content["vocabulary"])}
        return cls(content["ids"], terms, vocabulary, array("L", content["checks"]), scores)

    def _bm25(self) -> bm25s.BM25:
        if self._scores is None:
            import bm25s  # it imports scipy, which the web process does without

            logging.getLogger("bm25s").setLevel(logging.WARNING)  # it tells of each index it builds
            self._scores = bm25s.BM25(k1=K1, b=B, method="lucene", csc_backend="scipy")
            corpus = bm25s.tokenization.Tokenized(self.terms, self.vocabulary)
            self._scores.index(corpus, create_empty_token=False, show_progress=False)
        return self._scores


def index_words(text: str) -> Iterator[str]:
    """Return the words of a text as the index has them.

    >>> list(index_words("The economy's falling prices"))
    ['economi', 'fall', 'price']
    """
    return (_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS)


@lru_cache(maxsize=1 << 18)
def _stem(word: str) -> str:
    return str(_stem_word(word))


def _best(scores: NDArray[np.float32], depth: int) -> NDArray[np.int64]:
    """Return the places of the `depth` highest positive scores, best first."""
    places = np.flatnonzero(scores >= np.finfo(np.float32).tiny)
    if depth < places.size:  # among them alone: equal scores, as most passages have, slow a partition
        positive = scores[places]
        places = places[positive >= np.partition(positive, -depth)[-depth]]
    return places[np.argsort(-scores[places], kind="stable")][:depth]


def reciprocal_rank_fusion(rankings: Sequence[Ranking], *, depth: int) -> Ranking:
    """Rank passages by the sum of `1 / (K + rank)` over the rankings that have them.

    Equal sums are in the order of their ids, so that the order of the rankings does not matter. Raises
    ValueError for rankings of several topics, or none.

    >>> first = Ranking("a", "t1", ("d1", "d2"), (2.0, 1.0))
    >>> second = Ranking("b", "t1", ("d2", "d3"), (9.0, 8.0))
    >>> reciprocal_rank_fusion([first, second], depth=2).doc_ids
    ('d2', 'd1')
    """
    topics = {ranking.query_id for ranking in rankings}
    if len(topics) != 1:
        raise ValueError(f"rankings of one topic are fused, not of {len(topics)}")
    sums: defaultdict[str, float] = defaultdict(float)
    for ranking in sorted(rankings, key=lambda each: each.run_tag):
        for rank, doc_id in enumerate(ranking.doc_ids, 1):
            sums[doc_id] += 1 / (K + rank)
    return best_first("rrf", topics.pop(), sums.items(), depth)


def best_first(run_tag: str, query_id: str, scored: Iterable[tuple[str, float]], depth: int) -> Ranking:
    """Return a ranking by descending score, equal ones in the order of their ids."""
    ordered = sorted(scored, key=lambda entry: (-entry[1], entry[0]))[:depth]
    return Ranking(run_tag, query_id, tuple(doc for doc, _ in ordered), tuple(score for _, score in ordered))


class _StoredIndex(msgspec.Struct, omit_defaults=True):
    """A line of the texts."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    headings: str = ""
    start_char: int | None = None
    end_char: int | None = None

    @property
    def entry(self) -> PassageEntry:
        return PassageEntry(
            self.id, self.text, self.title, self.url, self.headings, self.start_char, self.end_char
        )


_decoder = msgspec.json.Decoder(_StoredIndex)


@dataclass(slots=True)
class Corpus:
    """Passages that can be searched and read."""

    index: PassageIndex
    texts: mmap | bytes
    starts: NDArray[np.int64]
    """Offsets of lines by place in the index."""
    places: dict[str, int]

    @classmethod
    def open(cls, folder: Path) -> Corpus:
        """Return a corpus that was built; its scores and texts are memory-mapped.

        Raises BadFormat without one.
        """
        index = PassageIndex.open(folder)
        try:
            starts: NDArray[np.int64] = np.load(folder / _STARTS)
            with (folder / _TEXTS).open("rb") as file:
                texts = mmap(file.fileno(), 0, access=ACCESS_READ)
        except (OSError, ValueError) as error:
            raise BadFormat(f"{folder} has no texts: {error}") from error
        return cls(index, texts, starts, {doc_id: place for place, doc_id in enumerate(index.ids)})

    def search(self, topic: Topic, *, depth: int = DEPTH) -> Ranking:
        """Return the passages that share a word with the topic, as `PassageIndex.search` does."""
        return self.index.search(topic, depth=depth)

    def passages(self, doc_ids: Sequence[str]) -> list[PassageEntry]:
        """Return the passages of these ids in their order; ids that the corpus lacks are left out."""
        places = (self.places[doc_id] for doc_id in doc_ids if doc_id in self.places)
        return [self._passage(int(self.starts[place])) for place in places]

    def _passage(self, start: int) -> PassageEntry:
        return _decoder.decode(self.texts[start : self.texts.find(b"\n", start)]).entry

    def __len__(self) -> int:
        return len(self.places)


def build(folder: Path, entries: Entries, *, reused: Path | None = None) -> int:
    """Write the corpus of just these passages into an empty folder, and return their number.

    What a corpus in the folder `reused` has indexed already is not read again, unless a passage changed or
    went. Raises ValueError without passages, and for an id that comes twice.
    """
    index = _known_index(reused).updated(lambda: (indexed(entry) for entry in entries()))
    if not index.ids:
        raise ValueError("the files have no passages")
    index.save(folder)
    starts = dict(_written(folder / _TEXTS, entries()))
    np.save(folder / _STARTS, np.array([starts[doc_id] for doc_id in index.ids], dtype=np.int64))
    return len(index.ids)


def size(folder: Path) -> tuple[int, float]:
    """Return how many passages a corpus has, and the bytes of one on average, without opening its index.

    Raises BadFormat without one.
    """
    try:
        count = len(np.load(folder / _STARTS, mmap_mode="r"))
        return count, (folder / _TEXTS).stat().st_size / count
    except (OSError, ValueError) as error:
        raise BadFormat(f"{folder} has no corpus: {error}") from error


def indexed(entry: PassageEntry) -> Passage:
    """Return the passage with title and headings, as Farzi and Dietz 2024 (TREMA-UNH, 2) retrieve it."""
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
            stored = _StoredIndex(
                entry.doc_id,
                entry.text,
                entry.title,
                entry.url,
                entry.headings,
                entry.start_char,
                entry.end_char,
            )
            line = msgspec.json.encode(stored) + b"\n"
            yield entry.doc_id, start
            start += file.write(line)
