"""The field's terms as frozen dataclasses, and ids of items: the md5 of the stripped text, as in EXAM++.

`convert.py` of corpus and of grades makes them from rows.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MIN_RATING = 0
MAX_RATING = 5
MISSING = -1
"""Matrix value of a cell that nobody graded."""
FAILED = -2
"""Matrix value of a cell whose grading failed; no measure counts it as a rating."""
ANSWERED = -4
"""Matrix value of a cell with an extracted answer and no rating; no measure counts it as a rating."""
CONTRADICTS = -5
"""The rating, below all others, of a passage that says the contrary of an item; few prompts have it.

Rows and files have it as a rating. In matrices it is a 0, so that it is no credit in any measure, and
`GradeMatrix.contradicted` says which 0 it is.
"""

Ratings = NDArray[np.int8]
"""Shape (passages, items): 0..5, or MISSING, FAILED or ANSWERED."""


class ItemKind(StrEnum):
    QUESTION = "question"
    NUGGET = "nugget"
    DIRECT = "direct"


class Importance(StrEnum):
    """What an item means to a good answer (AutoNuggetizer, arXiv 2411.09607; "avoid" is ours)."""

    VITAL = "vital"
    OKAY = "okay"
    AVOID = "avoid"

    @property
    def weight(self) -> float:
        """Return what a covered item adds to weighted measures, unless people chose another weight."""
        return {"vital": 1.0, "okay": 0.5, "avoid": -1.0}[self]


class Purpose(StrEnum):
    """What the grades of a grader config mean."""

    RATE = "rate"
    EXTRACT = "extract"
    VERIFY = "verify"
    DIRECT = "direct"


def usual_min_grade(purpose: Purpose, scale: tuple[int, int]) -> int:
    """Return the lowest rating that covers where the prompt states none: four fifths of the scale.

    Of direct labels the upper half: 2 of UMBRELA's 0 to 3 and of TREC RAG's 0 to 4, 1 of Thomas's 0 to 2.

    >>> [usual_min_grade(purpose, (0, 5)) for purpose in (Purpose.RATE, Purpose.DIRECT)]
    [4, 3]
    """
    share = 0.5 if purpose is Purpose.DIRECT else 0.8
    return scale[0] + math.ceil(share * (scale[1] - scale[0]))


USUAL_MIN_GRADE = usual_min_grade(Purpose.RATE, (MIN_RATING, MAX_RATING))


class TrecEval(StrEnum):
    """A version of trec_eval: 9 compares the scores of a run in single precision, 10 in double."""

    NINE = "9"
    TEN = "10"

    @property
    def other(self) -> TrecEval:
        return TrecEval.TEN if self is TrecEval.NINE else TrecEval.NINE


class Outcome(StrEnum):
    """How a grade was found in the raw reply (EXAM++ 4.2.2, RUBRIC 4.2.1)."""

    NUMERIC = "numeric"
    UNANSWERABLE = "unanswerable"
    DEFAULTED = "defaulted"
    EXTRACTED = "extracted"
    FAILED = "failed"


class ErrorClass(StrEnum):
    """Why a pair could not be graded."""

    AUTH = "auth"
    """The server refuses the key."""
    QUOTA = "quota"
    """The account may spend no more."""
    RATE = "rate"
    """Too many requests, even after waiting."""
    TIMEOUT = "timeout"
    SERVER = "server"
    PARSE = "parse"
    """The reply does not say what was asked for."""
    CONTEXT = "context"
    """The prompt is longer than the model reads."""
    MEMORY = "memory"
    UNAVAILABLE = "unavailable"
    """No server, or not this model."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Topic:
    query_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    passage_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """A question or nugget; `item_id` is `<query_id>[/<facet_id>]/<md5 of the stripped text>`."""

    item_id: str
    kind: ItemKind
    text: str
    answers: tuple[str, ...] = ()
    """Its answer key: each of these is right."""


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A pair that people rated, which a prompt has before the one that it asks about."""

    kind: ItemKind
    query_id: str
    item: str
    """The text of the question or nugget."""
    doc_id: str
    passage: str
    """As much of its text as the prompt has."""
    rating: int


@dataclass(frozen=True, slots=True)
class CellToGrade:
    """One cell to grade."""

    item: Item
    passage: Passage
    topic: Topic
    answer: str | None = None
    """The extracted answer, for a prompt that asks whether it is right."""
    votes: tuple[int | None, ...] = ()
    """The ratings by the members of a panel, in their order; None of a member that has none."""
    items: tuple[Item, ...] = ()
    """The items of one call in the order asked, for a prompt that asks about several; `item` is for all."""
    exemplars: tuple[Exemplar, ...] = ()
    """Rated pairs of other topics that the prompt has first."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The prompt that the model received, and its reply, verbatim."""

    prompt: str
    reply: str
    context_chars: int | None = None
    """Characters of the passage that the model saw, if it had to be cut; else None."""
    call_items: tuple[str, ...] = ()
    """The item ids of a call about several items, in the order asked; `reply` is what concerns this one."""
    place: int | None = None
    """Place of the item, from 1, among all that were asked of its passage at once."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A rating (0..5) of one item against one passage, an extracted answer, or both."""

    item_id: str
    passage_id: str
    rating: int | None
    outcome: Outcome
    answer: str = ""
    confidence: float | None = None
    """Probability of the rating (0..1), if the back-end reports it."""
    trace: Trace | None = None
    expectation: float | None = None
    """Mean of the distribution over the scale that `confidence` is from."""


