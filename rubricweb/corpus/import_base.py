"""What all importers share: positions in files, counts of changes, and the topics that files name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grading.errors import BadFormat
from grading.formats import Format, header_note
from grading.formats.reading import lines
from grading.formats.topic_dialects import TopicEntry
from grading.formats.topics import TSV_WITH_HEADER, topics_format
from grading.types import is_one_word, look
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection, Subtopic, Topic

LOWEST, HIGHEST = -32_768, 32_767
"""The range of a judgment, a small integer of the database."""

ID_LIMIT = 200
BATCH = 500
DETAILS = (
    "description",
    "narrative",
    "background",
    "limit_words",
    "limit_characters",
    "attributes",
    "foreign",
)
"""Fields of a topic beside its text, which `TopicEntry` has under the same names."""
_EMPTY: tuple[object, ...] = ("", None, {})
_NONE: Mapping[str, object] = {}
WORDS = {
    "pooled": "passages in pools",
    "revisions": "wordings",
    "banks": "rubrics",
    "support_judges": "models with labels",
    "support_events": "labels of support by people",
    "support_labels": "labels of support by models",
}
"""What people call some of the kinds of rows that an import counts."""
SINGULAR = {"pooled": "passage in pools"}


def label_of(kind: str) -> str:
    """Return what people call a kind of rows."""
    return WORDS.get(kind, kind.replace("_", " "))


def rows_in_words(numbers: Mapping[str, int]) -> str:
    """Return the rows of each kind in words, without kinds that have none.

    >>> rows_in_words({"banks": 1, "revisions": 290_000, "runs": 0})
    '1 rubric, 290,000 wordings'
    """
    return ", ".join(
        f"{number:,} {label_of(kind)}"
        if number > 1
        else f"1 {SINGULAR.get(kind, label_of(kind).removesuffix('s'))}"
        for kind, number in numbers.items()
        if number
    )


@dataclass(slots=True)
class Counts:
    new: int = 0
    changed: int = 0
    unchanged: int = 0


@dataclass(slots=True)
class Tally:
    """Counts by kind, and notes for the person who imports."""

    counts: dict[str, Counts] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reordered: dict[str, int] = field(default_factory=dict)
    """Run tag -> topics that trec_eval 9 would order differently from the ranks."""
    close: dict[str, int] = field(default_factory=dict)
    """Run tag -> topics that trec_eval 9 and 10 order differently."""

    def of(self, kind: str) -> Counts:
        return self.counts.setdefault(kind, Counts())

    def has_changed(self, kinds: Iterable[str]) -> bool:
        return any(counts.new or counts.changed for kind in kinds if (counts := self.counts.get(kind)))

    @property
    def all_notes(self) -> tuple[str, ...]:
        reordered, close = self._runs(self.reordered), self._runs(self.close)
        notes = list(self.notes)
        if reordered:
            order = "by score, then passage id"
            notes.append(f"trec_eval 9's order ({order}) is not that of the ranks in {reordered}")
        if close:
            notes.append(f"trec_eval 9 and 10 order passages with close scores differently in {close}")
        return tuple(notes)

    def _runs(self, topics: dict[str, int]) -> str:
        return some(f"{run_tag} ({counted(number, 'topic')})" for run_tag, number in topics.items())

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def some(names: Iterable[str], *, most: int = 5) -> str:
    """Join the first few for a sentence, with how many more there are."""
    listed = list(names)
    rest = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + rest


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A line of a file, or a file if the line is unknown."""

    path: Path
    line: int | None = None

    def error(self, problem: str) -> BadFormat:
        return BadFormat(problem, file=self.path.name, line=self.line)

    def with_columns(self, *columns: str) -> FilePosition:
        """Find the first line with these columns: TREC readers give no lines, and only errors need them."""
        return self if self.line else self._first(lambda text: set(columns) <= set(text.split()))

    def with_key(self, key: str) -> FilePosition:
        """Find the first line with `key` in quotation marks, or as its first TSV column."""
        return self._first(lambda text: f'"{key}"' in text or text.split("\t")[0].strip() == key)

    def _first(self, is_it: Callable[[str], bool]) -> FilePosition:
        return FilePosition(
            self.path, next((number for number, text in lines(self.path) if is_it(text)), None)
        )

    def __str__(self) -> str:
        return self.path.name if self.line is None else f"{self.path.name}:{self.line}"


