"""Whether a prompt that somebody wrote can be asked, and its replies be stored."""

from __future__ import annotations

import re

from grading.errors import BadPrompt, UnknownPlaceholder
from grading.prompts.catalogue import by_class
from grading.prompts.prompt import PLACEHOLDERS, Prompt
from grading.prompts.rules import ParseRule
from grading.types import MAX_RATING, MIN_RATING, ItemKind

LONGEST = 20_000
"""Characters of a prompt's own text."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_IN_BRACES = re.compile(r"\{\s*([^\W\d]\w*)\s*\}")
_LABEL = re.compile(r"[^\W_][\w -]{0,39}")
_ITEM = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "nugget", ItemKind.DIRECT: "query"}


def check(prompt: Prompt) -> None:
    """Raise BadPrompt or UnknownPlaceholder with what to correct."""
    _check_name(prompt.prompt_class)
    if len(prompt.system) + len(prompt.template) > LONGEST:
        raise BadPrompt(f"the prompt is longer than {LONGEST:,} characters")
    _check_kinds(prompt.kinds)
    _check_placeholders(prompt)
    _check_scale(prompt)
    if prompt.rule is ParseRule.LABEL:
        _check_labels(prompt)
    elif prompt.labels:
        raise BadPrompt(f"labels are read by the rule {ParseRule.LABEL}, not by {prompt.rule}")


def _check_name(prompt_class: str) -> None:
    if not _NAME.fullmatch(prompt_class):
        raise BadPrompt("a prompt class is a letter and then letters, digits or _, 64 at most")
    if prompt_class in by_class():
        raise BadPrompt(f"{prompt_class} is the class of a published prompt; choose another name")


def _check_kinds(kinds: frozenset[ItemKind]) -> None:
    if not kinds:
        raise BadPrompt("a prompt is worded for questions, for nuggets, for both, or for direct grading")
    if ItemKind.DIRECT in kinds and len(kinds) > 1:
        raise BadPrompt("a prompt for direct grading cannot be for questions or nuggets too")


def _check_placeholders(prompt: Prompt) -> None:
    named = _IN_BRACES.findall(prompt.system + "\n" + prompt.template)
    items = sorted(_ITEM[kind] for kind in prompt.kinds)
    usable = [name for name in PLACEHOLDERS if name in items or name not in ("question", "nugget")]
    for name in named:
        if name not in usable:
            known = ", ".join(f"{{{one}}}" for one in usable)
            raise UnknownPlaceholder(f"{{{name}}} is no placeholder of this prompt; it can have {known}")
    found = prompt.placeholders
    if spaced := set(named) - found:
        raise UnknownPlaceholder(f"write {{{min(spaced)}}} without blanks in the braces")
    if not found & set(items):
        raise BadPrompt(
            f"the prompt needs {' or '.join(f'{{{name}}}' for name in items)}, what is asked about"
        )
    if not found & {"context", "answer"}:
        raise BadPrompt("the prompt needs {context}, the text of the passage")


def _check_scale(prompt: Prompt) -> None:
    if prompt.rule is ParseRule.TEXT:
        if prompt.scale:
            raise BadPrompt("a prompt that asks for text has no scale")
        if "answer" in prompt.placeholders:
            raise BadPrompt("a prompt about an {answer} asks for a rating, so it needs a scale")
        return
    if prompt.scale is None:
        raise BadPrompt("a prompt that asks for a rating needs a scale")
    low, high = prompt.scale
    if not MIN_RATING <= low < high <= MAX_RATING:
        raise BadPrompt(f"the scale {low} to {high} must lie within {MIN_RATING} to {MAX_RATING} and rise")
    if prompt.rule in (ParseRule.YES_NO, ParseRule.ANSWER_KEY) and prompt.scale != (0, 1):
        raise BadPrompt(f"the rule {prompt.rule} gives 0 or 1; the scale must be 0 to 1")


def _check_labels(prompt: Prompt) -> None:
    names = [name.lower() for name, _ in prompt.labels]
    low, high = prompt.scale or (MIN_RATING, MAX_RATING)
    if len({rating for _, rating in prompt.labels}) < 2 or len(set(names)) < len(names):
        raise BadPrompt("a prompt that asks for a label needs two or more, each with its own name")
    for name, rating in prompt.labels:
        if not _LABEL.fullmatch(name):
            raise BadPrompt(
                f"the label {name!r} must be words of letters, digits and _, 40 characters at most"
            )
        if not low <= rating <= high:
            raise BadPrompt(f"the label {name!r} has the rating {rating}, out of the scale {low} to {high}")
