"""Dialects of responses, citations in their three shapes, and the sentences that carry them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from grading.errors import BadFormat
from grading.formats.json_lines import JsonDict, in_words, real
from grading.types import Citation, Response, Sentence

_LABELS = {
    "rag24": "TREC RAG 2024 answers",
    "rag25": "TREC RAG 2025 and 2026 answers",
    "ragtime": "RAGTIME reports",
    "dragun": "DRAGUN reports",
    "autojudge": "AutoJudge reports",
    "biogen24": "BioGen 2024 answers",
}
SENTENCE_KEYS = ("answer", "responses")
TOPIC_KEYS = ("topic_id", "narrative_id", "request_id")
"""Names of the topic's id; a file may have several, which then agree."""
_POSITION = re.compile(r"[0-9]{1,4}")
Refuse = Callable[[str, str, int | None], None]
"""Takes the category of the problem, its text and the number of the sentence."""


class ResponseDialect(StrEnum):
    """A way of writing responses, by the name of the track that brought it up."""

    RAG24 = "rag24"
    RAG25 = "rag25"
    """TREC RAG 2025 and 2026."""
    RAGTIME = "ragtime"
    DRAGUN = "dragun"
    """Task 2, reports."""
    AUTOJUDGE = "autojudge"
    """AutoJudge reports that cite document ids, as NeuCLIR's did."""
    BIOGEN24 = "biogen24"
    """One JSON document a run, citations in the text."""

    @property
    def label(self) -> str:
        return _LABELS[self]


class Shape(StrEnum):
    """How a sentence's citations are written."""

    POSITIONS = "positions"
    """`[0, 2]`: into the references, from 0."""
    IDS = "ids"
    """`["d1", "d2"]`, best first."""
    SCORES = "scores"
    """`{"d1": 0.9}`, higher is better."""
    INLINE = "inline"
    """`[123, 456]` in the text, before the sentence's full stop."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The keys of a dialect of one JSON object a line."""

    sentences_key: str
    topic_key: str
    shapes: tuple[Shape, ...]
    """Shapes that the track takes; the first is written."""
    has_metadata: bool = True
    """Whether the ids stand in an object of their own, `metadata`."""
    only_metadata: frozenset[str] = frozenset()
    """The keys of `metadata` that are allowed; empty where others are, too."""
    expected: tuple[str, ...] = ()
    """Keys beside the ids that the track asks for."""


LAYOUTS = {
    ResponseDialect.RAG24: Layout(
        "answer", "topic_id", (Shape.POSITIONS,), has_metadata=False, expected=("topic",)
    ),
    ResponseDialect.RAG25: Layout(
        "answer", "narrative_id", (Shape.POSITIONS, Shape.IDS), expected=("narrative",)
    ),
    ResponseDialect.RAGTIME: Layout("responses", "topic_id", (Shape.SCORES, Shape.IDS)),
    ResponseDialect.DRAGUN: Layout(
        "responses",
        "topic_id",
        (Shape.IDS,),
        only_metadata=frozenset({"team_id", "run_id", "topic_id", "type", "use_starter_kit"}),
        expected=("type", "use_starter_kit"),
    ),
    ResponseDialect.AUTOJUDGE: Layout("responses", "topic_id", (Shape.IDS, Shape.SCORES, Shape.POSITIONS)),
}
"""Layouts of all dialects but BioGen's."""


def dialect_of(content: Mapping[str, object]) -> ResponseDialect | None:
    """Return the dialect of a line's JSON object, or of BioGen's document; None where it is no response."""
    metadata = content.get("metadata")
    key = sentences_key(content)
    if not isinstance(metadata, Mapping):
        if isinstance(content.get("results"), list):
            return ResponseDialect.BIOGEN24
        return ResponseDialect.RAG24 if key == "answer" and "run_id" in content else None
    if key != "responses":
        return ResponseDialect.RAG25 if key else None
    entries = content["responses"]
    if isinstance(entries, list) and any(
        isinstance(entry, Mapping) and isinstance(entry.get("citations"), Mapping) for entry in entries
    ):
        return ResponseDialect.RAGTIME
    return ResponseDialect.DRAGUN if "use_starter_kit" in metadata else ResponseDialect.AUTOJUDGE


def sentences_key(content: Mapping[str, object]) -> str:
    """Return the key of a response's sentences, "responses" where there are both, or nothing."""
    keys = [key for key in ("responses", "answer") if key in content]
    return next((key for key in keys if isinstance(content[key], list)), keys[0] if keys else "")


