"""Check that an own prompt can be asked, and its replies stored."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grading.errors import BadPrompt, UnknownPlaceholder
from grading.prompts.catalogue import by_class
from grading.prompts.prompt import PLACEHOLDERS, Prompt
from grading.prompts.reading import ParseRule
from grading.types import MAX_RATING, MIN_RATING, ItemKind

LONGEST = 20_000
"""Characters of an own prompt."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_IN_BRACES = re.compile(r"\{\s*([^\W\d]\w*)\s*\}")
_LABEL = re.compile(r"[^\W_][\w -]{0,39}")
_ITEM = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "nugget", ItemKind.DIRECT: "query"}


def check(prompt: Prompt) -> None:
    """Raise BadPrompt or UnknownPlaceholder with what to correct."""
    _check_name(prompt.prompt_class)
    if len(prompt.system) + len(prompt.template) > LONGEST:
        raise BadPrompt(f"the prompt is longer than {LONGEST:,} characters", part="template")
    _check_kinds(prompt.kinds)
    _check_placeholders(prompt)
    if prompt.labels or prompt.rule is ParseRule.LABEL:
        _check_labels(prompt)
    _check_scale(prompt)


def _check_name(prompt_class: str) -> None:
    if not _NAME.fullmatch(prompt_class):
        raise BadPrompt(
            "a prompt class is a letter and then letters, digits or _, 64 at most", part="prompt_class"
        )
    if prompt_class in by_class():
        raise BadPrompt(
            f"{prompt_class} is the class of a published prompt; choose another name", part="prompt_class"
        )


def _check_kinds(kinds: frozenset[ItemKind]) -> None:
    if not kinds:
        raise BadPrompt(
            "a prompt is worded for questions, for nuggets, for both, or for direct grading", part="kinds"
        )
    if ItemKind.DIRECT in kinds and len(kinds) > 1:
        raise BadPrompt("a prompt for direct grading cannot be for questions or nuggets too", part="kinds")


def _check_placeholders(prompt: Prompt) -> None:
    """Report everything that is wrong at once."""
    named = dict.fromkeys(_IN_BRACES.findall(prompt.system + "\n" + prompt.template))
    items = sorted(_ITEM[kind] for kind in prompt.kinds)
    usable = [name for name in PLACEHOLDERS if name in items or name not in ("question", "nugget")]
    placeholders, absent = prompt.placeholders, _absent(prompt, items)
    unknown = [name for name in named if name not in usable]
    spaced = [name for name in named if name in usable and name not in placeholders]
    problems = []
    if "answer" in placeholders and (ItemKind.DIRECT in prompt.kinds or len(items) > 1):
        problems.append(
            "{answer} is one to questions or one to nuggets, not to both and not in direct grading"
        )
    if unknown:
        none = "is no placeholder" if len(unknown) == 1 else "are no placeholders"
        problems.append(f"{_listed(unknown, 'and')} {none} of this prompt; it can have {_listed(usable)}")
    if spaced:
        problems.append(f"write {_listed(spaced, 'and')} without blanks in the braces")
    if absent:
        problems.append(f"the prompt needs {' and '.join(absent)}")
    if problems:
        error = UnknownPlaceholder if unknown or spaced else BadPrompt
        raise error("; ".join(problems), part="template")


def _absent(prompt: Prompt, items: list[str]) -> list[str]:
    """Describe the placeholders that are missing."""
    placeholders, absent = prompt.placeholders, []
    if not placeholders & set(items):
        absent.append(f"{_listed(items, 'or')}, what is asked about")
    if not placeholders & {"context", "answer"}:
        absent.append("{context}, the text of the passage")
    return absent


def _listed(names: Iterable[str], word: str = ",") -> str:
    glue = ", " if word == "," else f" {word} "
    return glue.join(f"{{{name}}}" for name in names)


def _check_scale(prompt: Prompt) -> None:
    if prompt.rule is ParseRule.TEXT:
        if prompt.scale:
            raise BadPrompt("a prompt that asks for text has no scale", part="scale")
        if prompt.min_grade is not None:
            raise BadPrompt("a prompt that asks for text has no threshold", part="min_grade")
        if "answer" in prompt.placeholders:
            raise BadPrompt("a prompt about an {answer} asks for a rating, so it needs a scale", part="scale")
        return
    if prompt.scale is None:
        raise BadPrompt("a prompt that asks for a rating needs a scale", part="scale")
    low, high = prompt.scale
    if not MIN_RATING <= low < high <= MAX_RATING:
        raise BadPrompt(
            f"the scale {low} to {high} must lie within {MIN_RATING} to {MAX_RATING} and rise", part="scale"
        )
    if prompt.rule in (ParseRule.YES_NO, ParseRule.ANSWER_KEY) and prompt.scale != (0, 1):
        raise BadPrompt(f"the rule {prompt.rule} gives 0 or 1; the scale must be 0 to 1", part="scale")
    if prompt.min_grade is not None and not low < prompt.min_grade <= high:
        text = f"the threshold {prompt.min_grade} must be above {low} and at most {high}"
        raise BadPrompt(text, part="min_grade")


def _check_labels(prompt: Prompt) -> None:
    """Rule LABEL reads labels; for other rules they are only names of ratings."""
    if prompt.rule is ParseRule.TEXT:
        raise BadPrompt("a prompt that asks for text has no labels", part="labels")
    names = [name.lower() for name, _ in prompt.labels]
    if len(set(names)) < len(names):
        raise BadPrompt("each label needs its own name", part="labels")
    if prompt.rule is ParseRule.LABEL and len({rating for _, rating in prompt.labels}) < 2:
        raise BadPrompt(
            "a prompt that asks for a label needs two or more, of different ratings", part="labels"
        )
    low, high = prompt.scale or (MIN_RATING, MAX_RATING)
    for name, rating in prompt.labels:
        if not _LABEL.fullmatch(name):
            raise BadPrompt(
                f"the label {name!r} must be words of letters, digits and _, 40 characters at most",
                part="labels",
            )
        if not low <= rating <= high:
            raise BadPrompt(
                f"the label {name!r} has the rating {rating}, out of the scale {low} to {high}", part="labels"
            )
