"""Human judgments, from graded files and from qrels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.graded_records import GradedLine
from grading.formats.trec import numbered_qrels, qrels_notes
from rubricweb.core import database
from rubricweb.corpus.import_base import (
    ID_LIMIT as FACET_LIMIT,
    FilePosition,
    Tally,
    TopicImporter,
    fitting_id,
    fitting_judgment,
)
from rubricweb.corpus.import_passages import ID_LIMIT, DocIdCheck
from rubricweb.corpus.models import Judgment, Topic

BATCH_ROWS = 2_000

Key = tuple[str, str]
"""(facet id, doc id) within a topic."""
Read = tuple[int, FilePosition]
"""A relevance, and where this import read it."""


class SeveralJudgments(StrEnum):
    """Which of several judgments of one passage counts, if the files of one import disagree."""

    HIGHEST = "highest"
    LOWEST = "lowest"
    LAST = "last"
    REFUSE = "refuse"


_COUNTS: dict[SeveralJudgments, Callable[[Read, Read], Read]] = {
    SeveralJudgments.HIGHEST: lambda before, here: max(before, here, key=_relevance),
    SeveralJudgments.LOWEST: lambda before, here: min(before, here, key=_relevance),
    SeveralJudgments.LAST: lambda before, here: here,
}


class JudgmentImporter:
    """Gathers the judgments of all files, and writes them at the end.

    If the files judge a passage several times, `several` decides. A judgment that contradicts an earlier
    import is refused, unless the files replace it.
    """

    def __init__(
        self,
        topics: TopicImporter,
        doc_ids: DocIdCheck,
        tally: Tally,
        *,
        several: SeveralJudgments,
        is_replacing: bool,
    ) -> None:
        self._topics, self._doc_ids, self._tally = topics, doc_ids, tally
        self._several, self._is_replacing = several, is_replacing
        self._read: dict[int, dict[Key, Read]] = {}
        self._judged_often: set[tuple[int, Key]] = set()
        self._elsewhere: list[tuple[str, str, int, FilePosition]] = []

    def read_line(self, topic: Topic, line: GradedLine, *, at: FilePosition) -> None:
        for passage in line.passages:
            for judgment in passage.judgments:
                if judgment.query_id == topic.query_id:
                    self._judge((topic, judgment.facet_id), passage.doc_id, (judgment.relevance, at))
                else:
                    self._elsewhere.append((judgment.query_id, passage.doc_id, judgment.relevance, at))

    def read_qrels(self, path: Path) -> None:
        unknown: Counter[str] = Counter()
        n_read = 0
        judged: set[str] = set()
        for note in qrels_notes(path):
            self._tally.note(f"{path.name}: {note}")
        for line, qrel in numbered_qrels(path):
            if topic := self._topics.find(qrel.query_id):
                self._judge(topic, qrel.doc_id, (qrel.relevance, FilePosition(path, line)))
                n_read += 1
                judged.add(qrel.doc_id)
            else:
                unknown[qrel.query_id] += 1
        self._doc_ids.compare(judged, file=path.name)
        if unknown and not n_read and self._topics.is_closed:
            first = next(iter(unknown))
            raise (
                FilePosition(path)
                .with_columns(first)
                .error(f"query {first} is unknown, as are all others of the file, expected the queries given")
            )
        if unknown:
            self._tally.note(
                f"{path.name}: left out {unknown.total()} judgments of {len(unknown)} topics "
                f"that the collection lacks{self._topics.lookalikes(unknown)}"
            )

    def add(self, topic: Topic, doc_id: str, relevance: int, *, at: FilePosition) -> None:
        self._judge((topic, ""), doc_id, (relevance, at))

    def finish(self) -> None:
        """Add the judgments that passages carry for other topics, then write all."""
        left_out = 0
        for query_id, doc_id, relevance, at in self._elsewhere:
            if judged_for := self._topics.find(query_id):
                self._judge(judged_for, doc_id, (relevance, at))
            else:
                left_out += 1
        if left_out:
            self._tally.note(
                f"left out {left_out} judgments that passages have of topics that the collection lacks"
            )
        if self._judged_often:
            self._tally.note(
                f"{len(self._judged_often)} passages have several judgments that differ, "
                f"of which the {self._several} counts"
            )
        for topic in self._topics.by_query_id.values():
            self._write(topic, self._read.get(topic.pk, {}))

    def _judge(self, topic: tuple[Topic, str], doc_id: str, judgment: Read) -> None:
        row, facet_id = topic
        fitting_judgment(judgment[0], at=judgment[1])
        fitting_id(doc_id, what="the doc_id", at=judgment[1], limit=ID_LIMIT)
        if facet_id:
            fitting_id(facet_id, what="the facet_id", at=judgment[1], limit=FACET_LIMIT)
        read, key = self._read.setdefault(row.pk, {}), (facet_id, doc_id)
        before = read.setdefault(key, judgment)
        if before[0] != judgment[0]:
            if self._several is SeveralJudgments.REFUSE:
                raise _contradiction(
                    row, key, judgment, f"{before[0]} in {before[1]}", "another --judgments rule"
                )
            self._judged_often.add((row.pk, key))
            read[key] = _COUNTS[self._several](before, judgment)

    def _write(self, topic: Topic, read: dict[Key, Read]) -> None:
        if not read:
            return
        stored = {(row.facet_id, row.doc_id): row for row in topic.judgments.all()}
        fresh, changed = [], []
        for key, (relevance, at) in read.items():
            row = stored.get(key)
            if row is None:
                fresh.append(Judgment(topic=topic, facet_id=key[0], doc_id=key[1], relevance=relevance))
            elif row.relevance != relevance:
                if not self._is_replacing:
                    other = f"{row.relevance} in the collection"
                    raise _contradiction(topic, key, (relevance, at), other, "--replace")
                row.relevance = relevance
                changed.append(row)
        database.create(fresh, batch_size=BATCH_ROWS)
        Judgment.objects.bulk_update(changed, ["relevance"], batch_size=BATCH_ROWS)
        counts = self._tally.of("judgments")
        counts.new += len(fresh)
        counts.changed += len(changed)
        counts.unchanged += len(read) - len(fresh) - len(changed)


def _relevance(read: Read) -> int:
    return read[0]


def _contradiction(topic: Topic, key: Key, judgment: Read, other: str, way_out: str) -> BadFormat:
    judged_for = "/".join(filter(None, (topic.query_id, key[0])))
    return judgment[1].error(
        f"passage {key[1]} of query {judged_for} is judged {judgment[0]} here and {other}, "
        f"expected one judgment (or {way_out})"
    )
