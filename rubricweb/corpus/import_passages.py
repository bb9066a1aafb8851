"""Import passages and the pool of each topic, and files of passages; compare ids of other files with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from django.db.models import Max

from grading.errors import BadFormat
from grading.formats import Format, header_note, recognise_among
from grading.formats.passages import (
    FORMATS,
    PLACES,
    TSV_WITH_HEADER,
    PassageEntry,
    counting_unread,
    segmented,
)
from grading.types import look
from rubricweb.core import database
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, fitting_id, some
from rubricweb.corpus.models import Collection, Passage, Pooled, Topic

if TYPE_CHECKING:
    from rubricweb.corpus.import_runs import RunImporter


ID_LIMIT = 300
DETAILS = ("title", "url", "headings", *PLACES)
NAMED_LOOKALIKES = 3
"""A note that names more is not read."""


class PassageImporter:
    """Adds passages line by line; texts are compared in the database, not held in memory."""

    def __init__(self, collection: Collection, tally: Tally, *, is_replacing: bool = False) -> None:
        self._collection, self._tally, self._is_replacing = collection, tally, is_replacing
        self.reworded: set[int] = set()
        """Keys of the passages whose text `store` has replaced."""
        self.textless: set[str] = set()
        """Doc ids that `pool_by_id` has pooled without a text."""
        self._seen: set[int] = set()
        self._end_of_pool: dict[int, int] = {}
        """By topic: the position after the last one of its pool."""

    def store(self, entries: Iterable[PassageEntry], *, path: Path) -> None:
        """Add passages with their titles, in no pool.

        Raises BadFormat for another text of a stored passage, unless the files replace.
        """
        remaining = iter(entries)
        while some := list(islice(remaining, database.LOOKED_UP)):
            self._store(_one_text_each(some, path), path)

    def _store(self, entries: Mapping[str, PassageEntry], path: Path) -> None:
        stored = {row.doc_id: row for row in self._collection.passages.filter(doc_id__in=entries)}
        fresh = [
            Passage(collection=self._collection, doc_id=doc_id, text=entry.text, **_details(entry))
            for doc_id, entry in entries.items()
            if doc_id not in stored
        ]
        changed = [row for doc_id, row in stored.items() if self._change(row, entries[doc_id], path)]
        made = database.create(fresh)
        Passage.objects.bulk_update(changed, ["text", *DETAILS], batch_size=100)
        counts, keys = self._tally.of("passages"), {row.pk for row in stored.values()}
        counts.new += len(made)
        counts.changed += len(changed)
        counts.unchanged += len(keys - self._seen - {row.pk for row in changed})
        self._seen.update(keys, (row.pk for row in made))

    def _change(self, row: Passage, entry: PassageEntry, path: Path) -> bool:
        """Give the row what the entry says besides; return whether that is anything new."""
        before = {name: getattr(row, name) for name in ("text", *DETAILS)}
        stated = {name: value for name, value in _details(entry).items() if value not in ("", None)}
        after = before | {"text": entry.text} | stated
        contradicted = [
            name for name, value in before.items() if value not in ("", None) and after[name] != value
        ]
        if contradicted and not self._is_replacing:
            problem = f"passage {entry.doc_id} has another {contradicted[0]} than in the collection"
            raise FilePosition(path, entry.line).error(
                f"{problem}, expected one {contradicted[0]} a passage id (or --replace)"
            )
        if "text" in contradicted:
            self.reworded.add(row.pk)
        for name, value in after.items():
            setattr(row, name, value)
        return after != before

    def pool(self, topic: Topic, passages: Iterable[tuple[str, str]], *, at: FilePosition) -> dict[str, int]:
        """Pool (doc id, text) for `topic`; return the passages' keys by doc id."""
        texts = _texts(passages, at=at)
        keys = self._stored_keys(texts, at=at)
        missing = [
            Passage(collection=self._collection, doc_id=doc_id, text=text)
            for doc_id, text in texts.items()
            if doc_id not in keys
        ]
        made = {passage.doc_id: passage.pk for passage in database.create(missing)}
        counts = self._tally.of("passages")
        counts.new += len(made)
        counts.unchanged += len(set(keys.values()) - self._seen)
        self._seen.update(keys.values(), made.values())
        keys |= made
        self._add_to_pool(topic, [keys[doc_id] for doc_id in texts], new=set(made.values()))
        return keys

    def pool_by_id(self, topic: Topic, doc_ids: Iterable[str], *, at: FilePosition) -> dict[str, int]:
        """Pool passages of which a file has the ids alone; those that nobody knows get no text yet."""
        texts = dict.fromkeys(doc_ids, "")
        remaining = iter(list(texts))
        while some := list(islice(remaining, database.LOOKED_UP)):
            texts |= dict(self._collection.passages.filter(doc_id__in=some).values_list("doc_id", "text"))
        self.textless.update(doc_id for doc_id, text in texts.items() if not text)
        return self.pool(topic, texts.items(), at=at)

    def _stored_keys(self, texts: dict[str, str], *, at: FilePosition) -> dict[str, int]:
        keys: dict[str, int] = {}
        doc_ids = iter(texts)
        while some := list(islice(doc_ids, database.LOOKED_UP)):
            rows = self._collection.passages.filter(doc_id__in=some).values_list("doc_id", "pk", "text")
            for doc_id, pk, text in rows:
                if text != texts[doc_id]:
                    raise _two_texts(doc_id, at)
                keys[doc_id] = pk
        return keys

    def _add_to_pool(self, topic: Topic, passage_ids: list[int], *, new: set[int]) -> None:
        """Add those that are not in the pool; `new` passages are in none."""
        stored = [pk for pk in passage_ids if pk not in new]
        pooled: set[int] = set()
        for start in range(0, len(stored), database.LOOKED_UP):
            some = topic.pool.filter(passage__in=stored[start : start + database.LOOKED_UP])
            pooled.update(some.values_list("passage_id", flat=True))
        missing = [pk for pk in passage_ids if pk not in pooled]
        place = self._next_position(topic)
        rows = [Pooled(topic=topic, passage_id=pk, position=place + n) for n, pk in enumerate(missing)]
        database.create(rows)
        self._end_of_pool[topic.pk] = place + len(rows)
        counts = self._tally.of("pooled")
        counts.new += len(rows)
        counts.unchanged += len(passage_ids) - len(rows)

    def _next_position(self, topic: Topic) -> int:
        if topic.pk not in self._end_of_pool:
            last = topic.pool.aggregate(last=Max("position"))["last"]
            self._end_of_pool[topic.pk] = 0 if last is None else last + 1
        return self._end_of_pool[topic.pk]


