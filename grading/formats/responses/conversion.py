"""Files of responses: recognition, reading and writing of each dialect, and what a dialect cannot express.

A value that still means the same keeps the form that it had in the file; other values are overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import JsonDict, encode_json, json_object
from grading.formats.reading import lines, read_text_file, write_lines
from grading.formats.responses.citations import (
    LAYOUTS,
    SENTENCE_KEYS,
    TOPIC_KEYS,
    Layout,
    ResponseDialect,
    SentenceWriter,
    dialect_of,
    sentences_key,
    shape_of,
)
from grading.formats.responses.inspection import (
    RESULT_KEYS,
    RUN_KEYS,
    SHAPE,
    InspectedLine,
    Problem,
    inspect,
    inspect_document,
    join_answer,
    split_answer,
    write_document,
)
from grading.types import Response, is_one_word

_ID_KEYS = frozenset({"team_id", "run_id", *TOPIC_KEYS})


_SOURCES = {
    ResponseDialect.RAG24: "TREC RAG 2024, ragnarok",
    ResponseDialect.RAG25: "TREC RAG 2025 and 2026, autojudge-base 1.0.0",
    ResponseDialect.RAGTIME: "TREC RAGTIME 2025 and 2026, task 1",
    ResponseDialect.DRAGUN: "TREC DRAGUN 2025, task 2",
    ResponseDialect.AUTOJUDGE: "TREC AutoJudge, autojudge-base 1.0.0",
    ResponseDialect.BIOGEN24: "TREC BioGen 2024",
}


def converted(
    response: Response, dialect: ResponseDialect, topic_text: str = ""
) -> tuple[JsonDict, list[str]]:
    """Return the JSON object of the response in a dialect, and what was dropped or made up, item by item.

    BioGen's is the document of its run with this result as the only one. `topic_text` is for TREC RAG, which
    asks for it. Raises `BadFormat` for a run tag or a topic's id with white space.
    """
    for name, identity in (("run tag", response.run_tag), ("topic's id", response.query_id)):
        if not is_one_word(identity):
            raise BadFormat(f"the {name} {identity!r} is empty or holds white space, expected one word")
    conversion = _Conversion(response, dialect, topic_text)
    content = (
        conversion.document() if dialect is ResponseDialect.BIOGEN24 else conversion.line(LAYOUTS[dialect])
    )
    return content, conversion.notes


class _Parts(NamedTuple):
    """What a file said of a response beside what we model, whatever dialect it was in."""

    metadata: JsonDict
    """Ids included, as they were written."""
    others: JsonDict
    """The other keys of the line."""
    entries: list[Any]
    """The sentences as they were written; empty where there is no list of them."""


class _Conversion:
    """One response on its way into a dialect; `notes` gathers the losses."""

    def __init__(self, response: Response, dialect: ResponseDialect, topic_text: str = "") -> None:
        self.response, self.dialect, self.topic_text = response, dialect, topic_text
        self.source = dialect_of(response.foreign)
        self.notes: list[str] = []

    @property
    def stays(self) -> bool:
        """Return whether the response may be from a file of this dialect: RAGTIME's may cite nothing, too."""
        if self.dialect is ResponseDialect.RAGTIME and self.source in (
            ResponseDialect.AUTOJUDGE,
            ResponseDialect.DRAGUN,
        ):
            entries = self.response.foreign[sentences_key(self.response.foreign)]
            return isinstance(entries, list) and not any(entry.get("citations") for entry in entries)
        return self.source is self.dialect

    def line(self, layout: Layout) -> JsonDict:
        """Return the JSON object of any dialect but BioGen's."""
        parts = self._parts()
        if {"topic", "narrative"} & {*layout.expected} and parts.metadata.get("narrative") is None:
            parts.metadata.update({"narrative": self.topic_text} if self.topic_text else {})
        if self.stays:
            content = dict(self.response.foreign)
        elif layout.has_metadata:
            metadata = _renamed(parts.metadata, TOPIC_KEYS, layout.topic_key)
            if layout.only_metadata:
                self.notes += [
                    f"metadata.{key} is dropped" for key in _others(metadata, layout.only_metadata)
                ]
                metadata = {key: metadata[key] for key in metadata if key in layout.only_metadata}
            self.notes += [
                f"metadata.{key} is not known" for key in layout.expected if metadata.get(key) is None
            ]
            content = {"metadata": metadata, **_with_one_list(parts.others, layout.sentences_key)}
        else:
            content = self._flat(parts)
        self._set_ids(content, layout)
        own = next(filter(None, (shape_of(entry.get("citations")) for entry in parts.entries)), None)
        shape = own if self.stays and own else layout.shapes[0]
        writer = SentenceWriter(self.response, shape, self.notes, keeps_citations=self.stays)
        written = writer.entries(parts.entries)
        keys = [key for key in ("responses", "answer") if isinstance(content.get(key), list)]
        for key in keys or [layout.sentences_key]:
            if content.get(key) != written:
                content[key] = written
        _set_references(content, writer.references if writer.has_references else None)
        if layout.has_metadata or self.stays:
            self._set_documents(content)
        return content

    def document(self) -> JsonDict:
        """Return BioGen's document with this result as the only one."""
        if self.stays:
            content: JsonDict = dict(self.response.foreign)
            result = dict(content["results"][0])
        else:
            parts = self._parts()
            self._note_dropped(parts, kept=frozenset())
            self.notes.append("contact_email is not known")
            content, result = {"team_id": self.response.team, "run_name": ""}, {"topic_id": ""}
        _set_id(content, "run_name", self.response.run_tag)
        if self.response.team or content.get("team_id") is not None:
            _set_id(content, "team_id", self.response.team)
        for key in _present(result, TOPIC_KEYS) or ["topic_id"]:
            _set_id(result, key, self.response.query_id)
        sentences = self.response.sentences
        if "answer" not in result or split_answer(result["answer"]) != sentences:
            result["answer"] = join_answer(sentences)
            self._note_inline()
        references = self.response.references
        if references is None and not self.stays:
            cited = (citation.doc_id for sentence in sentences for citation in sentence.citations or ())
            references = tuple(dict.fromkeys(cited))
        _set_references(result, references)
        return {**content, "results": [result]}

    def _parts(self) -> _Parts:
        foreign: Mapping[str, Any] = self.response.foreign
        entries = foreign.get(sentences_key(foreign))
        listed = entries if isinstance(entries, list) else []
        metadata = foreign.get("metadata")
        if isinstance(metadata, Mapping):
            return _Parts(dict(metadata), {key: foreign[key] for key in foreign if key != "metadata"}, listed)
        if self.source is ResponseDialect.BIOGEN24:
            result = foreign["results"][0]
            if not self.stays:
                dropped = [*_others(foreign, RUN_KEYS), *_others(result, RESULT_KEYS | set(TOPIC_KEYS))]
                self.notes += [f"{key} is dropped" for key in dropped]
            ids = {key: result[key] for key in _present(result, TOPIC_KEYS)}
            if foreign.get("team_id") is not None:
                ids["team_id"] = foreign["team_id"]
            return _Parts(
                ids | {"run_id": foreign["run_name"]},
                {key: result[key] for key in _present(result, ("references",))},
                [],
            )
        ids = {key: foreign[key] for key in _present(foreign, ("run_id", *TOPIC_KEYS))}
        if "topic" in foreign:
            ids["narrative"] = foreign["topic"]
        if "response_length" in foreign and not self.stays:
            self.notes.append("response_length is dropped")
        handled = {*ids, "topic", "response_length"}
        return _Parts(ids, {key: foreign[key] for key in foreign if key not in handled}, listed)

    def _flat(self, parts: _Parts) -> JsonDict:
        self._note_dropped(parts, kept=frozenset({"narrative"}))
        content = {key: parts.metadata[key] for key in ("run_id",) if key in parts.metadata}
        topic_keys = _present(parts.metadata, TOPIC_KEYS)
        content["topic_id"] = parts.metadata[topic_keys[0]] if topic_keys else self.response.query_id
        if parts.metadata.get("narrative") is None:
            self.notes.append("topic is not known")
        else:
            content["topic"] = parts.metadata["narrative"]
        length = sum(len(sentence.text.split()) for sentence in self.response.sentences)
        return content | {"references": [], "response_length": length}

    def _note_dropped(self, parts: _Parts, *, kept: frozenset[str]) -> None:
        """Note what neither TREC RAG 2024 nor BioGen has a place for."""
        self.notes += [f"metadata.{key} is dropped" for key in _others(parts.metadata, _ID_KEYS | kept)]
        modelled = {"answer", "responses", "references", "documents"}
        self.notes += [f"{key} is dropped" for key in _others(parts.others, modelled)]
        self.notes += [f"the text of {doc_id} is dropped" for doc_id in self.response.documents]

    def _set_ids(self, content: JsonDict, layout: Layout) -> None:
        if not layout.has_metadata:
            ids = content
            self.notes += ["team_id is dropped"] * bool(self.response.team)
        else:
            ids = content["metadata"] = dict(content["metadata"])
            if self.response.team or ids.get("team_id") is not None:
                _set_id(ids, "team_id", self.response.team)
        _set_id(ids, "run_id", self.response.run_tag)
        keys = [key for key in _present(ids, TOPIC_KEYS) if ids[key] is not None]
        for key in keys or [layout.topic_key]:
            _set_id(ids, key, self.response.query_id)

    def _set_documents(self, content: JsonDict) -> None:
        given = content.get("documents") or {}
        if {doc_id: document["text"] for doc_id, document in given.items()} == dict(self.response.documents):
            return
        content["documents"] = {
            doc_id: {"id": doc_id, **given.get(doc_id, {}), "text": text}
            for doc_id, text in self.response.documents.items()
        }

    def _note_inline(self) -> None:
        for number, sentence in enumerate(self.response.sentences, start=1):
            if sentence.citations is None:
                self.notes.append(f"sentence {number}: no citations, though they are not known")
            for citation in sentence.citations or ():
                if citation.score is not None:
                    self.notes.append(
                        f"sentence {number}: the score {citation.score:g} of {citation.doc_id} is dropped"
                    )
                if not (citation.doc_id.isascii() and citation.doc_id.isdigit()):
                    self.notes.append(
                        f"sentence {number}: {citation.doc_id} is no PMID and stays in the text"
                    )
        again = split_answer(join_answer(self.response.sentences))
        if len(again) != len(self.response.sentences):
            count = len(self.response.sentences)
            self.notes.append(f"{count} sentences are read as {len(again)}")


