"""Labels of support as RAGDoll's judge leaves them, `judgments.parsed.jsonl`: a line a citation.

`{status, support_label, raw_output, metadata: {run_id, topic_id or narrative_id, sentence_index,
citation_index, docid}}`, where the metadata may stand under `source`. The places count from 0 (in RAGDoll's
README, "Support", and its `support/stages.py`, which enumerates the sentences of the answer and their
citations; read at castorini/RAGDoll@1f06719). Sentences and citations are those of the run's answer; a
`docid` must be the document that it cites there. `FS` is full support, `PS` partial, `NS` none, and the word
`contradicts`, which RAGDoll does not have, a contradiction; a line that
is not `completed`, or has no label, is a failed label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.json_lines import JsonDict, in_words, json_object
from grading.formats.reading import lines
from grading.formats.support_labels import CONTRADICTION, AnswerLabels, SentenceLabels
from grading.types import CONTRADICTS, FAILED, MISSING

COMPLETED = "completed"
LABELS: Mapping[str, int] = {"FS": 2, "PS": 1, "NS": 0, CONTRADICTION: CONTRADICTS}
TOPIC_KEYS = ("topic_id", "narrative_id")
INDEXES = ("sentence_index", "citation_index")
_SHAPE = "an object with status, support_label and metadata"
MOST = 10_000
"""No answer has so many sentences, and no sentence so many citations."""
Places = dict[tuple[int, int], tuple[int, str]]
"""By sentence and citation: the label, and the document; empty where the line names none."""


def read_judged_places(path: Path) -> Iterator[AnswerLabels]:
    """Yield the answers in the order of their first lines, without texts: MISSING where no line is.

    A reference is empty where the line names no document.

    Raises `BadFormat` with file and line for an unknown label, and for a place that is judged twice.
    """
    answers: dict[tuple[str, str], tuple[int, Places]] = {}
    for number, text in lines(path):
        try:
            key, place, judged = _judgment(json_object(text, shape=_SHAPE))
            _, places = answers.setdefault(key, (number, {}))
            if place in places:
                at = f"sentence {place[0]}, citation {place[1]} of run {key[0]} on topic {key[1]}"
                raise BadFormat(f"{at} is judged twice, expected one line a citation")
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
        places[place] = judged
    for (run_tag, query_id), (number, places) in answers.items():
        yield AnswerLabels(run_tag, query_id, _sentences(places), line=number, has_texts=False)


def _sentences(places: Places) -> tuple[SentenceLabels, ...]:
    rows = [[(MISSING, "")] * _count(places, sentence) for sentence in range(max(s for s, _ in places) + 1)]
    for (sentence, citation), judged in places.items():
        rows[sentence][citation] = judged
    return tuple(
        SentenceLabels("", tuple(doc_id for _, doc_id in row), tuple(label for label, _ in row))
        for row in rows
    )


def _count(places: Places, sentence: int) -> int:
    return max((citation + 1 for of, citation in places if of == sentence), default=0)


def _judgment(raw: JsonDict) -> tuple[tuple[str, str], tuple[int, int], tuple[int, str]]:
    """Return (run, topic), (sentence, citation), and the label with its document."""
    if not isinstance(raw.get("status"), str):
        raise BadFormat(f"status is {in_words(raw.get('status'))}, expected {COMPLETED} or another word")
    source = _source(raw)
    ids = [_id(source, key) for key in TOPIC_KEYS if key in source]
    if not ids or len(set(ids)) > 1:
        raise BadFormat(f"metadata names the topics {', '.join(ids) or 'none'}, expected one topic_id")
    sentence, citation = (_index(source, key) for key in INDEXES)
    doc_id = _id(source, "docid") if source.get("docid") is not None else ""
    label = raw.get("support_label")
    if raw["status"] != COMPLETED or label is None:
        return (_id(source, "run_id"), ids[0]), (sentence, citation), (FAILED, doc_id)
    if not isinstance(label, str) or label not in LABELS:
        given = label if isinstance(label, str) else in_words(label)
        raise BadFormat(f"support_label is {given}, expected {', '.join(LABELS)}")
    return (_id(source, "run_id"), ids[0]), (sentence, citation), (LABELS[label], doc_id)


def _source(raw: JsonDict) -> JsonDict:
    metadata = raw.get("metadata")
    inner = metadata.get("source") if isinstance(metadata, dict) else None
    source = inner if isinstance(inner, dict) else metadata
    if not isinstance(source, dict):
        raise BadFormat(
            f"metadata is {in_words(source)}, expected an object with run_id, topic_id and places"
        )
    return source


def _id(source: JsonDict, key: str) -> str:
    value = source.get(key)
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not text.strip():
        raise BadFormat(f"metadata.{key} is {in_words(value)}, expected an id")
    return text


def _index(source: JsonDict, key: str) -> int:
    value = source.get(key)
    if type(value) is not int or not 0 <= value < MOST:
        given = value if type(value) is int else in_words(value)
        raise BadFormat(f"metadata.{key} is {given}, expected a whole number from 0")
    return value


def _recognises(sample: Sample) -> bool:
    raw = sample.first_object
    metadata = raw.get("metadata")
    inner = metadata.get("source", metadata) if isinstance(metadata, dict) else None
    return "status" in raw and isinstance(inner, dict) and inner.keys() >= {"run_id", *INDEXES}


JUDGED_PLACES = Format(
    "ragdoll-support",
    "labels of support by RAGDoll's judge",
    Content.LABELLED_ANSWERS,
    _recognises,
    read_judged_places,
    None,
    is_lossless=False,
    source="RAGDoll (castorini): support",
)
