"""Labels of support by answers, as NIST's assessors and RAGDoll write them: every citation in its place.

A file does not say whose labels it has. A label belongs to a place, the sentence's in its answer and the
citation's in its sentence: ids of sentences repeat, and equal sentences of two runs have different labels.

RAGDoll's judge leaves them as `judgments.parsed.jsonl`, a line a citation: `{status, support_label,
raw_output, metadata: {run_id, topic_id or narrative_id, sentence_index, citation_index, docid}}`, where the
metadata may stand under `source`. The places count from 0 (in RAGDoll's README, "Support", and its
`support/stages.py`, which enumerates the sentences of the answer and their citations; read at
castorini/RAGDoll@1f06719). Sentences and citations are those of the run's answer; a `docid` must be the
document that it cites there. `FS` is full support, `PS` partial, `NS` none, and the word `contradicts`, which
RAGDoll does not have, a contradiction; a line that is not `completed`, or has no label, is a failed label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import JsonDict, encode_json, in_words, json_object
from grading.formats.reading import lines, write_lines
from grading.types import CONTRADICTS, FAILED, MISSING

TOPIC_KEYS = ("topic_id", "narrative_id", "qid", "query_id")
RUN_KEYS = ("run_id", "runtag", "run")
CONTRADICTION = "contradicts"
"""The word for the fourth label, which NIST's files do not have."""
LABELS: Mapping[object, int] = {
    **{str(label): label for label in (MISSING, 0, 1, 2)},
    CONTRADICTION: CONTRADICTS,
}
"""As files have them, in text: 2 full, 1 partial, 0 none, -1 not judged."""
_EXPECTED = f'expected "2", "1", "0", "{CONTRADICTION}" or "-1"'
_SHAPE = '{"topic_id", "run_id", "sentences": [{"text", "citations": [{"reference", "support"}]}]}'


@dataclass(frozen=True, slots=True)
class SentenceLabels:
    """A row of an answer."""

    text: str
    """Empty where the file has none."""
    references: tuple[str, ...]
    """What it cites, in its order."""
    labels: tuple[int, ...]
    """By reference: 2, 1, 0, CONTRADICTS, or MISSING where it is not judged."""


@dataclass(frozen=True, slots=True)
class AnswerLabels:
    """A line: a run's answer to a topic, with the label of each citation."""

    run_tag: str
    query_id: str
    sentences: tuple[SentenceLabels, ...]
    foreign: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The object as it was read, with "" for a text that is NaN; empty for an answer of ours."""
    without_text: int = field(default=0, compare=False)
    """Sentences whose text is NaN."""
    line: int = field(default=0, compare=False)
    has_texts: bool = True
    """False where a file has places alone: sentences and documents are those of the run's answer."""

    @property
    def labels(self) -> list[list[int]]:
        return [list(sentence.labels) for sentence in self.sentences]


def read_labelled_answers(path: Path) -> Iterator[AnswerLabels]:
    """Yield the answers in the file's order.

    Raises `BadFormat` with file, line and field for what is no answer with labels, and for a run that answers
    a topic twice.
    """
    seen: dict[tuple[str, str], int] = {}
    for number, text in lines(path):
        try:
            answer = _answer(text, number)
            first = seen.setdefault((answer.run_tag, answer.query_id), number)
            if first != number:
                problem = f"run {answer.run_tag} answers topic {answer.query_id} here and in line {first}"
                raise BadFormat(f"{problem}, expected one line an answer")
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
        yield answer


def labelled_json(answer: AnswerLabels) -> JsonDict:
    """Return the answer as the object of a line: what was read, with the labels that the answer has now.

    A contradiction is the word for it where the line that was read has it so, else 0, as NIST has it.
    """
    if not _has_places(answer.foreign, answer.labels):
        ids = {"topic_id": answer.query_id, "run_id": answer.run_tag}
        return {**ids, "sentences": [_sentence_json(sentence) for sentence in answer.sentences]}
    entries = [
        entry | {"citations": [_relabelled(*pair) for pair in zip(entry["citations"], labels, strict=True)]}
        for entry, labels in zip(answer.foreign["sentences"], answer.labels, strict=True)
    ]
    return {**answer.foreign, "sentences": entries}