def _set_id(ids: JsonDict, key: str, value: str) -> None:
    """Set an id; one that the file wrote as a number stays a number."""
    if key not in ids or str(ids[key]) != value:
        ids[key] = value


def _set_references(content: JsonDict, references: tuple[str, ...] | list[str] | None) -> None:
    given = content.get("references")
    if references is None:
        if given is not None:
            del content["references"]
    elif given != list(references):
        content["references"] = list(references)


def _renamed(content: Mapping[str, Any], names: tuple[str, ...], new: str) -> JsonDict:
    """Return the same in the same order, the first of `names` that has a value under its new name."""
    used = [name for name in names if content.get(name) is not None]
    if not used or new in used:
        return dict(content)
    return {new if key == used[0] else key: value for key, value in content.items() if key != new}


def _with_one_list(content: Mapping[str, Any], key: str) -> JsonDict:
    """Return the same in the same order, the sentences under this key alone."""
    own = sentences_key(content)
    kept = {name: value for name, value in content.items() if name == own or name not in SENTENCE_KEYS}
    return {key if name == own else name: value for name, value in kept.items()}


def _present(content: Mapping[str, object], keys: tuple[str, ...]) -> list[str]:
    return [key for key in keys if key in content]


def _others(content: Mapping[str, object], handled: frozenset[str] | set[str]) -> list[str]:
    return [key for key in content if key not in handled]


