"""The prompts that graders use: published ones, as data in TOML files, and people's own.

Prompts that people write are checked before they are used, and named by a digest of their definition. Such a
prompt is stored in its grader config, as the option `prompt` (`as_options`, `from_options`), and never
replaces a published one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from grading.errors import BadPrompt, UnknownPlaceholder
from grading.prompts.prompt import PLACEHOLDERS, ParseRule, Prompt, by_class, get, published
from grading.types import MAX_RATING, MIN_RATING, ItemKind, Purpose, usual_min_grade

if TYPE_CHECKING:
    from grading.graders import JSON

__all__ = [
    "PLACEHOLDERS",
    "ParseRule",
    "Prompt",
    "as_options",
    "covering_from",
    "from_options",
    "from_template",
    "get",
    "is_own",
    "published",
]

LONGEST = 20_000
"""Characters of an own prompt."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_IN_BRACES = re.compile(r"\{\s*([^\W\d]\w*)\s*\}")
_LABEL = re.compile(r"[^\W_][\w -]{0,39}")
_ITEM = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "nugget", ItemKind.DIRECT: "query"}
Scale = tuple[int, int]
Choice = TypeVar("Choice", ItemKind, ParseRule)
_DIGEST = 12
"""Hex digits of the digest in a prompt id: a clash within one installation is out of the question."""
_BINARY = (ParseRule.YES_NO, ParseRule.ANSWER_KEY)
_OPTIONS = ("template", "system", "kinds", "scale", "parse", "labels", "strict", "min_grade")


def check(prompt: Prompt) -> None:
    """Raise BadPrompt or UnknownPlaceholder with what to correct."""
    if not _NAME.fullmatch(prompt.prompt_class):
        raise BadPrompt(
            "a prompt class is a letter and then letters, digits or _, 64 at most", part="prompt_class"
        )
    if prompt.prompt_class in by_class():
        raise BadPrompt(
            f"{prompt.prompt_class} is the class of a published prompt; choose another name",
            part="prompt_class",
        )
    if len(prompt.system) + len(prompt.template) > LONGEST:
        raise BadPrompt(f"the prompt is longer than {LONGEST:,} characters", part="template")
    if not prompt.kinds:
        raise BadPrompt(
            "a prompt is worded for questions, for nuggets, for both, or for direct grading", part="kinds"
        )
    if ItemKind.DIRECT in prompt.kinds and len(prompt.kinds) > 1:
        raise BadPrompt("a prompt for direct grading cannot be for questions or nuggets too", part="kinds")
    _check_placeholders(prompt)
    if prompt.labels or prompt.rule is ParseRule.LABEL:
        _check_labels(prompt)
    _check_scale(prompt)


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
    """Check the names of ratings, which rule LABEL reads as labels."""
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


def from_template(
    prompt_class: str,
    template: str,
    kinds: Collection[ItemKind],
    scale: Scale | None = None,
    *,
    system: str = "",
    rule: ParseRule | None = None,
    labels: Mapping[str, int] | None = None,
    is_strict: bool = False,
) -> Prompt:
    """Make an own prompt, whose id depends on its text, scale and rule.

    Without a rule, labels make rule LABEL, a scale makes RATING, otherwise TEXT. Its threshold is that of
    `usual_min_grade`; `covering_from` changes it. Raises BadPrompt or UnknownPlaceholder, which say what to
    correct.
    """
    rule = rule or (ParseRule.LABEL if labels else ParseRule.RATING if scale else ParseRule.TEXT)
    prompt = Prompt(
        prompt_class=prompt_class,
        version="",
        purpose=Purpose.RATE,
        kinds=frozenset(kinds),
        scale=scale or _implied(rule, labels or {}),
        template=template.strip(),
        source="written for this collection",
        rule=rule,
        system=system.strip(),
        labels=tuple((labels or {}).items()),
        is_strict=is_strict,
    )
    check(prompt)
    purpose = _purpose(prompt)
    usual = usual_min_grade(purpose, prompt.scale) if prompt.scale else None
    prompt = replace(prompt, purpose=purpose, min_grade=usual)
    return replace(prompt, version=_digest(prompt))