def _has_places(foreign: Mapping[str, Any], labels: list[list[int]]) -> bool:
    """Return whether the object has a citation for each label."""
    try:
        return [len(entry["citations"]) for entry in foreign["sentences"]] == [len(row) for row in labels]
    except (LookupError, TypeError):
        return False


def _sentence_json(sentence: SentenceLabels) -> JsonDict:
    cited = zip(sentence.references, sentence.labels, strict=True)
    citations = [{"reference": reference, "support": _written(label)} for reference, label in cited]
    return {"text": sentence.text, "citations": citations}


def write_labelled_answers(path: Path, answers: Iterable[AnswerLabels]) -> None:
    """Write JSON lines."""
    write_lines(path, (encode_json(labelled_json(answer)) for answer in answers))


def _relabelled(citation: JsonDict, label: int) -> JsonDict:
    if _label(citation.get("support")) == label:
        return citation
    return citation | {"support": _written(label)}


def _written(label: int) -> str:
    return str(0 if label == CONTRADICTS else label)


def _answer(text: str, number: int) -> AnswerLabels:
    content = json_object(text, shape=_SHAPE, nan=float("nan"))
    without_text = _empty_texts(content)
    _refuse_nan(content, "line")
    ids = {key: content[key] for key in TOPIC_KEYS if key in content}
    texts = {key: str(value) if type(value) is int else value for key, value in ids.items()}
    first = next(iter(texts), TOPIC_KEYS[0])
    query_id = _text(texts, first, "")
    for key, other in texts.items():
        if other != query_id:
            raise BadFormat(
                f"{key} is {_excerpt(other)} and {first} {_excerpt(query_id)}, expected one topic"
            )
    run_key = next((key for key in RUN_KEYS if key in content), RUN_KEYS[0])
    run_tag = _text(content, run_key, "")
    sentences = tuple(
        _sentence(entry, f"sentences[{place}]")
        for place, entry in enumerate(_list(content, "sentences", "", _SHAPE))
    )
    return AnswerLabels(run_tag, query_id, sentences, content, without_text, number)


def _sentence(entry: object, place: str) -> SentenceLabels:
    if not isinstance(entry, dict):
        raise BadFormat(f"{place} is {in_words(entry)}, expected {{text, citations}}")
    text = entry.get("text")
    if not isinstance(text, str):
        raise BadFormat(f"{place}.text is {_excerpt(text)}, expected text")
    references, labels = [], []
    for number, citation in enumerate(_list(entry, "citations", f"{place}.", "a list, which may be empty")):
        at = f"{place}.citations[{number}]"
        if not isinstance(citation, dict):
            raise BadFormat(f"{at} is {in_words(citation)}, expected {{reference, support}}")
        references.append(_text(citation, "reference", f"{at}."))
        if "support" not in citation:
            raise BadFormat(f"{at} has no support, {_EXPECTED}")
        label = _label(citation["support"])
        if label is None:
            raise BadFormat(f"{at}.support is {_excerpt(citation['support'])}, {_EXPECTED}")
        labels.append(label)
    return SentenceLabels(text, tuple(references), tuple(labels))


def _label(value: object) -> int | None:
    """Return the label, which may be a number; None for what is none."""
    if type(value) is int:
        return LABELS.get(str(value))
    return LABELS.get(value) if isinstance(value, str) else None


def _text(content: Mapping[str, object], key: str, place: str) -> str:
    value = content.get(key)
    if not isinstance(value, str) or not value.strip():
        given = f"is {_excerpt(value)}" if key in content else "is not there"
        raise BadFormat(f"{place}{key} {given}, expected an id")
    return value


def _list(content: JsonDict, key: str, place: str, expected: str) -> list[Any]:
    value = content.get(key)
    if not isinstance(value, list):
        given = f"is {in_words(value)}" if key in content else "is not there"
        raise BadFormat(f"{place}{key} {given}, expected {expected}")
    return value


