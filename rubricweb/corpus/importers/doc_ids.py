"""Compare the ids that runs and judgments name with the passages of the collection."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from grading.formats.ids import look
from rubricweb.corpus.importers.tally import Tally, some
from rubricweb.corpus.models import Collection

NAMED_LOOKALIKES = 3
"""A note that names more is not read."""


class DocIdCheck:
    """Notes which files name passages that the collection lacks, and ids that only look like one it has.

    To be asked once all passages of an import are stored.
    """

    def __init__(self, collection: Collection, tally: Tally) -> None:
        self._collection, self._tally = collection, tally
        self._missing: list[str] = []
        """ "2 of 10 in a.run" for each file."""

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._collection.passages.values_list("doc_id", flat=True).iterator())

    @cached_property
    def _by_look(self) -> dict[str, str]:
        """The ids of passages that do not look as they are written."""
        return {look(doc_id): doc_id for doc_id in self._known if not doc_id.isascii()}

    def compare(self, doc_ids: Iterable[str], *, file: str) -> None:
        """Note those that are no passage but look like one. Nothing is noted without any passages."""
        named = frozenset(doc_ids)
        missing = named - self._known if self._known else ()
        if not missing:
            return
        self._missing.append(f"{len(missing):,} of {len(named):,} in {file}")
        alike = {doc_id: other for doc_id in sorted(missing) if (other := self._lookalike(doc_id))}
        if alike:
            pairs = [f"{doc_id!a} is not {other!a}" for doc_id, other in alike.items()]
            self._tally.note(
                f"{file}: {len(alike):,} ids of passages look like one of the collection and are another, by "
                f"invisible or composed characters: {some(pairs, shown=NAMED_LOOKALIKES)}"
            )

    def _lookalike(self, doc_id: str) -> str | None:
        seen = look(doc_id)
        return seen if seen in self._known else self._by_look.get(seen)

    def finish(self) -> None:
        """Note how many ids are no passages; and passages that look alike, where some are new."""
        if self._missing:
            self._tally.note(f"passages that the collection lacks: {some(self._missing)}")
        if (counts := self._tally.counts.get("passages")) and counts.new:
            pairs = [
                f"{doc_id!a} and {other!a}"
                for doc_id in sorted(self._known)
                if not doc_id.isascii() and (other := self._lookalike(doc_id)) not in (None, doc_id)
            ]
            if pairs:
                listed = some(pairs, shown=NAMED_LOOKALIKES)
                self._tally.note(f"passages whose ids look alike and are not the same: {listed}")