def _one_text_each(entries: Iterable[PassageEntry], path: Path) -> dict[str, PassageEntry]:
    by_id: dict[str, PassageEntry] = {}
    for entry in entries:
        at = FilePosition(path, entry.line)
        fitting_id(entry.doc_id, what="the passage id", at=at, limit=ID_LIMIT)
        if by_id.setdefault(entry.doc_id, entry).text != entry.text:
            raise _two_texts(entry.doc_id, at)
    return by_id


def _details(entry: PassageEntry) -> dict[str, str | int | None]:
    return {name: getattr(entry, name) for name in DETAILS}


def _texts(passages: Iterable[tuple[str, str]], *, at: FilePosition) -> dict[str, str]:
    texts: dict[str, str] = {}
    for doc_id, text in passages:
        if texts.setdefault(doc_id, text) != text:
            raise _two_texts(doc_id, at)
        fitting_id(doc_id, what="the paragraph_id", at=at, limit=ID_LIMIT)
    return texts


def _two_texts(doc_id: str, at: FilePosition) -> BadFormat:
    return at.error(f"passage {doc_id} has another text than before, expected one text a passage id")


class DocIdCheck:
    """Notes which files name passages that the collection lacks, and ids that only look like one it has.

    To be asked once all passages of an import are stored.
    """

    def __init__(self, collection: Collection, tally: Tally) -> None:
        self._collection, self._tally = collection, tally
        self._missing: list[str] = []
        """ "2 of 10 in a.run" for each file."""

    @cached_property
    def _doc_ids(self) -> frozenset[str]:
        return frozenset(self._collection.passages.values_list("doc_id", flat=True).iterator())

    @cached_property
    def _by_look(self) -> dict[str, str]:
        """Return the ids of passages that do not look as they are written."""
        return {look(doc_id): doc_id for doc_id in self._doc_ids if not doc_id.isascii()}

    def compare(self, doc_ids: Iterable[str], *, file: str) -> None:
        """Note those that are no passage but look like one. Nothing is noted without any passages."""
        named = frozenset(doc_ids)
        missing = named - self._doc_ids if self._doc_ids else ()
        if not missing:
            return
        self._missing.append(f"{len(missing):,} of {len(named):,} in {file}")
        alike = {doc_id: other for doc_id in sorted(missing) if (other := self._lookalike(doc_id))}
        if alike:
            pairs = [f"{doc_id!a} is not {other!a}" for doc_id, other in alike.items()]
            self._tally.note(
                f"{file}: {len(alike):,} ids of passages look like one of the collection and are another, by "
                f"invisible or composed characters: {some(pairs, most=NAMED_LOOKALIKES)}"
            )

    def _lookalike(self, doc_id: str) -> str | None:
        seen = look(doc_id)
        return seen if seen in self._doc_ids else self._by_look.get(seen)

    def finish(self) -> None:
        """Note how many ids are no passages; and passages that look alike, where some are new."""
        if self._missing:
            self._tally.note(f"passages that the collection lacks: {some(self._missing)}")
        if (counts := self._tally.counts.get("passages")) and counts.new:
            pairs = [
                f"{doc_id!a} and {other!a}"
                for doc_id in sorted(self._doc_ids)
                if not doc_id.isascii() and (other := self._lookalike(doc_id)) not in (None, doc_id)
            ]
            if pairs:
                listed = some(pairs, most=NAMED_LOOKALIKES)
                self._tally.note(f"passages whose ids look alike and are not the same: {listed}")