def read_responses(path: Path) -> Iterator[Response]:
    """Yield the responses of a run in the file's order: one JSON object a line, or BioGen's document.

    Raises `BadFormat` for a response without run, topic or sentences, for sentences that cite in different
    shapes, for positions outside the references, and as `json_value` and `lines` do.
    """
    for inspected in inspect_responses(path):
        if inspected.problems or inspected.response is None:
            raise BadFormat(inspected.problems[0].text, file=path.name, line=inspected.line)
        yield inspected.response


def inspect_responses(path: Path) -> Iterator[InspectedLine]:
    """Yield what each line holds, with everything that is wrong in it.

    Raises `BadFormat` where the file itself cannot be read on, as `lines` does.
    """
    if _is_document(path):
        whole = _object_of("\n".join(text for _, text in read_text_file(path, shape=SHAPE).lines))
        if whole is not None and dialect_of(whole) not in (None, ResponseDialect.BIOGEN24):
            problem = "a response that is written on several lines, expected one response a line"
            yield InspectedLine(1, None, (Problem("malformed", problem),))
            return
        yield from inspect_document(path)
        return
    for number, text in lines(path):
        try:
            content = json_object(text, shape=SHAPE)
        except BadFormat as error:
            yield InspectedLine(number, None, (Problem("malformed", error.problem),))
        else:
            yield inspect(content, number)


