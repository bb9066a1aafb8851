"""Options of back-ends, declared without loading any back-end: default, range, effect on grades.

An option that can change a grade is part of the fingerprint for ever: its default here must not change, or
the same fingerprint would mean other grades.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from grading.errors import BadOption
from grading.prompts import ParseRule, Prompt
from grading.types import Purpose

if TYPE_CHECKING:
    from grading.graders import GraderSpec
    from grading.prompts import Prompt


Value = bool | int | float | str
T = TypeVar("T", bool, int, float, str)

_DECLARED = "option"
_CANONICAL: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


DTYPES = ("auto", "float32", "bfloat16", "float16", "int8")
JSON_FORMS = {ParseRule.RATING: '{"rating": <number>}', ParseRule.LABEL: '{"label": "<label>"}'}
"""The reply that a model is asked for in JSON mode."""
ATTEMPT = "attempt"
"""Tells independent tries of one model and prompt apart; the first try has none."""
_LONGEST_REPLY = (
    "Longest reply, in tokens, with the thinking of a model that thinks; the RAG'24 paper (6.2) let Llama 3 "
    "write 100."
)
_MOST_NEW_TOKENS = 131_072
DEFAULT = "default"
SWITCH = (DEFAULT, "on", "off")
EFFORTS = (DEFAULT, "none", "minimal", "low", "medium", "high", "xhigh")
_THINKING = (
    'Whether the model thinks before it answers, where its chat template has a switch for that; "default" is '
    "what the template does by itself."
)
_EFFORT = "How long the model thinks, where it can be told so (gpt-oss, models of OpenAI)."
_RESERVED = ("model", "messages", "stream", "n", "max_tokens", "tools", "api_key", "authorization")
_LIKELIEST = (
    "The likeliest rating of the scale counts, whatever the model would rather write: one step a grade. For "
    "prompts whose reply is a number, or yes or no"
)
_UNPARSABLE = (
    'What a reply without a rating becomes: "default" is rating 1, as in the papers; "fail" is a failed '
    "grade."
)
_HIGHEST_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of a back-end. Its type is that of its default."""

    default: Value
    help: str
    """One sentence for people, without default and range."""
    name: str = ""
    choices: tuple[str, ...] = ()
    lowest: float = 0
    highest: float = math.inf
    changes_grades: bool = True
    """Options that only change speed or device are not part of the fingerprint."""
    fits: Callable[[Prompt], bool] = lambda prompt: True
    """Whether the option has a meaning for this prompt."""
    json_without: tuple[str, ...] = ()
    """The names that an option whose text is a JSON object may not have; empty for plain text."""

    @property
    def expected(self) -> str:
        """Return the expected value, as in "a whole number of at least 1 and at most 20"."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        if self.json_without:
            return f"a JSON object without {', '.join(self.json_without)}"
        if isinstance(self.default, str):
            return "text"
        ends = [f"at least {self.lowest:,}"] if self.lowest > -math.inf else []
        ends += [f"at most {self.highest:,}"] if self.highest < math.inf else []
        number = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{number} of {' and '.join(ends)}" if ends else number

    @property
    def default_words(self) -> str:
        """Return the default as a person types it."""
        return str(self.default).lower() if isinstance(self.default, bool) else str(self.default)

    @property
    def range_words(self) -> str:
        """Return the range, such as "1 to 4,096", or the allowed values; empty for text."""
        if self.choices:
            return ", ".join(self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if self.json_without:
            return "a JSON object"
        return "" if isinstance(self.default, str) else f"{self.lowest:,} to {self.highest:,}"

    def check(self, value: object) -> None:
        """Raise BadOption for a value out of range."""
        if not self._can_be(value):
            raise BadOption(f"option {self.name} must be {self.expected}")

    def read(self, text: str) -> Value:
        """Parse the value that a person typed. Raises BadOption."""
        typed, value = text.strip(), cast("object", None)
        try:
            kind = type(self.default)
            value = _TRUTHS.get(typed.lower()) if kind is bool else kind(typed)
        except ValueError:
            pass
        if not self._can_be(value):
            raise BadOption(f"option {self.name} must be {self.expected}, and {typed[:60]!r} is not")
        # One spelling of the same object, since options make fingerprints.
        return json.dumps(json.loads(typed), **_CANONICAL) if self.json_without else cast("Value", value)

    def _can_be(self, value: object) -> bool:
        if self.choices:
            return value in self.choices
        if self.json_without:
            return isinstance(value, str) and self._is_object(value)
        if isinstance(self.default, bool | str):
            return isinstance(value, type(self.default)) and value != ""
        numbers = (int, float) if isinstance(self.default, float) else (int,)
        # bool is a kind of int, but "true" is no number of tokens
        if not isinstance(value, numbers) or isinstance(value, bool):
            return False
        return math.isfinite(value) and self.lowest <= value <= self.highest

    def _is_object(self, text: str) -> bool:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(value, dict) and not {name.lower() for name in value} & set(self.json_without)


def option(default: T, sentence: str, **rest: Any) -> T:  # Any: the other fields of Option
    """Declare a field of a back-end's options."""
    declared: Any = field(default=default, metadata={_DECLARED: Option(default, sentence, **rest)})
    return cast("T", declared)


