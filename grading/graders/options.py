"""Options of a back-end: each with its default, its range, and whether it can change a grade."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from grading.errors import BadOption

if TYPE_CHECKING:
    from grading.graders.base import GraderSpec
    from grading.prompts import Prompt

Value = bool | int | float | str
T = TypeVar("T", bool, int, float, str)

_DECLARED = "option"
_CANONICAL: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _every_prompt(_: Prompt) -> bool:
    return True


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
    fits: Callable[[Prompt], bool] = _every_prompt
    """Whether the option has a meaning for this prompt."""
    json_without: tuple[str, ...] = ()
    """Of an option whose text is a JSON object: the names that it may not have. Empty for plain text."""

    @property
    def expected(self) -> str:
        """In words: "a whole number of at least 1 and at most 20"."""
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
        """As a person types it."""
        return str(self.default).lower() if isinstance(self.default, bool) else str(self.default)

    @property
    def range_words(self) -> str:
        """ "1 to 4,096", or the allowed values; empty for text."""
        if self.choices:
            return ", ".join(self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if self.json_without:
            return "a JSON object"
        return "" if isinstance(self.default, str) else f"{self.lowest:,} to {self.highest:,}"

    def check(self, value: object) -> None:
        """Raises BadOption for a value out of range."""
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
        """By name, in the order shown."""
        return {field.name: replace(field.metadata[_DECLARED], name=field.name) for field in fields(cls)}

    @classmethod
    def of(cls, spec: GraderSpec) -> Self:
        """Raises BadOption for an option that does not exist or a value that it cannot have."""
        declared = cls.declared()
        refuse_unknown(spec.backend, spec.settings, declared)
        for name, value in spec.settings.items():
            declared[name].check(value)
        return cls(**cast("dict[str, Any]", spec.settings))  # checked above


def refuse_unknown(backend: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raises BadOption for an unknown option, so that a typo does not pass."""
    unknown = sorted(set(names) - set(known))
    if unknown:
        takes = ", ".join(sorted(known)) or "none"
        raise BadOption(f"{backend} has no option {', '.join(unknown)}; it takes {takes}")


def read_options(backend: str, typed: Mapping[str, str], declared: Mapping[str, Option]) -> dict[str, Value]:
    """Parse the values that a person typed, by name. Raises BadOption."""
    refuse_unknown(backend, typed, declared)
    return {name: declared[name].read(text) for name, text in typed.items()}
