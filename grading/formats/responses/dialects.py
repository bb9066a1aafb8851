"""What the dialects of responses have in common and in what they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Dialect(StrEnum):
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


_LABELS = {
    "rag24": "TREC RAG 2024 answers",
    "rag25": "TREC RAG 2025 and 2026 answers",
    "ragtime": "RAGTIME reports",
    "dragun": "DRAGUN reports",
    "autojudge": "AutoJudge reports",
    "biogen24": "BioGen 2024 answers",
}


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
    """Where a dialect of one JSON object a line has what."""

    sentences_key: str
    topic_key: str
    shapes: tuple[Shape, ...]
    """Those that the track takes; the first is written."""
    has_metadata: bool = True
    """Whether the ids stand in an object of their own, `metadata`."""
    only_metadata: frozenset[str] = frozenset()
    """The keys of `metadata` that are allowed; empty where others are, too."""
    wanted: tuple[str, ...] = ()
    """Keys beside the ids that the track asks for."""


LAYOUTS = {
    Dialect.RAG24: Layout("answer", "topic_id", (Shape.POSITIONS,), has_metadata=False, wanted=("topic",)),
    Dialect.RAG25: Layout("answer", "narrative_id", (Shape.POSITIONS, Shape.IDS), wanted=("narrative",)),
    Dialect.RAGTIME: Layout("responses", "topic_id", (Shape.SCORES, Shape.IDS)),
    Dialect.DRAGUN: Layout(
        "responses",
        "topic_id",
        (Shape.IDS,),
        only_metadata=frozenset({"team_id", "run_id", "topic_id", "type", "use_starter_kit"}),
        wanted=("type", "use_starter_kit"),
    ),
    Dialect.AUTOJUDGE: Layout("responses", "topic_id", (Shape.IDS, Shape.SCORES, Shape.POSITIONS)),
}
"""Of all dialects but BioGen's."""

SENTENCE_KEYS = ("answer", "responses")
TOPIC_KEYS = ("topic_id", "narrative_id", "request_id")
"""Names of the topic's id; a file may have several, which then agree."""


def dialect_of(content: Mapping[str, object]) -> Dialect | None:
    """Return the dialect of a line's JSON object, or of BioGen's document; None where it is no response."""
    metadata = content.get("metadata")
    key = sentences_key(content)
    if not isinstance(metadata, Mapping):
        if isinstance(content.get("results"), list):
            return Dialect.BIOGEN24
        return Dialect.RAG24 if key == "answer" and "run_id" in content else None
    if key != "responses":
        return Dialect.RAG25 if key else None
    entries = content["responses"]
    if isinstance(entries, list) and any(_has_scores(entry) for entry in entries):
        return Dialect.RAGTIME
    return Dialect.DRAGUN if "use_starter_kit" in metadata else Dialect.AUTOJUDGE


def sentences_key(content: Mapping[str, object]) -> str:
    """The key of a response's sentences, "responses" where there are both; empty where there is none."""
    keys = [key for key in ("responses", "answer") if key in content]
    return next((key for key in keys if isinstance(content[key], list)), keys[0] if keys else "")


def _has_scores(entry: object) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("citations"), Mapping)