_NAMES = {
    Shape.POSITIONS: "positions in references",
    Shape.IDS: "document ids",
    Shape.SCORES: "scores by document id",
}


def shape_of(citations: object) -> Shape | None:
    """Return the shape of a sentence's citations; None where it cites nothing or they have none.

    >>> [shape_of(citations) for citations in ([0, 2], ["d1"], {"d1": 0.9}, [], [True])]
    [<Shape.POSITIONS: 'positions'>, <Shape.IDS: 'ids'>, <Shape.SCORES: 'scores'>, None, None]
    """
    if isinstance(citations, Mapping):
        return Shape.SCORES if citations else None
    if not isinstance(citations, list) or not citations:
        return None
    if all(type(entry) is int for entry in citations):
        return Shape.POSITIONS
    return Shape.IDS if all(isinstance(entry, str) for entry in citations) else None


def positions_in_text(citations: object, references: Sequence[str]) -> list[int]:
    """Return the positions that a list of texts has, some of which might as well be meant as document ids.

    >>> positions_in_text(["1", "0"], ["d7", "d8"]), positions_in_text(["0"], ["0", "1"])
    ([1, 0], [])
    """
    entries = citations if isinstance(citations, list) else []
    return [
        int(entry)
        for entry in entries
        if isinstance(entry, str) and _POSITION.fullmatch(entry) and entry not in references
        if int(entry) < len(references)
    ]


class CitationReader:
    """Reads the citations of one response, sentence by sentence, all of which have one shape."""

    def __init__(self, refuse: Refuse, references: Sequence[str]) -> None:
        self._refuse, self._references = refuse, references
        self._first: tuple[Shape, str] | None = None

    def read(self, citations: object, *, place: str, sentence: int) -> tuple[Citation, ...] | None:
        """Return the citations that can be read; None where the file does not say.

        What cannot be read, a shape other than the first sentence's included, is refused with the sentence.
        """
        if citations is None:
            return None
        shape = shape_of(citations)
        if shape is None and citations not in ([], {}):
            self._refuse_shapeless(citations, place, sentence)
            return ()
        if shape is None:
            return ()
        first, first_place = self._first = self._first or (shape, place)
        if shape is not first:
            problem = (
                f"{place}.citations (sentence {sentence}) are {_NAMES[shape]}, "
                f"expected {_NAMES[first]} as in {first_place}"
            )
            self._refuse("citation_format", problem, sentence)
            return ()
        if isinstance(citations, Mapping):
            scored = (
                (doc_id, self._score(doc_id, given, place, sentence)) for doc_id, given in citations.items()
            )
            return tuple(Citation(doc_id, score) for doc_id, score in scored if score is not None)
        entries = citations if isinstance(citations, list) else []
        if shape is Shape.IDS:
            return tuple(Citation(doc_id) for doc_id in self._doc_ids(entries, place, sentence))
        in_range = [entry for entry in entries if self._is_in_range(entry, place, sentence)]
        return tuple(Citation(self._references[position]) for position in in_range)

    def _doc_ids(self, entries: list[str], place: str, sentence: int) -> list[str]:
        """Return the documents that texts name: positions in the references where all of them are such."""
        positions = positions_in_text(entries, self._references)
        if len(positions) == len(entries):
            return [self._references[position] for position in positions]
        if not positions:
            return entries
        problem = (
            f"{place}.citations (sentence {sentence}) hold {str(positions[0])!r}, which is in no reference, "
            f"beside others, expected positions from 0 to {len(self._references) - 1}, or document ids"
        )
        self._refuse("reference_index", problem, sentence)
        return []

    def _score(self, doc_id: str, given: object, place: str, sentence: int) -> float | None:
        if isinstance(given, float):
            return given
        what = f"{place}.citations[{doc_id!r}] (sentence {sentence})"
        if not isinstance(given, int) or isinstance(given, bool):
            self._refuse("citation_score", f"{what} is {in_words(given)}, expected a number", sentence)
            return None
        try:
            return real(given, what=what)
        except BadFormat as error:
            self._refuse("citation_score", error.problem, sentence)
            return None

    def _is_in_range(self, position: int, place: str, sentence: int) -> bool:
        count = len(self._references)
        if 0 <= position < count:
            return True
        expected = f"0 to {count - 1}, a position in references" if count else "none, as references are empty"
        self._refuse(
            "reference_index",
            f"{place}.citations (sentence {sentence}) hold {position}, expected {expected}",
            sentence,
        )
        return False

    def _refuse_shapeless(self, citations: object, place: str, sentence: int) -> None:
        expected = "expected positions in references, document ids, or an object of document id: score"
        given = in_words(citations)
        if isinstance(citations, list):
            given = " and ".join(dict.fromkeys(in_words(entry) for entry in citations)) + " in one list"
        self._refuse(
            "citation_format", f"{place}.citations (sentence {sentence}) are {given}, {expected}", sentence
        )