def covering_from(prompt: Prompt, min_grade: int) -> Prompt:
    """Return the own prompt with another threshold, and so with another id. Raises BadPrompt."""
    changed = replace(prompt, min_grade=min_grade)
    check(changed)
    return replace(changed, version=_digest(changed))


def _implied(rule: ParseRule, labels: Mapping[str, int]) -> Scale | None:
    """Return the scale that a rule implies."""
    if rule is ParseRule.LABEL and labels:
        return min(labels.values()), max(labels.values())
    return (0, 1) if rule in _BINARY else None


def is_own(prompt: Prompt) -> bool:
    """Return whether it is an own prompt, which travels in the options of its grader."""
    return prompt.prompt_class not in by_class()


def as_options(prompt: Prompt) -> dict[str, JSON]:
    """Return the definition of an own prompt that a grader config keeps as the option `prompt`."""
    stored: dict[str, JSON] = {
        "template": prompt.template,
        "system": prompt.system,
        "kinds": [kind.value for kind in sorted(prompt.kinds)],
        "scale": list(prompt.scale) if prompt.scale else None,
        "parse": prompt.rule.value,
        "labels": [[name, rating] for name, rating in prompt.labels],
    }
    if prompt.is_strict:
        stored["strict"] = True
    if prompt.scale and prompt.min_grade not in (None, usual_min_grade(prompt.purpose, prompt.scale)):
        stored["min_grade"] = prompt.min_grade
    return stored


def from_options(prompt_class: str, options: JSON) -> Prompt:
    """Restore the prompt that `as_options` wrote, with the same id. Raises BadPrompt for anything else."""
    if not isinstance(options, Mapping) or not isinstance(options.get("template"), str):
        raise BadPrompt(f"the prompt of {prompt_class} must be an object with a template")
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise BadPrompt(f"a prompt has no {', '.join(unknown)}; it has {', '.join(_OPTIONS)}")
    system, parse = options.get("system") or "", options.get("parse")
    if not isinstance(system, str):
        raise BadPrompt("the system text of a prompt must be text")
    if not isinstance(options.get("strict", False), bool):
        raise BadPrompt("whether a prompt is strict must be true or false")
    if type(options.get("min_grade", 0)) is not int:
        raise BadPrompt("the threshold of a prompt must be a whole number")
    value = options.get("kinds")
    if not isinstance(value, list):
        raise BadPrompt("the kinds of a prompt must be a list, of question and nugget or of direct")
    prompt = from_template(
        prompt_class,
        cast("str", options["template"]),
        [_one_of(ItemKind, kind, "kinds") for kind in value],
        _scale(options.get("scale")),
        system=system,
        rule=_one_of(ParseRule, parse, "parse") if parse else None,
        labels=_labels(options.get("labels") or []),
        is_strict=bool(options.get("strict")),
    )
    return covering_from(prompt, cast("int", options["min_grade"])) if "min_grade" in options else prompt


def _purpose(prompt: Prompt) -> Purpose:
    if prompt.rule is ParseRule.ANSWER_KEY or "answer" in prompt.placeholders:
        return Purpose.VERIFY
    if ItemKind.DIRECT in prompt.kinds:
        return Purpose.DIRECT
    return Purpose.RATE if prompt.scale else Purpose.EXTRACT


def _digest(prompt: Prompt) -> str:
    canonical = json.dumps(as_options(prompt), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:_DIGEST]


def _scale(value: JSON) -> Scale | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2 or any(type(end) is not int for end in value):
        raise BadPrompt("the scale of a prompt must be its lowest and its highest rating, two whole numbers")
    return cast("int", value[0]), cast("int", value[1])


def _labels(value: JSON) -> dict[str, int]:
    """Return labels from pairs: a list keeps their order in every database.

    The first name of a rating is its name.
    """
    pairs = value if isinstance(value, list) else []
    is_right = all(isinstance(p, list) and list(map(type, p)) == [str, int] for p in pairs)
    if not is_right or (value and not pairs):
        raise BadPrompt("the labels of a prompt must be pairs of a name and a whole number")
    return dict(cast("list[tuple[str, int]]", pairs))


def _one_of(choices: type[Choice], value: JSON, name: str) -> Choice:
    try:
        return choices(str(value))
    except ValueError:
        raise BadPrompt(f"{value!r} is no {name} of a prompt; known are {', '.join(choices)}") from None