def _is_document(path: Path) -> bool:
    """Return whether the file is one JSON document: its first line is BioGen's, or the start of one."""
    first, *others = islice((text for _, text in lines(path) if text.strip()), 2)
    content = _object_of(first)
    if content is not None:
        return dialect_of(content) is ResponseDialect.BIOGEN24
    is_beginning = first.lstrip().startswith("{") and first.rstrip().endswith(("{", "[", ",", ":"))
    return is_beginning and not any(dialect_of(_object_of(text) or {}) for text in others)


def _object_of(text: str) -> JsonDict | None:
    try:
        return json_object(text, shape=SHAPE)
    except BadFormat:
        return None


def write_responses(
    path: Path,
    responses: Iterable[Response],
    dialect: ResponseDialect,
    topic_texts: Mapping[str, str] | None = None,
) -> None:
    """Write one JSON object a line, or BioGen's document; gzip where the name ends in `.gz`.

    A response that was read from a file of this dialect is written as it was read, but for fields that have
    changed since; `topic_texts` are by query id. Raises `BadFormat` for ids that the reader refuses, and for
    responses of several runs as BioGen's document.
    """
    contents = (converted(row, dialect, (topic_texts or {}).get(row.query_id, ""))[0] for row in responses)
    if dialect is ResponseDialect.BIOGEN24:
        write_document(path, contents)
    else:
        write_lines(path, (encode_json(content) for content in contents))


def losses(response: Response, dialect: ResponseDialect, topic_text: str = "") -> list[str]:
    """List what `write_responses` drops or makes up, item by item; empty in the response's own dialect.

    >>> from grading.types import Citation, Sentence
    >>> sentence = Sentence("Tides follow the moon.", (Citation("d1"),))
    >>> losses(Response("r1", "t1", (sentence,)), ResponseDialect.RAGTIME)
    ['sentence 1: the score 1 of d1 is made up from its rank']
    """
    return converted(response, dialect, topic_text)[1]


def dialect_of_lines(contents: Iterable[Mapping[str, object]]) -> ResponseDialect | None:
    """Return the dialect of the objects of one file; None where none of them is a response.

    A response that cites nothing does not tell RAGTIME from AutoJudge; another one of the file does.
    """
    dialects = list(filter(None, map(dialect_of, contents)))
    telling = [
        dialect for dialect in (ResponseDialect.RAGTIME, ResponseDialect.DRAGUN) if dialect in dialects
    ]
    return next(iter([*telling, *dialects]), None)


def _recognises(dialect: ResponseDialect) -> Callable[[Sample], bool]:
    return lambda sample: dialect_of_lines(sample.objects) is dialect


FORMATS = tuple(
    Format(
        f"{dialect}-responses",
        dialect.label,
        Content.RESPONSES,
        _recognises(dialect),
        read_responses,
        partial(write_responses, dialect=dialect),
        is_lossless=True,
        source=_SOURCES[dialect],
    )
    for dialect in ResponseDialect
)
