"""The listings that the published Workbench prints for people who supervise a grader, written byte for byte.

Its `exam_verification` prints three texts and a table: extracted answers beside their ratings (verify
grading), items that passages cover which are judged not relevant (bad question), relevant passages without a
high rating (uncovered passages), and all ratings and answers of a topic (grid). Nothing reads them back.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from grading.formats import Content, Format, Sample, only_written
from grading.formats.json_lines import is_whole
from grading.formats.reading import write_lines
from grading.types import ItemKind, is_md5, md5_of_id

MOST_SPURIOUS = 20
"""Items of a kind that the bad-question listing names for a topic."""
NO_RATING = -1

_UNCOVERED = "relevant passages without any high self-ratings:"
_SPURIOUS = (
    f"{MOST_SPURIOUS} {{kind}}s most frequently associated with paragraphs that are judged negative, "
    "but have high self-ratings:"
)


@dataclass(frozen=True, slots=True)
class ListedItem:
    item_id: str
    text: str
    """Empty where it is not known."""
    kind: ItemKind = ItemKind.QUESTION


@dataclass(frozen=True, slots=True)
class ListedPassage:
    doc_id: str
    text: str
    ratings: tuple[int, ...] = ()
    """Ratings by item of the topic; below 0 without a rating."""
    answers: tuple[str, ...] = ()
    """Extracted answers by item of the topic; empty without one."""


@dataclass(frozen=True, slots=True)
class RatedTopic:
    """What the verify and grid listings say of a topic: passages in the order of its pool."""

    query_id: str
    items: tuple[ListedItem, ...]
    passages: tuple[ListedPassage, ...]
    text: str = ""
    """The query in words; the Workbench has none in its grid and prints a question mark."""


@dataclass(frozen=True, slots=True)
class SpuriousTopic:
    """Items with the number of passages that cover them and are not relevant, most first."""

    counts: Sequence[tuple[ListedItem, int]] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class UncoveredTopic:
    """Relevant passages with their lowest judgment and highest rating."""

    query_id: str
    passages: Sequence[tuple[ListedPassage, int, int]] = field(default_factory=tuple)


def verify_lines(topics: Iterable[RatedTopic]) -> Iterator[str]:
    """Yield by topic and item the passages from which an answer was extracted, highest rating first."""
    for topic in topics:
        for place, item in enumerate(topic.items):
            answered = [passage for passage in topic.passages if passage.answers[place]]
            cells = [(max(passage.ratings[place], NO_RATING), passage) for passage in answered]
            yield f"\n{item.item_id}\n{item.text}\n"
            for rating, passage in sorted(cells, key=itemgetter(0), reverse=True):
                yield f"{item.text}\t {passage.doc_id}\t {rating} \t {passage.answers[place]}\n"
            yield "\n" if cells else "\n\n"
        yield "\n"


def spurious_lines(topics: Iterable[SpuriousTopic]) -> Iterator[str]:
    """Yield by topic the worst nuggets, then the worst questions; only questions with their text."""
    for topic in topics:
        for kind in (ItemKind.NUGGET, ItemKind.QUESTION):
            yield _SPURIOUS.format(kind=kind) + "\n"
            counts = [entry for entry in topic.counts if entry[0].kind is kind]
            for item, count in counts[:MOST_SPURIOUS]:
                has_text = kind is ItemKind.QUESTION and item.text
                yield f"{item.item_id}\t {count}" + (f"\t{item.text}\n" if has_text else "\n")
        yield "\n"


def uncovered_lines(topics: Iterable[UncoveredTopic]) -> Iterator[str]:
    yield f"{_UNCOVERED}\n"
    for topic in topics:
        yield f"query_id: {topic.query_id}\nparagraphId worst_judgment best_rating text\n"
        for passage, judgment, rating in topic.passages:
            yield f"{passage.doc_id}\t{judgment}\t{rating}\t{passage.text}\n"


def grid_lines(topics: Iterable[RatedTopic]) -> Iterator[str]:
    """Yield CSV: for each topic its items, then a row for each passage, highest sum of ratings first.

    A passage without a rating of an item has -1 there, which also counts in the sum.
    """
    for topic in topics:
        if not topic.items or not topic.passages:
            continue
        table = io.StringIO(newline="")
        rows = csv.writer(table)
        rows.writerow([])
        rows.writerow(["queryid", topic.query_id, f"query_text={topic.text or '?'}"])
        rows.writerow([topic.query_id, "", "", *_spaced(item.item_id for item in topic.items)])
        rows.writerow([topic.query_id, "", "", *_spaced(item.text for item in topic.items)])
        for passage in sorted(topic.passages, key=lambda each: sum(_as_listed(each)), reverse=True):
            cells = zip(_as_listed(passage), passage.answers, strict=True)
            rows.writerow([topic.query_id, passage.doc_id, passage.text, *chain.from_iterable(cells)])
        yield table.getvalue()


def _spaced(texts: Iterable[str]) -> Iterator[str]:
    """Yield each text over its column of ratings; the column of answers has none."""
    for text in texts:
        yield from (text, "")


def _as_listed(passage: ListedPassage) -> list[int]:
    return [max(rating, NO_RATING) for rating in passage.ratings]


def _write(path: Path, topics: Iterable[Any], *, texts: Callable[[Iterable[Any]], Iterable[str]]) -> None:
    """Write the texts of the topics, each of which ends with its line feed."""
    write_lines(path, (text.removesuffix("\n").encode() for text in texts(topics)))


def _is_verify(sample: Sample) -> bool:
    first, *others = sample.lines
    is_item = md5_of_id(first) is not None and len(first.split()) == 1
    return is_item and bool(others) and all("\t" not in line or "\t " in line for line in others)


def _is_support(sample: Sample) -> bool:
    """Return whether it has labels of sentences, named by md5, and of the documents that they cite."""
    first = sample.cells()[0]
    return len(first) == 4 and is_md5(first[1]) and is_whole(first[3])


SUPPORT_QRELS = Format(
    "support-qrels",
    "Labels of support as qrels, which name nobody",
    Content.LISTING,
    _is_support,
    only_written,
    None,
    is_lossless=False,
    source="RubricWeb: Support, qrels",
)
VERIFY, SPURIOUS, UNCOVERED, GRID = _WORKBENCH = tuple(
    Format(
        f"workbench-{name}",
        f"Workbench {label}",
        Content.LISTING,
        recognises,
        only_written,
        partial(_write, texts=texts),
        is_lossless=False,
        source="RUBRIC Workbench, exam_verification",
    )
    for name, label, recognises, texts in (
        ("verify", "listing of extracted answers", _is_verify, verify_lines),
        (
            "bad-question",
            "listing of bad questions",
            lambda sample: sample.lines[0] == _SPURIOUS.format(kind=ItemKind.NUGGET),
            spurious_lines,
        ),
        (
            "uncovered",
            "listing of uncovered passages",
            lambda sample: sample.lines[0] == _UNCOVERED,
            uncovered_lines,
        ),
        (
            "grid",
            "grid as CSV",
            lambda sample: sample.lines[0].startswith("queryid,") and "query_text=" in sample.lines[0],
            grid_lines,
        ),
    )
)
FORMATS = (*_WORKBENCH, SUPPORT_QRELS)
