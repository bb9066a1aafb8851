"""Passages, and the pool of each topic in the order of the files."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from django.db.models import Max

from grading.errors import BadFormat
from rubricweb.corpus.importers.positions import FilePosition, fitting_id
from rubricweb.corpus.importers.tally import Tally
from rubricweb.corpus.models import Collection, Passage, Pooled, Topic

ID_LIMIT = 300
LOOKED_UP = 500
"""Ids per query: SQLite takes at most a thousand parameters."""


class PassageImporter:
    """Adds passages line by line; texts are compared in the database, not held in memory."""

    def __init__(self, collection: Collection, tally: Tally) -> None:
        self._collection, self._tally = collection, tally
        self._seen: set[int] = set()
        self._end_of_pool: dict[int, int] = {}
        """By topic: the position after the last one of its pool."""

    def pool(self, topic: Topic, passages: Iterable[tuple[str, str]], *, at: FilePosition) -> dict[str, int]:
        """Pool (doc id, text) for `topic`; return the passages' keys by doc id."""
        texts = _texts(passages, at=at)
        keys = self._known(texts, at=at)
        missing = [
            Passage(collection=self._collection, doc_id=doc_id, text=text)
            for doc_id, text in texts.items()
            if doc_id not in keys
        ]
        made = {passage.doc_id: passage.pk for passage in Passage.objects.bulk_create(missing)}
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
        Pooled.objects.bulk_create(rows)
        self._end_of_pool[topic.pk] = place + len(rows)
        counts = self._tally.of("pooled")
        counts.new += len(rows)
        counts.unchanged += len(passage_ids) - len(rows)

    def _next_position(self, topic: Topic) -> int:
        if topic.pk not in self._end_of_pool:
            last = topic.pool.aggregate(last=Max("position"))["last"]
            self._end_of_pool[topic.pk] = 0 if last is None else last + 1
        return self._end_of_pool[topic.pk]


def _texts(passages: Iterable[tuple[str, str]], *, at: FilePosition) -> dict[str, str]:
    texts: dict[str, str] = {}
    for doc_id, text in passages:
        if texts.setdefault(doc_id, text) != text:
            raise _two_texts(doc_id, at)
        fitting_id(doc_id, what="the paragraph_id", at=at, limit=ID_LIMIT)
    return texts


def _two_texts(doc_id: str, at: FilePosition) -> BadFormat:
    return at.error(f"passage {doc_id} has another text than before, expected one text a passage id")
