"""Write prompts as the TOML that `catalogue` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from grading.prompts.prompt import Prompt


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
