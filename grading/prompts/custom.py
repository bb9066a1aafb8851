"""People's own prompts: checked before they are asked, and named by a digest of their definition.

Such a prompt is stored in its grader config, as the option `prompt` (`as_options`, `from_options`), and never
replaces a published one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from grading.errors import BadPrompt
from grading.prompts.catalogue import by_class
from grading.prompts.checks import check
from grading.prompts.prompt import Prompt
from grading.prompts.reading import ParseRule
from grading.types import ItemKind, Purpose

if TYPE_CHECKING:
    from grading.graders.base import JSON

Scale = tuple[int, int]
Choice = TypeVar("Choice", ItemKind, ParseRule)

_DIGEST = 12
"""Hex digits of the digest in a prompt id: a clash within one installation is out of the question."""
_BINARY = (ParseRule.YES_NO, ParseRule.ANSWER_KEY)
_OPTIONS = ("template", "system", "kinds", "scale", "parse", "labels", "strict", "min_grade")


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


def usual_min_grade(purpose: Purpose, scale: Scale) -> int:
    """The lowest rating that covers where the prompt states none.

    Four fifths of the scale: 4 of 0 to 5, 2 of 0 to 2. Of direct labels the upper half: 2 of UMBRELA's 0 to 3
    and of TREC RAG's 0 to 4, 1 of Thomas's 0 to 2.

    >>> [usual_min_grade(Purpose.RATE, (0, highest)) for highest in (1, 2, 3, 5)]
    [1, 2, 3, 4]
    >>> [usual_min_grade(Purpose.DIRECT, (0, highest)) for highest in (1, 2, 3, 4)]
    [1, 1, 2, 2]
    """
    lowest, highest = scale
    share = 0.5 if purpose is Purpose.DIRECT else 0.8
    return lowest + math.ceil(share * (highest - lowest))


def _implied(rule: ParseRule, labels: Mapping[str, int]) -> Scale | None:
    """The scale that a rule implies."""
    if rule is ParseRule.LABEL and labels:
        return min(labels.values()), max(labels.values())
    return (0, 1) if rule in _BINARY else None


def is_own(prompt: Prompt) -> bool:
    """Whether it is an own prompt, which travels in the options of its grader."""
    return prompt.prompt_class not in by_class()


def as_options(prompt: Prompt) -> dict[str, JSON]:
    """The definition of an own prompt that a grader config keeps as the option `prompt`."""
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
    prompt = from_template(
        prompt_class,
        cast("str", options["template"]),
        _kinds(options.get("kinds")),
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


def _kinds(value: JSON) -> list[ItemKind]:
    if not isinstance(value, list):
        raise BadPrompt("the kinds of a prompt must be a list, of question and nugget or of direct")
    return [_one_of(ItemKind, kind, "kinds") for kind in value]


def _scale(value: JSON) -> Scale | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2 or any(type(end) is not int for end in value):
        raise BadPrompt("the scale of a prompt must be its lowest and its highest rating, two whole numbers")
    return cast("int", value[0]), cast("int", value[1])


def _labels(value: JSON) -> dict[str, int]:
    """From pairs: a list keeps their order in every database, and the first name of a rating is its name."""
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
