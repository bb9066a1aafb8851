"""Human judgments, from graded files and from qrels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.trec import read_qrels
from grading.formats.workbench import GradedTopic
from rubricweb.corpus.importers.passages import ID_LIMIT
from rubricweb.corpus.importers.places import Place, fitting, fitting_judgment
from rubricweb.corpus.importers.tally import Tally
from rubricweb.corpus.importers.topics import ID_LIMIT as FACET_LIMIT
from rubricweb.corpus.importers.topics import TopicImporter
from rubricweb.corpus.models import Judgment, Topic

BATCH_ROWS = 2_000

Judged = dict[tuple[str, str], tuple[int, Place | None]]
"""(facet, doc) -> relevance and where this import read it."""


class JudgmentImporter:
    """Adds judgments; one that contradicts another is refused, unless the files replace."""

    def __init__(self, topics: TopicImporter, tally: Tally, *, is_replacing: bool) -> None:
        self._topics, self._tally, self._is_replacing = topics, tally, is_replacing
        self._judged: dict[int, Judged] = {}
        self._waiting: list[Judgment] = []
        self._elsewhere: list[tuple[str, str, int, Place]] = []

    def read_line(self, topic: Topic, line: GradedTopic, *, at: Place) -> None:
        for passage in line.passages:
            for judgment in passage.judgments:
                if judgment.query_id == topic.query_id:
                    self._judge((topic, judgment.facet_id), passage.doc_id, judgment.relevance, at)
                else:
                    self._elsewhere.append((judgment.query_id, passage.doc_id, judgment.relevance, at))

    def read_qrels(self, path: Path) -> None:
        unknown: Counter[str] = Counter()
        at = Place(path)
        known = 0
        for qrel in read_qrels(path):
            if found := self._topics.find(qrel.query_id):
                self._judge(found, qrel.doc_id, qrel.relevance, at)
                known += 1
            else:
                unknown[qrel.query_id] += 1
        if unknown and not known and self._topics.is_closed:
            first = next(iter(unknown))
            raise at.with_columns(first).error(
                f"query {first} is unknown, as are all others of the file, expected the queries given"
            )
        if unknown:
            self._tally.note(
                f"{path.name}: left out {unknown.total()} judgments of {len(unknown)} topics "
                "that the collection lacks"
            )

    def finish(self) -> None:
        """Judgments that a passage has of other topics than its own, and what waits to be written."""
        left_out = 0
        for query_id, doc_id, relevance, at in self._elsewhere:
            if found := self._topics.find(query_id):
                self._judge(found, doc_id, relevance, at)
            else:
                left_out += 1
        if left_out:
            self._tally.note(
                f"left out {left_out} judgments that passages have of topics that the collection lacks"
            )
        self._write()

    def _judge(self, topic: tuple[Topic, str], doc_id: str, relevance: int, at: Place) -> None:
        row, facet_id = topic
        judged = self._judged_of(row)
        before = judged.get((facet_id, doc_id))
        if before is None:
            self._add(Judgment(topic=row, facet_id=facet_id, doc_id=doc_id, relevance=relevance), at=at)
        elif before[0] == relevance:
            self._tally.of("judgments").unchanged += before[1] is None
        elif before[1] or not self._is_replacing:
            raise _contradiction(topic, doc_id, (relevance, at), before)
        else:
            row.judgments.filter(facet_id=facet_id, doc_id=doc_id).update(
                relevance=fitting_judgment(relevance, at=at)
            )
            self._tally.of("judgments").changed += 1
        judged[facet_id, doc_id] = relevance, at

    def _add(self, judgment: Judgment, *, at: Place) -> None:
        fitting_judgment(judgment.relevance, at=at)
        fitting(judgment.doc_id, what="the doc_id", at=at, limit=ID_LIMIT)
        fitting(judgment.facet_id, what="the facet_id", at=at, limit=FACET_LIMIT)
        self._tally.of("judgments").new += 1
        self._waiting.append(judgment)
        if len(self._waiting) >= BATCH_ROWS:
            self._write()

    def _judged_of(self, topic: Topic) -> Judged:
        if topic.pk not in self._judged:
            rows = topic.judgments.values_list("facet_id", "doc_id", "relevance")
            self._judged[topic.pk] = {(facet_id, doc_id): (value, None) for facet_id, doc_id, value in rows}
        return self._judged[topic.pk]

    def _write(self) -> None:
        Judgment.objects.bulk_create(self._waiting)
        self._waiting.clear()


def _contradiction(
    topic: tuple[Topic, str], doc_id: str, here: tuple[int, Place], before: tuple[int, Place | None]
) -> BadFormat:
    judged_for = "/".join(filter(None, (topic[0].query_id, topic[1])))
    return (
        here[1]
        .with_columns(judged_for, doc_id)
        .error(
            f"passage {doc_id} of query {judged_for} is judged {here[0]} here and {before[0]} in "
            f"{before[1] or 'the collection'}, expected one judgment (--replace takes the newer one)"
        )
    )
