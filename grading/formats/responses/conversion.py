"""From a `Response` to the JSON of a dialect, with a list of what the dialect cannot say.

What a file said stays as it stood wherever it still says the same; the rest is overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from grading.errors import BadFormat
from grading.formats.ids import is_one_word
from grading.formats.json_lines import JsonDict
from grading.formats.responses.biogen import RESULT_KEYS, RUN_KEYS, join_answer, split_answer
from grading.formats.responses.citations import SentenceWriter, shape_of
from grading.formats.responses.dialects import (
    LAYOUTS,
    SENTENCE_KEYS,
    TOPIC_KEYS,
    Dialect,
    Layout,
    dialect_of,
    sentences_key,
)
from grading.types import Response

_ID_KEYS = frozenset({"team_id", "run_id", *TOPIC_KEYS})


def converted(response: Response, dialect: Dialect) -> tuple[JsonDict, list[str]]:
    """Return the JSON object of the response in a dialect, and what was dropped or made up, item by item.

    BioGen's is the document of its run with this result as the only one. Raises `BadFormat` for a run tag or
    a topic's id with white space.
    """
    for name, identity in (("run tag", response.run_tag), ("topic's id", response.query_id)):
        if not is_one_word(identity):
            raise BadFormat(f"the {name} {identity!r} is empty or holds white space, expected one word")
    conversion = _Conversion(response, dialect)
    content = conversion.document() if dialect is Dialect.BIOGEN24 else conversion.line(LAYOUTS[dialect])
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

    def __init__(self, response: Response, dialect: Dialect) -> None:
        self.response, self.dialect = response, dialect
        self.source = dialect_of(response.foreign)
        self.notes: list[str] = []

    @property
    def stays(self) -> bool:
        """Whether the response may be from a file of this dialect: RAGTIME's may cite nothing, too."""
        if self.dialect is Dialect.RAGTIME and self.source in (Dialect.AUTOJUDGE, Dialect.DRAGUN):
            entries = self.response.foreign[sentences_key(self.response.foreign)]
            return isinstance(entries, list) and not any(map(_cites, entries))
        return self.source is self.dialect

    def line(self, layout: Layout) -> JsonDict:
        """The JSON object of any dialect but BioGen's."""
        parts = self._parts()
        if self.stays:
            content = dict(self.response.foreign)
        elif layout.has_metadata:
            content = self._nested(parts, layout)
        else:
            content = self._flat(parts)
        self._set_ids(content, layout)
        self._set_sentences(content, parts.entries, layout)
        if layout.has_metadata or self.stays:
            self._set_documents(content)
        return content

    def document(self) -> JsonDict:
        """BioGen's document with this result as the only one."""
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
        self._set_answer(result)
        return {**content, "results": [result]}

    def _parts(self) -> _Parts:
        foreign = self.response.foreign
        entries = foreign.get(sentences_key(foreign))
        listed = entries if isinstance(entries, list) else []
        metadata = foreign.get("metadata")
        if isinstance(metadata, Mapping):
            return _Parts(dict(metadata), {key: foreign[key] for key in foreign if key != "metadata"}, listed)
        if self.source is Dialect.BIOGEN24:
            return self._parts_of_document(foreign)
        ids = {key: foreign[key] for key in _present(foreign, ("run_id", *TOPIC_KEYS))}
        if "topic" in foreign:
            ids["narrative"] = foreign["topic"]
        if "response_length" in foreign and not self.stays:
            self.notes.append("response_length is dropped")
        known = {*ids, "topic", "response_length"}
        return _Parts(ids, {key: foreign[key] for key in foreign if key not in known}, listed)

    def _parts_of_document(self, foreign: Mapping[str, Any]) -> _Parts:
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

    def _nested(self, parts: _Parts, layout: Layout) -> JsonDict:
        metadata = _renamed(parts.metadata, TOPIC_KEYS, layout.topic_key)
        if layout.only_metadata:
            self.notes += [f"metadata.{key} is dropped" for key in _others(metadata, layout.only_metadata)]
            metadata = {key: metadata[key] for key in metadata if key in layout.only_metadata}
        self.notes += [f"metadata.{key} is not known" for key in layout.wanted if metadata.get(key) is None]
        return {"metadata": metadata, **_with_one_list(parts.others, layout.sentences_key)}

    def _flat(self, parts: _Parts) -> JsonDict:
        self._note_dropped(parts, kept=frozenset({"narrative"}))
        content = {key: parts.metadata[key] for key in ("run_id",) if key in parts.metadata}
        topic_keys = _present(parts.metadata, TOPIC_KEYS)
        content["topic_id"] = parts.metadata[topic_keys[0]] if topic_keys else self.response.query_id
        if parts.metadata.get("narrative") is None:
            self.notes.append("topic is not known")
        else:
            content["topic"] = parts.metadata["narrative"]
        words = sum(len(sentence.text.split()) for sentence in self.response.sentences)
        return content | {"references": [], "response_length": words}

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

    def _set_sentences(self, content: JsonDict, entries: list[Any], layout: Layout) -> None:
        own = next(filter(None, (shape_of(entry.get("citations")) for entry in entries)), None)
        shape = own if self.stays and own else layout.shapes[0]
        writer = SentenceWriter(self.response, shape, self.notes, keeps_citations=self.stays)
        written = writer.entries(entries)
        keys = [key for key in ("responses", "answer") if isinstance(content.get(key), list)]
        for key in keys or [layout.sentences_key]:
            if content.get(key) != written:
                content[key] = written
        _set_references(content, writer.references if writer.has_references else None)

    def _set_documents(self, content: JsonDict) -> None:
        given = content.get("documents") or {}
        if {doc_id: document["text"] for doc_id, document in given.items()} == dict(self.response.documents):
            return
        content["documents"] = {
            doc_id: {"id": doc_id, **given.get(doc_id, {}), "text": text}
            for doc_id, text in self.response.documents.items()
        }

    def _set_answer(self, result: JsonDict) -> None:
        sentences = self.response.sentences
        if "answer" not in result or split_answer(result["answer"]) != sentences:
            result["answer"] = join_answer(sentences)
            self._note_inline()
        references = self.response.references
        if references is None and not self.stays:
            cited = (citation.doc_id for sentence in sentences for citation in sentence.citations or ())
            references = tuple(dict.fromkeys(cited))
        _set_references(result, references)

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


def _cites(entry: Mapping[str, object]) -> bool:
    return bool(entry.get("citations"))


def _set_id(ids: JsonDict, key: str, value: str) -> None:
    """An id that the file wrote as a number stays one."""
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
    """The same in the same order, the first of `names` that has a value under its new name."""
    used = [name for name in names if content.get(name) is not None]
    if not used or new in used:
        return dict(content)
    return {new if key == used[0] else key: value for key, value in content.items() if key != new}


def _with_one_list(content: Mapping[str, Any], key: str) -> JsonDict:
    """The same in the same order, the sentences under this key alone."""
    own = sentences_key(content)
    kept = {name: value for name, value in content.items() if name == own or name not in SENTENCE_KEYS}
    return {key if name == own else name: value for name, value in kept.items()}


def _present(content: Mapping[str, object], keys: tuple[str, ...]) -> list[str]:
    return [key for key in keys if key in content]


def _others(content: Mapping[str, object], known: frozenset[str] | set[str]) -> list[str]:
    return [key for key in content if key not in known]
