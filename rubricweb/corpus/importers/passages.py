"""Passages, and the pool of each topic in the order of the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from django.db.models import Max

from grading.errors import BadFormat
from grading.formats.passages import PassageEntry
from rubricweb.core import database
from rubricweb.core.database import LOOKED_UP
from rubricweb.corpus.importers.positions import FilePosition, fitting_id
from rubricweb.corpus.importers.tally import Tally
from rubricweb.corpus.models import Collection, Passage, Pooled, Topic

ID_LIMIT = 300
DETAILS = ("title", "url", "headings")


class PassageImporter:
    """Adds passages line by line; texts are compared in the database, not held in memory."""

    def __init__(self, collection: Collection, tally: Tally, *, is_replacing: bool = False) -> None:
        self._collection, self._tally, self._is_replacing = collection, tally, is_replacing
        self.reworded: set[int] = set()
        """Keys of the passages whose text `store` has replaced."""
        self._seen: set[int] = set()
        self._end_of_pool: dict[int, int] = {}
        """By topic: the position after the last one of its pool."""

    def store(self, entries: Iterable[PassageEntry], *, path: Path) -> None:
        """Add passages with their titles, in no pool. Raises BadFormat for another text of a known passage,
        unless the files replace.
        """
        remaining = iter(entries)
        while some := list(islice(remaining, LOOKED_UP)):
            self._store(_one_text_each(some, path), path)

    def _store(self, entries: Mapping[str, PassageEntry], path: Path) -> None:
        known = {row.doc_id: row for row in self._collection.passages.filter(doc_id__in=entries)}
        fresh = [
            Passage(collection=self._collection, doc_id=doc_id, text=entry.text, **_details(entry))
            for doc_id, entry in entries.items()
            if doc_id not in known
        ]
        changed = [row for doc_id, row in known.items() if self._change(row, entries[doc_id], path)]
        made = database.create(fresh)
        Passage.objects.bulk_update(changed, ["text", *DETAILS], batch_size=100)
        counts, keys = self._tally.of("passages"), {row.pk for row in known.values()}
        counts.new += len(made)
        counts.changed += len(changed)
        counts.unchanged += len(keys - self._seen - {row.pk for row in changed})
        self._seen.update(keys, (row.pk for row in made))

    def _change(self, row: Passage, entry: PassageEntry, path: Path) -> bool:
        """Give the row what the entry says besides; return whether that is anything new."""
        before = {name: getattr(row, name) for name in ("text", *DETAILS)}
        after = (
            before | {"text": entry.text} | {name: value for name, value in _details(entry).items() if value}
        )
        contradicted = [name for name, value in before.items() if value and after[name] != value]
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
        keys = self._known(texts, at=at)
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

    def _known(self, texts: dict[str, str], *, at: FilePosition) -> dict[str, int]:
        keys: dict[str, int] = {}
        doc_ids = iter(texts)
        while some := list(islice(doc_ids, LOOKED_UP)):
            rows = self._collection.passages.filter(doc_id__in=some).values_list("doc_id", "pk", "text")
            for doc_id, pk, text in rows:
                if text != texts[doc_id]:
                    raise _two_texts(doc_id, at)
                keys[doc_id] = pk
        return keys

    def _add_to_pool(self, topic: Topic, passage_ids: list[int], *, new: set[int]) -> None:
        """Add those that are not in the pool; `new` passages are in none."""
        known = [pk for pk in passage_ids if pk not in new]
        pooled: set[int] = set()
        for start in range(0, len(known), LOOKED_UP):
            some = topic.pool.filter(passage__in=known[start : start + LOOKED_UP])
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


def _details(entry: PassageEntry) -> dict[str, str]:
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
