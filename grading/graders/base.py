"""The interface of graders, and the grades that each makes from a model's reply."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, runtime_checkable

from grading import prompts
from grading.errors import ParseFailure
from grading.graders.backend_options import ATTEMPT, RUNNING
from grading.graders.exemplars import EXEMPLAR_EVENTS, EXEMPLAR_SEED, EXEMPLARS
from grading.graders.replies import NoReply
from grading.parsing import OnUnparsable
from grading.parsing.words import is_unanswerable
from grading.prompts import Prompt
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, ItemKind, Outcome, Trace
from grading.verify import verify

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

PROMPT = "prompt"
"""The option that holds an own prompt, as written by `prompts.as_options`."""
ANSWERS_BY = "answers_by"
"""The option that names, by fingerprint, the grader whose answers are verified."""
PLUGIN = "plugin"
"""The option that names the distribution, with its version, whose back-end or prompt it is."""
MEMBERS = "members"
"""The option that names, by fingerprints with blanks between, the graders of a panel."""
WEIGHTS = "weights"
"""The option with a panel's learned weights: a JSON list, by fold of topics, of a weight for each member."""
NO_SETTINGS = (PROMPT, ANSWERS_BY, MEMBERS, WEIGHTS, EXEMPLAR_EVENTS)
"""The options that nobody chooses as the settings of a back-end."""
_NOT_OF_THE_BACKEND = (*NO_SETTINGS, ATTEMPT, PLUGIN, EXEMPLARS, EXEMPLAR_SEED)


@dataclass(frozen=True, slots=True)
class GraderSpec:
    """The back-end, model, prompt and options of a grader. Never changed once it has graded."""

    backend: str
    llm: str
    prompt_class: str
    options: Mapping[str, JSON] = field(default_factory=dict, hash=False)
    """Settings of the back-end, NO_SETTINGS and ATTEMPT; what is left out has its default."""

    @property
    def prompt(self) -> Prompt:
        """Return the published prompt, or the one in the options. Raises UnknownPrompt or BadPrompt."""
        if PROMPT in self.options:
            return prompts.from_options(self.prompt_class, self.options[PROMPT])
        return prompts.get(self.prompt_class)

    @property
    def settings(self) -> dict[str, JSON]:
        """Return the back-end's own options."""
        return {name: value for name, value in self.options.items() if name not in _NOT_OF_THE_BACKEND}

    @property
    def frozen(self) -> dict[str, JSON]:
        """Return the options without those that only change how fast or where it grades."""
        return {name: value for name, value in self.options.items() if name not in RUNNING}

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 (hex) of back-end, model, prompt with its version, and frozen options.

        The order of the options does not matter; a default that is spelt out does. Raises UnknownPrompt.
        """
        return self.fingerprint_of(self.prompt.prompt_id)

    def fingerprint_of(self, prompt_id: str) -> str:
        """Return the fingerprint with this version of the prompt, which need not be the present one."""
        meaning = {"backend": self.backend, "llm": self.llm, "prompt": prompt_id, "options": self.frozen}
        canonical = json.dumps(meaning, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


class Grader(Protocol):
    """Made by `registry.build`."""

    @property
    def spec(self) -> GraderSpec: ...

    @property
    def device(self) -> str:
        """Return the device in words: "cuda (bfloat16)"."""
        ...

    def grade(self, pairs: Iterable[CellToGrade]) -> Iterator[Grade | GradeFailure]:
        """Yield one grade or failure for each pair, in any order.

        Lazy: it takes no more pairs than the next grades need; stop iterating to cancel the rest.
        """
        ...

    def close(self) -> None:
        """Free memory and connections; it cannot grade afterwards."""
        ...


TOKENS_A_LINE = 12
"""Tokens that a call about several items may write for each, on top of `max_new_tokens`.

Part of what a grade means, like the defaults of options: it must not change.
"""


def tokens_of_lines(pair: CellToGrade) -> int:
    """Return how many tokens more than `max_new_tokens` the reply may have; 0 for a call about one item."""
    return TOKENS_A_LINE * len(pair.items)


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is."""

    has_ended: bool
    seconds: float = 0.0
    """Seconds from the start to the end."""
    problem: str = ""
    """Why it ended without a reply to anything, for people."""
    is_refused_for_now: bool = False
    """Whether it ended so because too much waits at the server: it can be sent later."""


