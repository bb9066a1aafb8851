"""Check a TREC run of six columns."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.numbers import real, whole
from grading.formats.reading import MAX_HELD_BYTES, column_count, lines
from grading.submissions.coverage import Coverage, DocumentIds, TrackTopic
from grading.submissions.findings import Findings
from grading.submissions.rules import RetrievalRules, Rules

_COLUMNS = "6 columns: query_id Q0 doc_id rank score run_tag"


@dataclass(slots=True)
class _Ranking:
    """One topic's lines."""

    ranked: list[tuple[int, float, int]] = field(default_factory=list)
    """Rank, score and line."""
    first_line: dict[str, int] = field(default_factory=dict)
    """Of each document."""


class RunCheck:
    """Checks the lines of one run; what is wrong goes to `findings`."""

    def __init__(
        self,
        rules: Rules,
        track: RetrievalRules,
        topics: Mapping[str, TrackTopic],
        findings: Findings,
        *,
        corpus: Container[str] | None = None,
    ) -> None:
        self._track = track
        self._findings = findings
        self.coverage = Coverage(rules.run_id, topics, findings)
        self._ids = DocumentIds(self._track.doc_id, corpus)
        self._rankings: dict[str, _Ranking] = {}

    def file(self, path: Path) -> None:
        """Check all lines; blank ones are skipped. Raises `BadFormat` where the file cannot be read on."""
        for number, text in lines(path, max_bytes=MAX_HELD_BYTES):
            if text.strip():
                self._line(number, text.split())
        for query_id, ranking in self._rankings.items():
            self._finish(query_id, ranking)
        self.coverage.finish()

    def _line(self, line: int, columns: list[str]) -> None:
        if len(columns) != 6:
            self._findings.add("malformed", f"{column_count(columns)}, expected {_COLUMNS}", line=line)
            return
        query_id, _, doc_id, _, _, run_tag = columns
        try:
            rank, score = whole(columns[3], what="the rank"), real(columns[4], what="the score")
        except BadFormat as error:
            self._findings.add("malformed", error.problem, line=line, query_id=query_id)
            return
        self.coverage.run_id(run_tag, line)
        self.coverage.topic(query_id, line)
        if unfit := self._ids.problem(doc_id):
            self._findings.add(*unfit, line=line, query_id=query_id)
        ranking = self._rankings.setdefault(query_id, _Ranking())
        ranking.ranked.append((rank, score, line))
        first = ranking.first_line.setdefault(doc_id, line)
        if first != line:
            problem = f"{doc_id} is ranked again, expected it once, as on line {first}"
            self._findings.add("ranking_duplicate", problem, line=line, query_id=query_id)

    def _finish(self, query_id: str, ranking: _Ranking) -> None:
        """Check a topic's whole ranking; the first line that is out of order stands for all."""
        limit, count = self._track.max_ranks, len(ranking.ranked)
        if limit is not None and count > limit:
            line = ranking.ranked[limit][2]
            problem = f"{count:,} ranks, expected at most {limit:,}"
            self._findings.add("ranking_depth", problem, line=line, query_id=query_id)
        by_rank = sorted(ranking.ranked, key=lambda entry: entry[0])
        for (_, better, _), (rank, score, line) in pairwise(by_rank):
            if score > better:
                problem = f"the score {score:g} at rank {rank} below {better:g}, expected no higher score"
                self._findings.add("ranking_order", problem, line=line, query_id=query_id)
                return