@dataclass(frozen=True, slots=True)
class Options:
    """Base class of the back-ends' options; itself for those without."""

    @classmethod
    def declared(cls) -> dict[str, Option]:
        """Return the options by name, in the order in which they are shown."""
        return {field.name: replace(field.metadata[_DECLARED], name=field.name) for field in fields(cls)}

    @classmethod
    def of(cls, spec: GraderSpec) -> Self:
        """Return the options of a spec.

        Raises BadOption for an option that does not exist or a value that it cannot have.
        """
        declared = cls.declared()
        refuse_unknown(spec.backend, spec.settings, declared)
        for name, value in spec.settings.items():
            declared[name].check(value)
        return cls(**cast("dict[str, Any]", spec.settings))  # checked above


def refuse_unknown(backend: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise BadOption for an unknown option, so that a typo does not pass."""
    unknown = sorted(set(names) - set(allowed))
    if unknown:
        takes = ", ".join(sorted(allowed)) or "none"
        raise BadOption(f"{backend} has no option {', '.join(unknown)}; it takes {takes}")


def read_options(backend: str, typed: Mapping[str, str], declared: Mapping[str, Option]) -> dict[str, Value]:
    """Parse the values that a person typed, by name. Raises BadOption."""
    refuse_unknown(backend, typed, declared)
    return {name: declared[name].read(text) for name, text in typed.items()}


ATTEMPT_OPTION = Option(
    default=1,
    help="2 grades everything once more, beside the first attempt: how far does a model agree with itself?",
    name=ATTEMPT,
    lowest=1,
    highest=100,
)


def _asks_number(prompt: Prompt) -> bool:
    return bool(prompt.first_tokens)


def _asks_rating(prompt: Prompt) -> bool:
    """Return whether the prompt asks a rating: others never fall back to a default rating."""
    rated = (ParseRule.RATING, ParseRule.FINAL_SCORE, ParseRule.YES_NO)
    return prompt.rule in rated and prompt.purpose is not Purpose.DIRECT and not prompt.is_strict


@dataclass(frozen=True, slots=True)
class Thinking:
    """Whether and how long a model thinks, and what else a request has, as the options of these names."""

    thinking: str = DEFAULT
    reasoning_effort: str = DEFAULT
    request_fields: str = "{}"

    @classmethod
    def of(cls, options: Mapping[str, object]) -> Thinking:
        """Take them from options by name, whatever else is among these. Raises BadOption."""
        declared = ReplyOptions.declared()
        chosen = {each.name: options[each.name] for each in fields(cls) if each.name in options}
        for name, value in chosen.items():
            declared[name].check(value)
        return cls(**cast("dict[str, str]", chosen))

    @property
    def is_on(self) -> bool:
        return self.thinking == "on"

    @property
    def template_arguments(self) -> dict[str, bool | str]:
        """Return the arguments of a chat template, which knows one name or the other and ignores the rest."""
        has_switch = self.thinking != DEFAULT
        switch: dict[str, bool | str] = (
            {"enable_thinking": self.is_on, "thinking": self.is_on} if has_switch else {}
        )
        effort = {} if self.reasoning_effort == DEFAULT else {"reasoning_effort": self.reasoning_effort}
        return switch | effort

    def parameters(self) -> dict[str, Any]:
        """Return the fields of a request; `request_fields` go before the other options."""
        own: dict[str, Any] = json.loads(self.request_fields)
        arguments = self.template_arguments
        effort = {name: arguments.pop(name) for name in ("reasoning_effort",) if name in arguments}
        template = {"chat_template_kwargs": arguments} if arguments else {}
        if template and isinstance(own.get("chat_template_kwargs"), dict):
            own["chat_template_kwargs"] = arguments | own["chat_template_kwargs"]
        return {**effort, **template, **own}


AS_IT_IS = Thinking()
"""A model is told nothing of thinking."""
WRITING = (*(each.name for each in fields(Thinking)), "max_new_tokens")
"""The options of a grader's model that hold for it as a writer, too."""


@dataclass(frozen=True, slots=True)
class ModelOptions(Options):
    """Options of every local model."""

    batch_tokens: int = option(
        0,
        "Tokens of a batch with its padding; 0 chooses by device.",
        highest=10_000_000,
        changes_grades=False,
    )
    device: str = option("auto", "Where it computes: auto, cpu, cuda, cuda:1.", changes_grades=False)
    dtype: str = option(
        "auto",
        "Precision; auto takes what the device is best at. int8 runs on processors only: faster than "
        "float32, but a small model (SmolLM2) kept 62 to 75 % of its ratings.",
        choices=DTYPES,
    )


@dataclass(frozen=True, slots=True)
class GeneratorOptions(ModelOptions):
    """Further options of models that write text."""

    max_input_tokens: int = option(
        512, "Longest prompt, in tokens; the passage is cut to fit.", lowest=16, highest=_HIGHEST_TOKENS
    )
    max_new_tokens: int = option(64, _LONGEST_REPLY, lowest=1, highest=_MOST_NEW_TOKENS)
    constrained: bool = option(False, f"{_LIKELIEST}.", fits=_asks_number)
    on_unparsable: str = option("default", _UNPARSABLE, choices=("default", "fail"), fits=_asks_rating)


@dataclass(frozen=True, slots=True)
class CausalOptions(GeneratorOptions):
    """A causal model's context length comes from its configuration."""

    max_input_tokens: int = option(
        0,
        "Longest prompt, in tokens; the passage is cut to fit. 0: what the model reads, less the reply.",
        highest=_HIGHEST_TOKENS,
    )
    constrained: bool = option(
        False,
        f"{_LIKELIEST}, or lines of these.",
        fits=lambda prompt: prompt.rule is ParseRule.LINES or _asks_number(prompt),
    )
    thinking: str = option(DEFAULT, _THINKING, choices=SWITCH)
    reasoning_effort: str = option(DEFAULT, _EFFORT, choices=EFFORTS)


@dataclass(frozen=True, slots=True)
class ExtractiveOptions(ModelOptions):
    """Options of an extractive reader, by default those that SQuAD models are trained and evaluated with."""

    window_tokens: int = option(
        384, "Tokens of question and passage that the model sees at once.", lowest=32, highest=32_768
    )
    overlap_tokens: int = option(
        128, "Tokens of the passage that two windows share.", lowest=1, highest=16_384
    )
    max_answer_tokens: int = option(30, "Longest answer, in tokens.", lowest=1, highest=512)
    no_answer_bias: float = option(
        0.0,
        "Added to the score of no answer: above 0 the grader says more often that there is none.",
        lowest=-1000,
        highest=1000,
    )


@dataclass(frozen=True, slots=True)
class ReplyOptions(Options):
    """Options of a request to a model behind a server.

    The server's address and key are no options, since options are stored and shown.
    """

    max_new_tokens: int = option(64, _LONGEST_REPLY, lowest=1, highest=_MOST_NEW_TOKENS)
    top_logprobs: int = option(
        10,
        "Alternatives to each token that are asked for, to tell confidence; 0 asks for none.",
        highest=20,
        fits=_asks_number,
    )
    json_mode: bool = option(
        False,
        "Ask for a JSON object, and have the server enforce it.",
        fits=lambda prompt: prompt.rule in JSON_FORMS,
    )
    constrained: bool = option(
        False,
        "The likeliest rating of the scale counts: a server that can (vLLM, llama.cpp) lets the model write "
        "nothing else, of others the log-probabilities say it. For prompts whose reply is a number, or yes "
        "or no.",
        fits=_asks_number,
    )
    on_unparsable: str = option("default", _UNPARSABLE, choices=("default", "fail"), fits=_asks_rating)
    thinking: str = option(DEFAULT, _THINKING, choices=SWITCH)
    reasoning_effort: str = option(DEFAULT, _EFFORT, choices=EFFORTS)
    request_fields: str = option(
        "{}",
        'Further fields of each request, as a JSON object: {"top_k": 20}. Everybody who sees the grader sees '
        "them, so they are no place for a key.",
        json_without=_RESERVED,
    )


@dataclass(frozen=True, slots=True)
class ServerOptions(ReplyOptions):
    """Further options of calls that are answered at once."""

    concurrency: int = option(
        256,
        "Most calls under way at once at each server; fewer while it refuses calls or lets them wait.",
        lowest=1,
        highest=1024,
        changes_grades=False,
    )
    timeout_s: float = option(
        60.0, "Seconds that one try of a call may take.", lowest=0.1, highest=3600, changes_grades=False
    )
    attempts: int = option(
        3, "Tries of a call before its grade fails.", lowest=1, highest=20, changes_grades=False
    )


_ALL = (GeneratorOptions, CausalOptions, ExtractiveOptions, ServerOptions)
RUNNING = frozenset(
    each.name
    for each in chain.from_iterable(each.declared().values() for each in _ALL)
    if not each.changes_grades
)
"""The options that change how fast or where a grade is made, and never the grade."""
