"""Reader of Workbench graded files: passages with judgments, rankings and grades, one topic a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.graded_entries import direct_grade, graded_by, item_grades, labelled_by
from grading.formats.graded_json import SHAPE, Identifier, JudgmentJson, PassageJson, RankingJson
from grading.formats.graded_records import (
    ConfigKey,
    GradedLine,
    GradedPassage,
    ImportedGrade,
    Judgment,
    PooledRank,
)
from grading.formats.graded_writing import write_graded
from grading.formats.jsonl import decode, records
from grading.formats.numbers import real, whole


class _RawTopic(msgspec.Struct, array_like=True):
    query_id: Identifier
    passages: list[msgspec.Raw]


_TOPIC = msgspec.json.Decoder(_RawTopic)
_PASSAGE = msgspec.json.Decoder(PassageJson)


def read_graded(path: Path) -> Iterator[GradedLine]:
    """Yield the topics of a graded file, a line at a time. Raises `BadFormat` with file, line and what was
    expected.

    Accepted quirks: entries without prompt information, prompt type or label; `answers` for `answer` in
    direct grades; items named by `question_id` or `nugget_id`; numbers as run tags and ids; fields and
    elements that are not known.
    """
    return records(path, _TOPIC, _topic, shape=SHAPE)


def _topic(raw: _RawTopic, line: int) -> GradedLine:
    """Decode a passage after the other: the JSON of a whole topic takes many times its records' memory."""
    query_id = identifier(raw.query_id, "the query id")
    passages, ignored = [], 0
    for place, encoded in enumerate(raw.passages):
        passage_json = decode(encoded, _PASSAGE, shape=SHAPE, at=f"$[1][{place}]")
        passage, left_out = _passage(passage_json, query_id)
        passages.append(passage)
        ignored += left_out
    return GradedLine(query_id, line, passages, ignored)


def _passage(raw: PassageJson, query_id: str) -> tuple[GradedPassage, int]:
    doc_id = identifier(raw.doc_id, "the paragraph_id")
    try:
        grades, ignored = _grades(raw)
        judgments = [_judgment(judgment, query_id) for judgment in raw.pooling.judgments]
        rankings = [_ranking(ranking) for ranking in raw.pooling.rankings]
    except BadFormat as error:
        raise BadFormat(f"passage {doc_id}: {error.problem}") from error
    return GradedPassage(doc_id, raw.text, judgments, rankings, grades), ignored


def _grades(raw: PassageJson) -> tuple[list[ImportedGrade], int]:
    """The grades, and how many entries repeat the config of an earlier one and are left out."""
    grades: list[ImportedGrade] = []
    seen: set[ConfigKey] = set()
    entries, directs = raw.exam_grades or [], raw.grades or []
    for entry in entries:
        by = graded_by(entry)
        if by.config not in seen:
            seen.add(by.config)
            grades += item_grades(entry, by)
    for direct in directs:
        by = labelled_by(direct)
        if by.config not in seen:
            seen.add(by.config)
            grades.append(direct_grade(direct, by))
    return grades, len(entries) + len(directs) - len(seen)


def _judgment(raw: JudgmentJson, query_id: str) -> Judgment:
    """A judgment of the topic, of a subtopic (`<query id>/<facet>` as its query), or of another topic
    altogether.
    """
    judged = str(raw.query)
    relevance = whole(raw.relevance, what=f"the relevance judged for query {judged}")
    if judged == query_id:
        return Judgment(query_id, "", relevance)
    if judged.startswith(f"{query_id}/"):
        return Judgment(query_id, judged.removeprefix(f"{query_id}/"), relevance)
    if raw.title_query is not None and str(raw.title_query) == query_id:
        return Judgment(query_id, judged, relevance)
    return Judgment(judged, "", relevance)


def _ranking(raw: RankingJson) -> PooledRank:
    run_tag = identifier(raw.method, "a ranking's method")
    rank = whole(raw.rank, what=f"the rank in run {run_tag}")
    if rank < 0:
        raise BadFormat(f"the rank in run {run_tag} is {rank}, expected 0 or more")
    return PooledRank(run_tag, rank, real(raw.score, what=f"the score in run {run_tag}"))


def identifier(value: Identifier, what: str) -> str:
    """An id as text, never blank."""
    text = str(value)
    if not text or text.isspace():
        raise BadFormat(f"{what} is empty, expected an id")
    return text


def _is_graded(sample: Sample) -> bool:
    match sample.documents:
        case [[str() | int(), [*passages], *_], *_]:
            return all(isinstance(one, dict) and "paragraph_id" in one for one in passages[:1])
    return False


WORKBENCH_GRADED = Format(
    "workbench-graded",
    "Workbench graded file",
    Content.GRADED,
    _is_graded,
    read_graded,
    write_graded,
    is_lossless=False,
    source="RUBRIC Workbench",
)