def fitting(text: str, *, what: str, at: FilePosition, limit: int) -> str:
    """Return `text` if its column can hold it. Raises BadFormat that begins with `what`."""
    if len(text) > limit:
        raise at.error(f"{what} has {len(text):,} characters, expected at most {limit}")
    return text


def fitting_id(text: str, *, what: str, at: FilePosition, limit: int) -> str:
    """Return `text` if it can be an id in TREC files: one word that its column can hold. Raises BadFormat."""
    fitting(text, what=what, at=at, limit=limit)
    if not is_one_word(text):
        raise at.error(f"{what} is {text!r}, expected one word without white space or control characters")
    return text


def fitting_name(text: str, *, what: str, at: FilePosition, limit: int) -> str:
    """Return `text` if it can be a name, such as a model's: spaces are allowed. Raises BadFormat."""
    fitting(text, what=what, at=at, limit=limit)
    if not all(map(is_one_word, text.split(" "))):
        raise at.error(
            f"{what} is {text!r}, expected words parted by single spaces, without control characters"
        )
    return text


def fitting_judgment(relevance: int, *, at: FilePosition) -> int:
    if not LOWEST <= relevance <= HIGHEST:
        raise at.error(f"the relevance is {relevance}, expected {LOWEST} to {HIGHEST}")
    return relevance


def natural_key(query_id: str) -> list[str | int]:
    """Return a key that sorts ids as people do: numbers within them by their value.

    >>> sorted(["q11", "q5", "Q2", "7"], key=natural_key)
    ['7', 'Q2', 'q5', 'q11']
    """
    parts = re.split(r"([0-9]+)", query_id.casefold())
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


