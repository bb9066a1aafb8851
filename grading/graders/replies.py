"""The only place where what a model sends becomes text that somebody reads.

A server's reply is JSON of any shape (completions.py), a local model's are tokens. Both become a `Reply`, the
answer without the thinking before it, or a `NoReply` with its reason. Nothing else is an answer: not a
refusal, a filtered or broken-off text, a call of a tool, or thinking that the limit of tokens cut off. An
empty text that the model ended itself is one: the papers count it as "unanswerable".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from grading.errors import GradingError
from grading.graders import thinking
from grading.graders.openai_errors import Problem
from grading.types import ErrorClass

if TYPE_CHECKING:
    from grading.graders.hf_model import LoadedModel

_ADVICE = "raise max_new_tokens, the longest reply"


@dataclass(frozen=True, slots=True)
class Step:
    """One token of a reply, and the probabilities (0..1) of what could have stood in its place."""

    token: str
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TokensUsed:
    """As the server counts them; 0 where it does not."""

    prompt: int = 0
    completion: int = 0

    def __add__(self, other: TokensUsed) -> TokensUsed:
        return TokensUsed(self.prompt + other.prompt, self.completion + other.completion)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    """The answer; empty where the model ended its reply without a word."""
    raw: str
    """All that it wrote, with its thinking: for the trace."""
    finish_reason: str = ""
    """In the server's word; empty where it says none."""
    steps: tuple[Step, ...] = ()
    """The tokens of the answer; none where the server sends no probabilities, or such as cannot be."""
    used: TokensUsed = field(default_factory=TokensUsed)


class Answer(str):
    """The text of a reply, for those who need nothing else of it (`TextModel`).

    `raw` is all that the model wrote, which is what was paid for.
    """

    __slots__ = ("raw",)
    raw: str

    @classmethod
    def of(cls, reply: Reply) -> Answer:
        answer = cls(reply.text)
        answer.raw = reply.raw
        return answer


class NoReply(GradingError):
    """No answer, after all attempts that could help; the message says why."""

    def __init__(self, problem: Problem, *, raw: str = "", attempts: int = 1) -> None:
        """`raw` is what the model wrote, though it is no answer."""
        self.problem = replace(problem, reason=_storable(problem.reason))
        self.raw, self.attempts = _storable(raw), attempts
        reason = self.problem.reason
        super().__init__(f"{reason} (after {attempts} attempts)" if attempts > 1 else reason)

    @property
    def error_class(self) -> ErrorClass:
        return self.problem.error_class

    @property
    def is_of_model(self) -> bool:
        """Whether this is what came of asking the model: asked again it would do the same."""
        return self.error_class in (ErrorClass.PARSE, ErrorClass.OTHER)

    @property
    def is_of_prompt(self) -> bool:
        """Whether other prompts may well be answered: the server is there, and takes calls."""
        is_unreadable = self.error_class is ErrorClass.SERVER and not self.problem.is_passing
        return self.is_of_model or is_unreadable or self.error_class is ErrorClass.CONTEXT


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a reply before it comes."""

    longest: int = 0
    """Tokens; 0 where it is not known."""
    thinks: bool = False
    """Whether the model was told to think: a reply cut off before any mark of thinking is all thinking."""


UNKNOWN = Expected()


def of_tokens(
    loaded: LoadedModel, tokens: Sequence[int], expected: Expected, *, is_inside: bool = False
) -> Reply:
    """Return the answer in the tokens that a local model wrote. Raises NoReply.

    `is_inside`: its prompt ended within thinking (`thinking.is_left_open`).
    """
    end = next((place for place, token in enumerate(tokens) if token in loaded.ends), None)
    kept = list(tokens if end is None else tokens[:end])
    # Marks of thinking are special tokens to many tokenizers, which would leave them out.
    raw = str(loaded.tokenizer.decode(kept, skip_special_tokens=False))
    split = thinking.split(raw, is_inside=is_inside, has_ended=end is not None)
    if split == thinking.Split(raw):
        raw = visible_text(loaded.tokenizer, kept)
        split = thinking.Split(raw)
    else:
        for mark in loaded.tokenizer.all_special_tokens:
            split = replace(split, answer=split.answer.replace(mark, ""))
    return answered(split, expected, raw=raw, is_cut=end is None)


def of_text(text: str) -> str:
    """Return the answer in a text that was kept as some model wrote it. Raises NoReply."""
    return answered(thinking.split(text), UNKNOWN, raw=text, is_cut=False).text


def visible_text(tokenizer: Any, tokens: Sequence[int]) -> str:  # Any: as `LoadedModel` has it
    """Return the text of tokens, without those that mark something."""
    return str(tokenizer.decode(list(tokens), skip_special_tokens=True))


def token_text(tokenizer: Any, token: int) -> str:  # Any: as above
    """Return the text of one token, also of one that marks something."""
    return str(tokenizer.decode([token]))


def answered(split: thinking.Split, expected: Expected, *, raw: str, is_cut: bool) -> Reply:
    """Return the answer, if there is one. Raises NoReply."""
    within = f" within {expected.longest} tokens" if is_cut and expected.longest else ""
    has_thought = bool(split.thought.strip())
    problem = ""
    if split.is_open or (is_cut and expected.thinks and not has_thought):
        problem = f"the model did not stop thinking{within}; {_ADVICE}, or turn thinking off"
    elif not split.answer.strip() and has_thought:
        problem = f"the model thought, and answered nothing{within}; {_ADVICE}, or turn thinking off"
    elif not split.answer.strip() and is_cut:
        problem = f"the reply said nothing{within}; {_ADVICE}"
    if problem:
        raise NoReply(Problem(ErrorClass.PARSE, problem), raw=raw)
    answer = split.answer if split.answer == raw else split.answer.strip()
    return Reply(_storable(answer), _storable(raw))


def _storable(text: str) -> str:
    """Leave out what databases refuse: NUL, and halves of characters."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
