"""Which documents that a submitted file names the collection has."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.reading import MAX_HELD_BYTES, lines
from rubricweb.core.database import LOOKED_UP
from rubricweb.corpus.models import Collection
from rubricweb.submissions.models import Call


def documents_of(call: Call, path: Path) -> Container[str] | None:
    """The documents against which the file is checked; None for none.

    A TREC run always is, since what it ranks and the collection lacks is never graded. Responses cite
    documents that many collections do not hold.
    """
    if call.takes == Call.Takes.RUN:
        return _held(call.collection, path) if call.collection.passages.exists() else None
    return _DocumentIds(call.collection) if call.checks_documents else None


def _held(collection: Collection, path: Path) -> set[str]:
    """The documents of a TREC run that the collection has."""
    ranked, held = sorted(set(_ranked(path))), set[str]()
    for start in range(0, len(ranked), LOOKED_UP):
        some = collection.passages.filter(doc_id__in=ranked[start : start + LOOKED_UP])
        held.update(some.values_list("doc_id", flat=True))
    return held


def _ranked(path: Path) -> Iterator[str]:
    """What cannot be read is left to the check."""
    with suppress(BadFormat):
        for _, text in lines(path, max_bytes=MAX_HELD_BYTES):
            if len(columns := text.split()) == 6:
                yield columns[2]


class _DocumentIds:
    """The doc ids of a collection's passages, each looked up when it is asked for."""

    def __init__(self, collection: Collection) -> None:
        self._passages = collection.passages

    def __contains__(self, doc_id: object) -> bool:
        return self._passages.filter(doc_id=doc_id).exists()