class TopicImporter:
    """The collection's topics by query id. After a file of topics no other file may add any."""

    def __init__(self, collection: Collection, tally: Tally, *, is_closed: bool = False) -> None:
        """Take the topics of a collection; where `is_closed`, no file may add any."""
        self._collection, self._tally = collection, tally
        self.by_query_id: dict[str, Topic] = {topic.query_id: topic for topic in collection.topics.all()}
        self._next_position = max((topic.position + 1 for topic in self.by_query_id.values()), default=0)
        self._subtopics = {
            (subtopic.topic_id, subtopic.facet_id): subtopic
            for subtopic in Subtopic.objects.filter(topic__collection=collection)
        }
        self._seen: set[int] = set()
        self._next_subtopic: dict[int, int] = {}
        for topic_id, _ in self._subtopics:
            self._next_subtopic[topic_id] = self._next_subtopic.get(topic_id, 0) + 1
        self._reworded: dict[str, list[str]] = {}
        self._topics_file = "the collection" if is_closed else ""

    def read_topics(self, path: Path, *, chosen: Format | None, is_replacing: bool) -> None:
        """Create the topics of the file, which is read as `chosen`, and allow no others."""
        file_format = chosen or topics_format(path)
        if file_format is TSV_WITH_HEADER:
            self._tally.note(header_note(path))
        for entry in file_format.read_chosen(path):
            at = FilePosition(path, entry.line)
            topic = self.by_query_id.get(entry.query_id)
            details = {name: value for name in DETAILS if (value := getattr(entry, name)) not in _EMPTY}
            if topic is None:
                self._make(entry.query_id, entry.title, at=at, details=details)
                continue
            if not is_replacing:
                _refuse_other_text(topic, entry, at)
                _refuse_other_details(topic, details, at)
            self._see(topic, entry.title, details)
        self._topics_file = path.name

    @property
    def is_closed(self) -> bool:
        return bool(self._topics_file)

    def require(self, query_id: str, *, text: str = "", at: FilePosition) -> Topic:
        """Return the topic, creating it; refuse to if a file of topics was read.

        A topic that has only its id for a text gets this one.
        """
        topic = self.by_query_id.get(query_id)
        if topic is None:
            if self._topics_file:
                raise at.error(
                    f"query {query_id} is unknown, expected one of the queries of {self._topics_file}"
                )
            return self._make(query_id, text, at=at)
        stated = "" if topic.text == query_id else topic.text
        if text and stated and text.strip() != stated:
            self._reworded.setdefault(at.path.name, []).append(query_id)
        self._see(topic, stated or text or topic.text)
        return topic

    def find(self, query_id: str) -> tuple[Topic, str] | None:
        """Return (topic, facet id) of a query id or `<query id>/<facet id>`; None if unknown."""
        topic_part, facet_id = query_id, ""
        while topic_part not in self.by_query_id:
            topic_part, slash, _ = topic_part.rpartition("/")
            if not slash:
                return None
            facet_id = query_id[len(topic_part) + 1 :]
        return self.by_query_id[topic_part], facet_id

    def lookalikes(self, query_ids: Iterable[str]) -> str:
        """Say which of these ids, which the collection lacks, look like one that it has; empty for none."""
        by_look = {look(query_id): query_id for query_id in self.by_query_id}
        pairs = [
            f"{query_id!a} looks like {by_look[look(query_id)]!a}"
            for query_id in query_ids
            if look(query_id) in by_look
        ]
        return f" ({some(pairs, most=3)})" if pairs else ""

    def require_subtopic(self, topic: Topic, facet_id: str, *, text: str = "", at: FilePosition) -> None:
        subtopic, counts = self._subtopics.get((topic.pk, facet_id)), self._tally.of("subtopics")
        if subtopic is None:
            fitting_id(facet_id, what="the facet_id", at=at, limit=ID_LIMIT)
            position = self._next_subtopic.get(topic.pk, 0)
            self._next_subtopic[topic.pk] = position + 1
            subtopic = topic.subtopics.create(facet_id=facet_id, text=text, position=position)
            self._subtopics[topic.pk, facet_id] = subtopic
            counts.new += 1
        elif text and not subtopic.text:
            subtopic.text = text
            subtopic.save(update_fields=["text"])
            counts.changed += 1

    def finish(self) -> None:
        """Sort the topics by their ids in natural order, and note queries that were not taken over."""
        in_order = sorted(self.by_query_id, key=lambda query_id: (natural_key(query_id), query_id))
        moved = []
        for position, query_id in enumerate(in_order):
            topic = self.by_query_id[query_id]
            if topic.position != position:
                topic.position = position
                moved.append(topic)
        Topic.objects.bulk_update(moved, ["position"], batch_size=BATCH)
        for file, query_ids in self._reworded.items():
            listed = some(dict.fromkeys(query_ids))
            self._tally.note(f"{file} words some queries otherwise, the collection's words stay: {listed}")

    def _make(
        self, query_id: str, text: str, *, at: FilePosition, details: Mapping[str, object] = _NONE
    ) -> Topic:
        fitting_id(query_id, what="the query id", at=at, limit=ID_LIMIT)
        position = self._next_position
        fields = {"query_id": query_id, "text": text.strip(), "position": position, **details}
        topic: Topic = self._collection.topics.create(**fields)
        self._next_position += 1
        self.by_query_id[query_id] = topic
        self._seen.add(topic.pk)
        self._tally.of("topics").new += 1
        return topic

    def _see(self, topic: Topic, text: str, details: Mapping[str, object] = _NONE) -> None:
        fields, counts = {"text": text.strip(), **details}, self._tally.of("topics")
        changed = [name for name, value in fields.items() if getattr(topic, name) != value]
        for name in changed:
            setattr(topic, name, fields[name])
        if changed:
            topic.save(update_fields=changed)
            counts.changed += topic.pk not in self._seen
        elif topic.pk not in self._seen:
            counts.unchanged += 1
        self._seen.add(topic.pk)


def _refuse_other_text(topic: Topic, entry: TopicEntry, at: FilePosition) -> None:
    """Raise BadFormat for other words; a topic that no file has worded has its id for a text."""
    if topic.text not in ("", topic.query_id, entry.title):
        raise at.error(
            f"query {topic.query_id} is {entry.title!r} here and {topic.text!r} in the collection, "
            "expected one text a query id (or --replace)"
        )


def _refuse_other_details(topic: Topic, details: Mapping[str, object], at: FilePosition) -> None:
    for name, value in details.items():
        before = getattr(topic, name)
        if before not in _EMPTY and before != value:
            label = name.replace("_", " ") if name != "foreign" else "set of fields"
            problem = f"query {topic.query_id} has another {label} here than in the collection"
            raise at.error(f"{problem}, expected the same (or --replace)")
