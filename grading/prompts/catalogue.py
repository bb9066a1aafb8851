"""The published prompts, kept as data in the TOML files beside this one, and their writer."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
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


def toml_lines(prompts: Iterable[Prompt]) -> Iterator[str]:
    """Yield a `[[prompt]]` table for each prompt, as in the files beside this one.

    >>> from grading.prompts import get
    >>> list(toml_lines([get("NuggetSelfRatedPrompt")]))[:4]
    ['[[prompt]]', 'prompt_class = "NuggetSelfRatedPrompt"', 'version = "1"', 'purpose = "rate"']
    """
    for number, prompt in enumerate(prompts):
        if number:
            yield ""
        yield "[[prompt]]"
        yield from (f"{key} = {value}" for key, value in _entries(prompt))


def _entries(prompt: Prompt) -> Iterator[tuple[str, str]]:
    yield "prompt_class", _text(prompt.prompt_class)
    yield "version", _text(prompt.version)
    yield "purpose", _text(prompt.purpose.value)
    yield "kinds", json.dumps(sorted(kind.value for kind in prompt.kinds))
    if prompt.scale:
        yield "scale", json.dumps(list(prompt.scale))
    if prompt.min_grade is not None:
        yield "min_grade", str(prompt.min_grade)
    yield "parse", _text(prompt.rule.value)
    if prompt.is_strict:
        yield "strict", "true"
    if prompt.labels:
        yield "labels", "{" + ", ".join(f"{_text(name)} = {rating}" for name, rating in prompt.labels) + "}"
    yield "source", _text(prompt.source)
    if prompt.system:
        yield "system", _long(prompt.system)
    yield "template", _long(prompt.template)


def _long(text: str) -> str:
    """A literal of several lines where that can hold the text, so that people can read it."""
    is_plain = all(letter in "\n\t" or letter.isprintable() for letter in text)
    if not is_plain or "'''" in text or text.endswith("'"):
        return _text(text)
    return f"'''\n{text}'''"


def _text(text: str) -> str:
    """A basic string: TOML's escapes are those of JSON, but for DEL, which JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
