"""What every grader is: a frozen configuration, and a lazy stream of grades."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from grading import prompts
from grading.errors import GraderUnavailable
from grading.prompts import Prompt
from grading.types import Grade, GradeFailure, Pair

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"


@dataclass(frozen=True, slots=True)
class GraderSpec:
    """Which back-end asks which model with which prompt, and how. Never changed once it has graded."""

    backend: str
    llm: str
    prompt_class: str
    options: Mapping[str, JSON] = field(default_factory=dict, hash=False)
    """Settings of the back-end; what is left out has the back-end's default."""

    @property
    def prompt(self) -> Prompt:
        """Raises UnknownPrompt."""
        return prompts.get(self.prompt_class)

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the back-end, the model, the prompt with its version, and the options.

        The order of the options does not matter; a default that is spelt out does. Raises UnknownPrompt.
        """
        meaning = {
            "backend": self.backend,
            "llm": self.llm,
            "prompt": self.prompt.prompt_id,
            "options": dict(self.options),
        }
        canonical = json.dumps(meaning, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


class Grader(Protocol):
    """Made by `registry.build`."""

    @property
    def spec(self) -> GraderSpec: ...

    @property
    def device(self) -> str:
        """Where it computes, in words for people: "cuda (bfloat16)"."""
        ...

    def grade(self, pairs: Iterable[Pair]) -> Iterator[Grade | GradeFailure]:
        """Yield one grade or failure for each pair, in any order.

        Lazy: takes no more pairs than the next grades need; whoever stops iterating cancels the rest.
        """
        ...


def misfit(prompt: Prompt, pair: Pair) -> GradeFailure | None:
    """A failure that says so where the prompt is not worded for this kind of item."""
    if pair.item.kind in prompt.kinds:
        return None
    kinds = " or ".join(sorted(prompt.kinds))
    return GradeFailure(
        pair.item.item_id,
        pair.passage.passage_id,
        f"{prompt.prompt_class} is worded for a {kinds}, not for a {pair.item.kind} item",
    )


def refuse_unknown_options(spec: GraderSpec, known: Iterable[str]) -> None:
    """Raise GraderUnavailable for an option that the back-end does not have: a typing error must not pass."""
    unknown = sorted(set(spec.options) - set(known))
    if unknown:
        takes = ", ".join(sorted(known)) or "none"
        raise GraderUnavailable(f"{spec.backend} has no option {', '.join(unknown)}; it takes {takes}")