@dataclass(frozen=True, slots=True)
class PassageFileImporter:
    """Stores the passages of files; the candidates of a request enter the pool of its topic."""

    topics: TopicImporter
    passages: PassageImporter
    runs: RunImporter
    tally: Tally
    is_segmenting: bool = False
    """Documents are cut into windows of sentences, each a passage. Candidates of requests never are."""
    run_tag: str = ""
    """The run that the order of candidates makes; empty for none."""

    def read(self, path: Path, *, chosen: Format | None) -> None:
        """Import a file, which is read as `chosen`. Raises BadFormat."""
        file_format = chosen or recognise_among(path, FORMATS)
        if file_format is TSV_WITH_HEADER:
            self.tally.note(header_note(path))
        unread: Counter[str] = Counter()
        for (query_id, line), listed in groupby(file_format.read_chosen(path), key=_request):
            if query_id is None:
                entries = counting_unread(listed, unread)
                self.passages.store(segmented(entries) if self.is_segmenting else entries, path=path)
            else:
                self._pool(list(listed), at=FilePosition(path, line))
        if unread:
            listed_fields = ", ".join(f"{name} ({count:,})" for name, count in unread.most_common())
            self.tally.note(f"fields of passages in {path.name} that are not kept: {listed_fields}")

    def _pool(self, candidates: list[PassageEntry], *, at: FilePosition) -> None:
        """Store, pool and rank the candidates of one request."""
        topic = self.topics.require(candidates[0].query_id or "", text=candidates[0].query_text, at=at)
        self.passages.store(candidates, path=at.path)
        self.passages.pool(topic, ((entry.doc_id, entry.text) for entry in candidates), at=at)
        if self.run_tag:
            for place, entry in enumerate(candidates, start=1):
                score = 1 / place if entry.score is None else entry.score
                self.runs.rank(self.run_tag, topic, entry.doc_id, (place, score), at=at)


def _request(entry: PassageEntry) -> tuple[str | None, int]:
    """Return the key of a request; all passages without a query belong together."""
    return entry.query_id, entry.line if entry.query_id is not None else 0