def decode(citations: object, references: Sequence[str]) -> tuple[Citation, ...] | None:
    """Return the citations of a sentence that was read before.

    Raises `BadFormat` where they cannot be read.
    """

    def refuse(category: str, text: str, sentence: int | None) -> None:
        raise BadFormat(text)

    return CitationReader(refuse, references).read(citations, place="sentence", sentence=1)


class SentenceWriter:
    """Writes sentences; `references` grows by what they cite at positions.

    `notes` gathers what the shape drops or makes up. With `keeps_citations`, citations that the file wrote in
    this shape and that have not changed stay as they are, empty ones included.
    """

    def __init__(self, response: Response, shape: Shape, notes: list[str], *, keeps_citations: bool) -> None:
        self._response, self._shape, self._notes = response, shape, notes
        self._keeps_citations = keeps_citations
        self.references = list(response.references or ())

    @property
    def has_references(self) -> bool:
        return self._response.references is not None or bool(self.references)

    def entries(self, given: Sequence[Any]) -> list[JsonDict]:
        """Return the JSON of all sentences, each from what the file said of it beside text and citations."""
        sentences = self._response.sentences
        return [
            self._entry(number, sentence, entry)
            for number, (sentence, entry) in enumerate(
                zip(sentences, _aligned(sentences, given), strict=True), 1
            )
        ]

    def _entry(self, number: int, sentence: Sentence, given: JsonDict) -> JsonDict:
        entry = dict(given)
        if entry.get("text") != sentence.text:
            entry["text"] = sentence.text
        if sentence.citations is None:
            if entry.get("citations") is not None:
                del entry["citations"]
        elif not self._keeps(entry.get("citations"), sentence.citations):
            entry["citations"] = self._encoded(number, sentence.citations)
        return entry

    def _keeps(self, given: object, citations: tuple[Citation, ...]) -> bool:
        if not self._keeps_citations or given is None or shape_of(given) not in (None, self._shape):
            return False
        try:
            return decode(given, self.references) == citations
        except BadFormat:  # positions that the references no longer have
            return False

    def _encoded(self, number: int, citations: tuple[Citation, ...]) -> object:
        has_scores = all(citation.score is not None for citation in citations)
        if self._shape is Shape.SCORES:
            scores: dict[str, float] = {}
            for citation in citations:
                doc_id = citation.doc_id
                if doc_id in scores:
                    self._notes.append(f"sentence {number}: {doc_id} is cited once instead of several times")
                elif has_scores and citation.score is not None:
                    scores[doc_id] = citation.score
                else:
                    scores[doc_id] = 1 / (len(scores) + 1)
                    score = f"{scores[doc_id]:g}"
                    self._notes.append(
                        f"sentence {number}: the score {score} of {doc_id} is made up from its rank"
                    )
            return scores
        best_first = (
            sorted(citations, key=lambda citation: -(citation.score or 0)) if has_scores else citations
        )
        self._notes += [
            f"sentence {number}: the score {citation.score:g} of {citation.doc_id} is dropped"
            for citation in citations
            if citation.score is not None
        ]
        doc_ids = [citation.doc_id for citation in best_first]
        return doc_ids if self._shape is Shape.IDS else [self._position(number, doc_id) for doc_id in doc_ids]

    def _position(self, number: int, doc_id: str) -> int:
        if doc_id not in self.references:
            self.references.append(doc_id)
            if self._response.references is not None:
                self._notes.append(f"references: {doc_id} is added, since sentence {number} cites it")
        return self.references.index(doc_id)


def _aligned(sentences: Sequence[Sentence], given: Sequence[JsonDict]) -> list[JsonDict]:
    """Return the file's sentences beside these: by position where their number is equal, else by text."""
    if len(sentences) == len(given):
        return list(given)
    by_text = {entry["text"]: entry for entry in reversed(given)}
    return [by_text.get(sentence.text, {}) for sentence in sentences]