@dataclass(frozen=True, slots=True)
class GradeFailure:
    """A cell that could not be graded; stored and shown, never a silent 0."""

    item_id: str
    passage_id: str
    reason: str
    trace: Trace | None = None
    error_class: ErrorClass = ErrorClass.OTHER


@dataclass(frozen=True, slots=True)
class Qrel:
    query_id: str
    doc_id: str
    relevance: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """One run's passages for one topic, best first."""

    run_tag: str
    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A document that a sentence of a response cites."""

    doc_id: str
    score: float | None = None
    """The run's own support or confidence, higher is better; None where it gives an order only."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a response, in its order; headings count as sentences."""

    text: str
    citations: tuple[Citation, ...] | None
    """The citations in the file's order; empty where the sentence cites nothing, None where unknown."""


@dataclass(frozen=True, slots=True)
class Response:
    """A run's generated answer to one topic."""

    run_tag: str
    query_id: str
    sentences: tuple[Sentence, ...]
    team: str = ""
    """Empty where the file names none."""
    references: tuple[str, ...] | None = None
    """Document ids, to whose positions (from 0) integer citations point; None where the file has no list."""
    documents: Mapping[str, str] = field(default_factory=dict)
    """Document id -> text, where the response brings its documents along."""
    foreign: Mapping[str, object] = field(default_factory=dict)
    """The JSON object exactly as read. A writer starts from it and overwrites what the other fields model."""
    line: int = field(default=0, compare=False)
    """The line of the file from which it was read, from 1; 0 where there is none."""


