"""The published prompts, kept as data in the TOML files beside this one."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from grading.errors import UnknownPrompt
from grading.prompts.prompt import Prompt
from grading.prompts.reading import ParseRule
from grading.types import ItemKind, Purpose


def get(prompt_class: str) -> Prompt:
    """Return the present version of a prompt class. Raises UnknownPrompt, which lists the known ones."""
    try:
        return by_class()[prompt_class]
    except KeyError:
        raise UnknownPrompt(
            f"no prompt class {prompt_class!r}; known are {', '.join(sorted(by_class()))}"
        ) from None


def known() -> tuple[Prompt, ...]:
    """Every published prompt, in the order of their classes."""
    return tuple(prompt for _, prompt in sorted(by_class().items()))


@cache
def by_class() -> dict[str, Prompt]:
    """Every published prompt."""
    prompts: dict[str, Prompt] = {}
    for file in resources.files(__package__).iterdir():
        if file.name.endswith(".toml"):
            for entry in tomllib.loads(file.read_text(encoding="utf-8"))["prompt"]:
                prompt = _prompt(entry)
                prompts[prompt.prompt_class] = prompt
    return prompts


def _prompt(entry: dict[str, Any]) -> Prompt:  # Any: tomllib's own type of a table
    low_high = entry.get("scale")
    return Prompt(
        prompt_class=entry["prompt_class"],
        version=entry["version"],
        purpose=Purpose(entry["purpose"]),
        kinds=frozenset(ItemKind(kind) for kind in entry["kinds"]),
        scale=(low_high[0], low_high[1]) if low_high else None,
        template=entry["template"],
        source=entry["source"],
        rule=ParseRule(entry["parse"]),
        system=entry.get("system", ""),
        labels=tuple(entry.get("labels", {}).items()),
        is_strict=entry.get("strict", False),
        min_grade=entry.get("min_grade"),
        summary=entry["summary"],
    )
