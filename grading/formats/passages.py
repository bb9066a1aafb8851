"""Passages: JSON lines, TSV, and the requests that castorini's rerankers take, with candidates of a query."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample, recognise_among, record_lines, tsv_formats
from grading.formats.json_lines import decode, real
from grading.formats.reading import lines, write_lines
from grading.segmentation import segments

ID_KEYS = ("id", "docid", "doc_id")
TEXT_KEYS = ("text", "segment", "contents", "body")
"""Names of the text: ours and AutoJudge's, of MS MARCO segments, Anserini, and MS MARCO documents."""
_DETAILS = ("title", "url", "headings")
PLACES = ("start_char", "end_char")
"""Where a segment begins and ends in its document, in characters from 0, as MS MARCO V2.1 names them."""
LAST_PLACE = 2**31 - 1
_PASSAGE = (
    "{id, docid or doc_id, text, segment, contents or body, title?, url?, headings?, start_char?, end_char?}"
)
_REQUEST = '{"query": {"qid", "text"}, "candidates": [{"docid", "score", "doc": {"segment" or "contents"}}]}'
_TSV = "lines of passage id<TAB>text"
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_Json = Mapping[str, Any]
Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class PassageEntry:
    """A passage as a file has it; one of a request also has its query, and its place among the candidates."""

    doc_id: str
    text: str
    title: str = ""
    url: str = ""
    headings: str = ""
    start_char: int | None = None
    """The first character of a segment in its document, from 0; `end_char` is the one after its last."""
    end_char: int | None = None
    query_id: str | None = None
    query_text: str = ""
    rank: int | None = None
    """The rank from 1, in the order of the request."""
    score: float | None = None
    foreign: Mapping[str, object] | None = None
    """The JSON object exactly as read; None for TSV and for candidates without one."""
    line: int = field(default=0, compare=False)


def read_passages(path: Path) -> Iterator[PassageEntry]:
    """Yield the passages of a file in any of the formats, a line at a time.

    Raises `BadFormat` for a line without an id or text, fields of another type, and a query without an id.
    """
    yield from recognise_among(path, FORMATS).read(path)


def _read_jsonl(path: Path) -> Iterator[PassageEntry]:
    for line, raw in _objects(path, _PASSAGE, lines(path)):
        yield _placed(path, line, _of_object, raw, line)


def _read_requests(path: Path) -> Iterator[PassageEntry]:
    for line, raw in _objects(path, _REQUEST, record_lines(path)):
        yield from _placed(path, line, candidates_of, raw, line)


def _read_tsv(path: Path, *, has_header: bool = False) -> Iterator[PassageEntry]:
    numbered = lines(path)
    if has_header:
        next(text for _, text in numbered if text.strip())
    for line, text in numbered:
        columns = text.split("\t")
        if len(columns) != 2 or not all(column.strip() for column in columns):
            problem = f"{len(columns)} columns between tabs, expected {_TSV}"
            raise BadFormat(problem, file=path.name, line=line)
        yield PassageEntry(columns[0].strip(), columns[1], line=line)