@dataclass(frozen=True, slots=True)
class GradeMatrix:
    """All ratings of one topic by one grader config."""

    query_id: str
    passage_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    ratings: Ratings
    """Shape (passages, items)."""
    contradicting: NDArray[np.bool_] | None = None
    """Which cells, as long as their rating is 0, are CONTRADICTS, of the same shape; None for no cell."""

    @classmethod
    def of_outcomes(
        cls, query_id: str, passage_ids: tuple[str, ...], item_ids: tuple[str, ...], outcomes: Ratings
    ) -> GradeMatrix:
        """Return the matrix whose `outcomes` are these."""
        contradicted = np.asarray(outcomes == CONTRADICTS)
        if not contradicted.any():
            return cls(query_id, passage_ids, item_ids, outcomes)
        ratings = np.where(contradicted, MIN_RATING, outcomes).astype(np.int8)
        return cls(query_id, passage_ids, item_ids, ratings, contradicted)

    @property
    def contradicted(self) -> NDArray[np.bool_]:
        """Return which cells are rated CONTRADICTS, shape (passages, items); `ratings` has 0 there."""
        if self.contradicting is None:
            return np.zeros(self.ratings.shape, dtype=np.bool_)
        return np.asarray(self.contradicting & (self.ratings == MIN_RATING))

    @property
    def outcomes(self) -> Ratings:
        """Return the ratings, with CONTRADICTS where that is the rating, shape (passages, items)."""
        if self.contradicting is None:
            return self.ratings
        return np.where(self.contradicted, CONTRADICTS, self.ratings).astype(np.int8)

    def columns(self, item_ids: Sequence[str]) -> GradeMatrix:
        """Return the same passages with exactly these items, in this order.

        MISSING stands for an item without grades.
        """
        if tuple(item_ids) == self.item_ids:
            return self
        position = {item_id: column for column, item_id in enumerate(self.item_ids)}
        outcomes = np.full((len(self.passage_ids), len(item_ids)), MISSING, dtype=np.int8)
        pairs = [(new, position[item_id]) for new, item_id in enumerate(item_ids) if item_id in position]
        if pairs:
            new, old = map(list, zip(*pairs, strict=True))
            outcomes[:, new] = self.outcomes[:, old]
        return GradeMatrix.of_outcomes(self.query_id, self.passage_ids, tuple(item_ids), outcomes)


class ParsedRating(NamedTuple):
    """A rating and its outcome; only NUMERIC ones were stated: a number, yes, no or a label."""

    rating: int
    outcome: Outcome


class Parsed(NamedTuple):
    """The content of a reply: a rating, an answer, or both."""

    rating: int | None
    outcome: Outcome
    answer: str = ""


_MD5 = re.compile(r"[0-9a-f]{32}")
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")


def is_one_word(text: str) -> bool:
    r"""Return whether an id has neither white space nor control characters.

    They would break lines of TREC files.

    >>> [is_one_word(text) for text in ("msmarco_v2.1_doc_0#1", "d 1", "d1\x07", "")]
    [True, False, False, False]
    """
    return bool(text) and _UNFIT.search(text) is None


def look(text: str) -> str:
    r"""Return an id as it looks: composed (NFKC), without invisible characters.

    >>> look("Mu\u0308ller\u200b-7") == "M\u00fcller-7"
    True
    """
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", text)
    return "".join(c for c in composed if unicodedata.category(c) != "Cf" and not "\ufe00" <= c <= "\ufe0f")


def text_md5(text: str) -> str:
    """Return the hexadecimal md5 of the stripped text in UTF-8.

    >>> text_md5(" Who coined the term? ") == text_md5("Who coined the term?")
    True
    """
    return hashlib.md5(text.strip().encode(), usedforsecurity=False).hexdigest()


def item_id(query_id: str, text: str, facet_id: str = "") -> str:
    """Return the id of an item, `<query_id>[/<facet_id>]/<md5 of the stripped text>`.

    >>> item_id("q18", "What is a puppy?", "teeth")
    'q18/teeth/1088048442b7175d8b1dd2dcf8699ae3'
    """
    return "/".join(part for part in (query_id, facet_id, text_md5(text)) if part)


def is_md5(text: str) -> bool:
    """Return whether a column is an md5, in lower case."""
    return _MD5.fullmatch(text) is not None


def md5_of_id(identity: str) -> str | None:
    """Return the md5 that an item id ends with, or None where the id is of another make."""
    last = identity.rsplit("/", 1)[-1].lower()
    return last if _MD5.fullmatch(last) else None


def facet_of(query_id: str, uid: str) -> str:
    """Return the subtopic in an item id `<query_id>/<facet_id>/<md5>`; empty without one."""
    if not uid.startswith(f"{query_id}/") or md5_of_id(uid) is None:
        return ""
    return uid.removeprefix(f"{query_id}/").rpartition("/")[0]