def _empty_texts(content: JsonDict) -> int:
    """Put "" for each sentence's text that is NaN, and return how many there were."""
    sentences = content.get("sentences")
    entries = [entry for entry in sentences if isinstance(entry, dict)] if isinstance(sentences, list) else []
    nan = [entry for entry in entries if _is_nan(entry.get("text"))]
    for entry in nan:
        entry["text"] = ""
    return len(nan)


def _refuse_nan(value: object, place: str) -> None:
    if _is_nan(value):
        raise BadFormat(f"{place} is NaN, which only the text of a sentence may be, expected JSON")
    for key, part in value.items() if isinstance(value, dict) else ():
        _refuse_nan(part, key)
    for part in value if isinstance(value, list) else ():
        _refuse_nan(part, place)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value  # the test of NaN


def _excerpt(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _recognises(sample: Sample) -> bool:
    """Return whether the first line is such an answer; Python's JSON has NaN, which others refuse."""
    content: object = sample.first_object
    if not content:
        with suppress(ValueError, RecursionError):
            content = json.loads(sample.lines[0])
    if not isinstance(content, dict) or "sentences" not in content:
        return False
    return any(key in content for key in TOPIC_KEYS) and any(key in content for key in RUN_KEYS)


LABELLED_ANSWERS = Format(
    "support-answers",
    "answers with labels of support",
    Content.LABELLED_ANSWERS,
    _recognises,
    read_labelled_answers,
    write_labelled_answers,
    is_lossless=True,
    source="TREC RAG 2024 and 2025 (NIST), RAGDoll",
)


COMPLETED = "completed"
JUDGE_LABELS: Mapping[str, int] = {"FS": 2, "PS": 1, "NS": 0, CONTRADICTION: CONTRADICTS}
JUDGE_TOPIC_KEYS = ("topic_id", "narrative_id")
INDEXES = ("sentence_index", "citation_index")
_JUDGED_SHAPE = "an object with status, support_label and metadata"
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
            key, place, judged = _judgment(json_object(text, shape=_JUDGED_SHAPE))
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
    ids = [_judged_id(source, key) for key in JUDGE_TOPIC_KEYS if key in source]
    if not ids or len(set(ids)) > 1:
        raise BadFormat(f"metadata names the topics {', '.join(ids) or 'none'}, expected one topic_id")
    sentence, citation = (_index(source, key) for key in INDEXES)
    doc_id = _judged_id(source, "docid") if source.get("docid") is not None else ""
    label = raw.get("support_label")
    if raw["status"] != COMPLETED or label is None:
        return (_judged_id(source, "run_id"), ids[0]), (sentence, citation), (FAILED, doc_id)
    if not isinstance(label, str) or label not in JUDGE_LABELS:
        given = label if isinstance(label, str) else in_words(label)
        raise BadFormat(f"support_label is {given}, expected {', '.join(JUDGE_LABELS)}")
    return (_judged_id(source, "run_id"), ids[0]), (sentence, citation), (JUDGE_LABELS[label], doc_id)


def _source(raw: JsonDict) -> JsonDict:
    metadata = raw.get("metadata")
    inner = metadata.get("source") if isinstance(metadata, dict) else None
    source = inner if isinstance(inner, dict) else metadata
    if not isinstance(source, dict):
        raise BadFormat(
            f"metadata is {in_words(source)}, expected an object with run_id, topic_id and places"
        )
    return source


def _judged_id(source: JsonDict, key: str) -> str:
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


def _recognises_judgments(sample: Sample) -> bool:
    raw = sample.first_object
    metadata = raw.get("metadata")
    inner = metadata.get("source", metadata) if isinstance(metadata, dict) else None
    return "status" in raw and isinstance(inner, dict) and inner.keys() >= {"run_id", *INDEXES}


JUDGED_PLACES = Format(
    "ragdoll-support",
    "labels of support by RAGDoll's judge",
    Content.LABELLED_ANSWERS,
    _recognises_judgments,
    read_judged_places,
    None,
    is_lossless=False,
    source="RAGDoll (castorini): support",
)
