"""Files of passages without grades: JSON lines, TSV, and reranker requests, which also pool and rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from grading.formats.base import Format, header_note, recognise_among
from grading.formats.passages import FORMATS, TSV_WITH_HEADER, PassageEntry
from grading.segmentation import segments
from rubricweb.corpus.importers.base import FilePosition, Tally
from rubricweb.corpus.importers.passages import PassageImporter
from rubricweb.corpus.importers.runs import RunImporter
from rubricweb.corpus.importers.topics import TopicImporter


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
        for (query_id, line), listed in groupby(file_format.read_chosen(path), key=_request):
            if query_id is None:
                self.passages.store(self._cut(listed), path=path)
            else:
                self._pool(list(listed), at=FilePosition(path, line))

    def _cut(self, entries: Iterable[PassageEntry]) -> Iterator[PassageEntry]:
        for entry in entries:
            if not self.is_segmenting:
                yield entry
                continue
            for segment in segments(entry.doc_id, entry.text):
                yield replace(entry, doc_id=segment.doc_id, text=segment.text)

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
