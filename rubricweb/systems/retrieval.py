"""What a system reads: the collection's passages by BM25, or the rankings of its runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.conf import settings

from grading.errors import BadFormat
from grading.formats.ids import text_md5
from grading.formats.passages import PassageEntry
from grading.systems.base import Source
from grading.systems.pipeline import SystemSpec
from grading.systems.retrieval import PassageIndex, indexed, reciprocal_rank_fusion
from grading.types import Passage, Ranking
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Topic
from rubricweb.systems.corpora import open_corpus, replace_folder

BATCH_ROWS = 2_000

_opened: dict[int, tuple[int, PassageIndex]] = {}
"""By collection: the stamp for which its index is up to date in this process."""


def candidates(collection: Collection, spec: SystemSpec, topic: Topic) -> Ranking:
    """The ranking that the system begins with; empty where no run has one for the topic."""
    if not spec.retrieves:
        return Ranking("", topic.query_id, (), ())
    if spec.corpus:
        return open_corpus(spec.corpus).search(convert.topic(topic), depth=spec.depth)
    if not spec.runs:
        return index_of(collection).search(convert.topic(topic), depth=spec.depth)
    rows = topic.rankings.filter(run__run_tag__in=spec.runs).select_related("run", "topic")
    rankings = [convert.ranking(row) for row in rows]
    if not rankings:
        return Ranking("", topic.query_id, (), ())
    if len(spec.runs) == 1:
        return rankings[0]
    return reciprocal_rank_fusion(rankings, depth=spec.depth)


def sources_of(collection: Collection, doc_ids: Sequence[str], corpus: str = "") -> list[Source]:
    """The passages in this order, of the collection or else of a corpus on disk; ids without a text are left
    out.
    """
    rows = collection.passages.filter(doc_id__in=doc_ids).values_list("doc_id", "text", "title")
    by_id = {doc_id: Source(doc_id, text, title) for doc_id, text, title in rows}
    if corpus:
        missing = [doc_id for doc_id in doc_ids if doc_id not in by_id]
        found = open_corpus(corpus).passages(missing)
        by_id |= {entry.doc_id: Source(entry.doc_id, entry.text, entry.title) for entry in found}
    return [by_id[doc_id] for doc_id in doc_ids if doc_id in by_id]


def index_of(collection: Collection) -> PassageIndex:
    """The collection's index, brought up to date where an import has changed its passages."""
    stamp = Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk)
    known = _opened.get(collection.pk)
    if known is None or known[0] != stamp:
        _opened[collection.pk] = known = stamp, _up_to_date(collection)
    return known[1]


def folder_of(collection_id: int) -> Path:
    return Path(settings.DATA_DIR) / "indexes" / str(collection_id)


def remove_index(collection_id: int) -> None:
    """With the collection; what a worker still has open stays readable until it closes it."""
    shutil.rmtree(folder_of(collection_id), ignore_errors=True)
    _opened.pop(collection_id, None)


def _up_to_date(collection: Collection) -> PassageIndex:
    folder = folder_of(collection.pk)
    try:
        stored = PassageIndex.open(folder)
    except BadFormat:
        stored = PassageIndex()
    before = len(stored.ids)
    index = stored.updated(lambda: _retrievable(collection))
    if not index.ids:  # a corpus that names its own passages by their md5
        index = stored.updated(lambda: _passages(collection))
    if index is not stored or len(index.ids) != before:
        replace_folder(folder, index.save)  # another worker may read the old one, or write the same
    return index


def _retrievable(collection: Collection) -> Iterator[Passage]:
    """Without what systems have generated, whose ids are the md5 of their texts: it is no source."""
    return (indexed(entry) for entry in _entries(collection) if entry.doc_id != text_md5(entry.text))


def _passages(collection: Collection) -> Iterator[Passage]:
    return map(indexed, _entries(collection))


def _entries(collection: Collection) -> Iterator[PassageEntry]:
    rows = collection.passages.order_by("pk").values_list("doc_id", "text", "title", "url", "headings")
    return (PassageEntry(*row) for row in rows.iterator(chunk_size=BATCH_ROWS))