@runtime_checkable
class BatchGrader(Grader, Protocol):
    """A grader whose replies to many pairs come together, up to a day after they were asked for.

    Whoever asks keeps the batch's id before anything is waited for. Each method raises GraderUnavailable, and
    TryLater where the server cannot be reached or wants to be asked later.
    """

    def find(self, pairs: Sequence[CellToGrade], salt: str = "") -> str:
        """Return the id of a batch that asks exactly what `send` would; empty if there is none.

        With another `salt` the same pairs are asked anew.
        """
        ...

    def send(self, pairs: Sequence[CellToGrade], salt: str = "") -> str:
        """Ask about the pairs, or the first of them if they are too many; return the batch's id."""
        ...

    def state(self, batch: str) -> BatchState: ...

    def collect(
        self, batch: str, pairs: Sequence[CellToGrade], salt: str = ""
    ) -> Iterator[Grade | GradeFailure]:
        """Yield what a batch that has ended says of these pairs, in any order.

        A pair of which it says nothing, or nothing final, can be asked about again.
        """
        ...

    def cancel(self, batch: str) -> None:
        """Cancel what is not answered yet: it shall not be answered, or paid for."""
        ...


def misfit(prompt: Prompt, pair: CellToGrade) -> GradeFailure | None:
    """Return a failure if the prompt cannot be asked about this pair."""
    problem = _problem(prompt, pair)
    return GradeFailure(pair.item.item_id, pair.passage.passage_id, problem) if problem else None


def result_without_model(prompt: Prompt, pair: CellToGrade) -> Grade | GradeFailure | None:
    """Return a result that needs no model: a misfit, or 0 if the answer to verify is "unanswerable"."""
    failure = misfit(prompt, pair)
    if failure or not prompt.needs_answer or pair.answer is None:
        return failure
    # To a true/false key "no" is an answer.
    if not is_unanswerable(pair.answer) or verify(pair.answer, pair.item.answers).correct:
        return None
    rating = prompt.scale[0] if prompt.scale else None
    return Grade(pair.item.item_id, pair.passage.passage_id, rating, Outcome.UNANSWERABLE, pair.answer)


def _problem(prompt: Prompt, pair: CellToGrade) -> str:
    if pair.item.kind not in prompt.kinds:
        is_direct = ItemKind.DIRECT in prompt.kinds
        worded_for = "direct grading" if is_direct else "a " + " or ".join(sorted(prompt.kinds))
        return f"{prompt.prompt_class} is worded for {worded_for}, not for a {pair.item.kind} item"
    if prompt.needs_key and not pair.item.answers:
        return f"{prompt.prompt_class} compares with an answer key, and the item has none"
    if prompt.needs_answer and pair.answer is None:
        return f"{prompt.prompt_class} verifies an answer, and none was extracted"
    return ""


Result = Grade | GradeFailure


@dataclass(frozen=True, slots=True)
class RatedReply:
    """A short reply that is a rating, with the distribution over the scale."""

    reply: str
    rating: int
    confidence: float
    """The rating's probability, relative to the whole scale (0..1)."""
    expectation: float
    """Mean of that distribution."""


def weighed(reply: str, rating: int, weights: Mapping[int, float]) -> RatedReply:
    """Return the reply with the weighed ratings.

    `weights` are the ratings of the scale with their probabilities, which need not sum to 1.

    >>> weighed("4", 4, {4: 0.6, 5: 0.2})
    RatedReply(reply='4', rating=4, confidence=0.75, expectation=4.25)
    """
    total = sum(weights.values())
    mean = sum(rating * weight for rating, weight in weights.items()) / total
    return RatedReply(reply, rating, round(weights[rating] / total, 6), round(mean, 6))


def rated(pair: CellToGrade, reply: RatedReply, trace: Trace) -> Grade:
    return Grade(
        pair.item.item_id,
        pair.passage.passage_id,
        reply.rating,
        Outcome.NUMERIC,
        answer=pair.answer or "",
        confidence=reply.confidence,
        trace=trace,
        expectation=reply.expectation,
    )


def parsed(
    prompt: Prompt, pair: CellToGrade, answer: str, trace: Trace, on_unparsable: OnUnparsable
) -> Result:
    """Grade from an answer (`replies.Reply.text`), read by the prompt."""
    try:
        rating, outcome, text = prompt.parse(answer, pair, on_unparsable=on_unparsable)
    except ParseFailure as error:
        return failed(pair, str(error), ErrorClass.PARSE, trace)
    return Grade(pair.item.item_id, pair.passage.passage_id, rating, outcome, text, trace=trace)


def unanswered(pair: CellToGrade, error: NoReply, trace: Trace) -> GradeFailure:
    """Return the failure of a pair that the model gave no answer for; the trace keeps what it wrote."""
    return failed(pair, str(error), error.error_class, replace(trace, reply=error.raw))


def with_confidence(result: Result, reply: RatedReply | None) -> Result:
    """Return the grade with the confidence and expectation of `reply`, if that has the same rating."""
    if not isinstance(result, Grade) or reply is None or reply.rating != result.rating:
        return result
    return replace(result, confidence=reply.confidence, expectation=reply.expectation)


def failed(
    pair: CellToGrade, reason: str, error_class: ErrorClass = ErrorClass.OTHER, trace: Trace | None = None
) -> GradeFailure:
    return GradeFailure(pair.item.item_id, pair.passage.passage_id, reason, trace, error_class)