def _objects(
    path: Path, shape: str, numbered: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in numbered:
        yield line, _placed(path, line, lambda text: decode(text, _OBJECT, shape=shape), text)


def _placed(path: Path, line: int, parse: Callable[..., Parsed], *values: object) -> Parsed:
    try:
        return parse(*values)
    except BadFormat as error:
        raise BadFormat(error.problem, file=path.name, line=line) from error


def _of_object(raw: _Json, line: int) -> PassageEntry:
    return PassageEntry(_id(raw), _text(raw), **_details(raw), **_places(raw), foreign=raw, line=line)


def candidates_of(raw: _Json, line: int = 0) -> list[PassageEntry]:
    """Return the candidates of one request, each with its query. Raises `BadFormat` without a place."""
    query = raw.get("query")
    stated: object = raw.get("qid")
    text: object = query
    if isinstance(query, dict):
        stated, text = query.get("qid", query.get("id", stated)), query.get("text", "")
    if isinstance(stated, bool) or not isinstance(stated, str | int) or not str(stated).strip():
        raise BadFormat(f"the query has no qid, expected {_REQUEST}")
    if not isinstance(text, str):
        raise BadFormat(f"the text of query {stated} is no text, expected {_REQUEST}")
    query_id, query_text = (str(stated).strip(), text.strip())
    listed = raw.get("candidates")
    if not isinstance(listed, list):
        raise BadFormat(f"candidates is missing or no list, expected {_REQUEST}")
    entries = []
    for rank, candidate in enumerate(listed, start=1):
        try:
            entries.append(_candidate(candidate, (query_id, query_text, rank), line))
        except BadFormat as error:
            raise BadFormat(f"candidate {rank} of query {query_id}: {error.problem}") from error
    return entries


def _candidate(raw: object, query: tuple[str, str, int], line: int) -> PassageEntry:
    """Return a candidate: an object, or a text, which is known by its md5."""
    query_id, query_text, rank = query
    place: dict[str, Any] = {"query_id": query_id, "query_text": query_text, "rank": rank, "line": line}
    if isinstance(raw, str):
        md5 = hashlib.md5(raw.encode(), usedforsecurity=False).hexdigest()
        return PassageEntry(md5, _text({"text": raw}), **place)
    if not isinstance(raw, dict):
        raise BadFormat(f"{type(raw).__name__}, expected an object or a text")
    doc = raw.get("doc", raw)
    doc = {"text": doc} if isinstance(doc, str) else doc
    if not isinstance(doc, dict):
        raise BadFormat(f"doc is {type(doc).__name__}, expected an object or a text")
    stated = raw.get("score")
    if isinstance(stated, bool) or not isinstance(stated, int | float | str | None):
        raise BadFormat(f"score is {type(stated).__name__}, expected a number")
    return PassageEntry(
        _id(raw),
        _text(doc),
        **_details(doc),
        **_places(doc),
        score=None if stated is None else real(stated, what="score"),
        foreign=raw,
        **place,
    )


def _id(raw: _Json) -> str:
    key = next((key for key in ID_KEYS if key in raw), "")
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise BadFormat(f"{key or ' or '.join(ID_KEYS)} is missing or no id, expected {_PASSAGE}")
    return str(value).strip()


def _text(raw: _Json) -> str:
    key = next((key for key in TEXT_KEYS if key in raw), "")
    value = raw.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadFormat(f"{key or ' or '.join(TEXT_KEYS)} is missing or empty, expected {_PASSAGE}")
    return value


def _details(raw: _Json) -> dict[str, Any]:
    """Return title, address and headings; headings may be a list."""
    details: dict[str, str] = {}
    for key in _DETAILS:
        value = raw.get(key)
        if (
            key == "headings"
            and isinstance(value, list)
            and all(isinstance(heading, str) for heading in value)
        ):
            value = "\n".join(value)
        if value is not None and not isinstance(value, str):
            raise BadFormat(f"{key} is {type(value).__name__}, expected text")
        details[key] = value or ""
    return details


def _places(raw: _Json) -> dict[str, Any]:
    """Return start and end of a segment, None where the object does not say."""
    places: dict[str, Any] = {}
    for key in PLACES:
        value = raw.get(key)
        is_place = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LAST_PLACE
        if value is not None and not is_place:
            raise BadFormat(f"{key} is {value!r}, expected a number of characters from 0 to {LAST_PLACE}")
        places[key] = value
    start, end = places["start_char"], places["end_char"]
    if start is not None and end is not None and end < start:
        raise BadFormat(f"end_char {end} lies before start_char {start}, expected the end behind the start")
    return places


def segmented(documents: Iterable[PassageEntry]) -> Iterator[PassageEntry]:
    """Cut documents into windows of sentences, each a passage with its place in the document's text."""
    for document in documents:
        offset = document.start_char or 0
        for segment in segments(document.doc_id, document.text):
            yield replace(
                document,
                doc_id=segment.doc_id,
                text=segment.text,
                start_char=offset + segment.start,
                end_char=offset + segment.end,
                foreign=None,
            )


def unread_fields(entry: PassageEntry) -> list[str]:
    """Return the fields of a passage's own object that an entry has no place for; none of candidates.

    >>> raw = {"docid": "d1", "segment": "a text", "start_char": 0, "language": "en"}
    >>> unread_fields(PassageEntry("d1", "a text", start_char=0, foreign=raw))
    ['language']
    """
    if entry.foreign is None or entry.query_id is not None:
        return []
    raw = entry.foreign
    text_key = next((key for key in TEXT_KEYS if key in raw), "")
    read = {next((key for key in ID_KEYS if key in raw), ""), text_key, *_DETAILS, *PLACES}
    return [key for key in raw if key not in read]


def counting_unread(entries: Iterable[PassageEntry], unread: Counter[str]) -> Iterator[PassageEntry]:
    """Yield the entries, and count by name the fields that `unread_fields` lists."""
    for entry in entries:
        unread.update(unread_fields(entry))
        yield entry


def write_passages(path: Path, passages: Iterable[PassageEntry]) -> None:
    """Write a JSON object a line, each as it was read with what has changed since."""
    write_lines(path, (msgspec.json.encode(_object(entry)) for entry in passages))


def passage_lines(passages: Iterable[PassageEntry]) -> Iterator[bytes]:
    """Yield the lines that `write_passages` writes, with their line ends."""
    return (msgspec.json.encode(_object(entry)) + b"\n" for entry in passages)


def _object(entry: PassageEntry) -> dict[str, object]:
    """Return the object of a passage: as it was read, with what has changed since."""
    raw: dict[str, Any] = dict(entry.foreign or {})
    if entry.foreign is None or entry.query_id is not None:
        raw = {"id": entry.doc_id, "text": entry.text}
    now = dict(zip(_DETAILS, (entry.title, entry.url, entry.headings), strict=True))
    before = _details(raw)
    changed: dict[str, object] = {key: value for key, value in now.items() if value != before[key]}
    places = dict(zip(PLACES, (entry.start_char, entry.end_char), strict=True))
    read = _places(raw)
    return raw | changed | {key: value for key, value in places.items() if value != read[key]}


def _write_requests(path: Path, passages: Iterable[PassageEntry]) -> None:
    by_query = groupby(passages, key=lambda entry: (entry.query_id, entry.query_text))
    write_lines(
        path,
        (
            msgspec.json.encode(
                {
                    "query": {"qid": query_id, "text": query_text},
                    "candidates": [_candidate_object(entry) for entry in entries],
                }
            )
            for (query_id, query_text), entries in by_query
        ),
    )


def _candidate_object(entry: PassageEntry) -> Mapping[str, object]:
    if entry.foreign is not None and entry.query_id is not None:
        return entry.foreign
    details = {key: value for key in _DETAILS if (value := getattr(entry, key))}
    details |= {key: value for key in PLACES if (value := getattr(entry, key)) is not None}
    return {"docid": entry.doc_id, "score": entry.score, "doc": {"contents": entry.text, **details}}


def _write_tsv(path: Path, passages: Iterable[PassageEntry], *, has_header: bool = False) -> None:
    header = [b"doc_id\ttext"] if has_header else []
    write_lines(path, chain(header, (_tsv_line(entry, path).encode() for entry in passages)))


def _tsv_line(entry: PassageEntry, path: Path) -> str:
    if any(mark in entry.doc_id + entry.text for mark in "\t\r\n"):
        problem = f"passage {entry.doc_id} holds a tab or a line break, expected one line of TSV"
        raise BadFormat(problem, file=path.name)
    return f"{entry.doc_id}\t{entry.text}"


def _has(raw: _Json, keys: tuple[str, ...]) -> bool:
    return any(key in raw for key in keys)


def _is_jsonl(sample: Sample) -> bool:
    """Return whether the lines are passages: one with a list of labels is a rating (see `ratings`)."""
    if isinstance(sample.first_object.get("label"), list):
        return False
    return _has(sample.first_object, ID_KEYS) and _has(sample.first_object, TEXT_KEYS)


def _is_requests(sample: Sample) -> bool:
    return "query" in sample.first_object and isinstance(sample.first_object.get("candidates"), list)


TSV, TSV_WITH_HEADER = tsv_formats(
    "passages-tsv", "Passages as TSV", Content.PASSAGES, (_read_tsv, _write_tsv), source="MS MARCO"
)
FORMATS = (
    Format(
        "passages-jsonl",
        "Passages as JSON lines",
        Content.PASSAGES,
        _is_jsonl,
        _read_jsonl,
        write_passages,
        is_lossless=True,
        source="MS MARCO v2.1, Anserini, AutoJudge",
    ),
    Format(
        "reranker-requests",
        "Reranker requests",
        Content.PASSAGES,
        _is_requests,
        _read_requests,
        _write_requests,
        is_lossless=False,
        source="castorini: RankLLM, ragnarok, nuggetizer, umbrela",
    ),
    TSV,
    TSV_WITH_HEADER,
)
