"""What GraderSpec.options may set, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self, cast

from grading.errors import GraderUnavailable
from grading.graders.base import GraderSpec, refuse_unknown_options


class Options:
    """Base of the back-ends' frozen dataclasses; a field's type is that of its default."""

    __slots__ = ()
    CHOICES: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The values that an option can have."""
    LEAST: ClassVar[Mapping[str, float]] = {}
    """The lowest value that a number can have."""

    @classmethod
    def of(cls, spec: GraderSpec) -> Self:
        """Raises GraderUnavailable for an option that does not exist or a value that it cannot have."""
        defaults = {field.name: field.default for field in fields(cast("Any", cls))}
        refuse_unknown_options(spec, defaults)
        options = cls(**cast("dict[str, Any]", spec.settings))  # checked below
        for name, default in defaults.items():
            problem = cls._problem(name, getattr(options, name), default)
            if problem:
                raise GraderUnavailable(f"option {name} must be {problem}")
        return options

    @classmethod
    def _problem(cls, name: str, value: object, default: object) -> str:
        choices = cls.CHOICES.get(name)
        if choices:
            return "" if value in choices else f"one of {', '.join(choices)}"
        if isinstance(default, bool):
            return "" if isinstance(value, bool) else "true or false"
        if isinstance(default, str):
            return "" if isinstance(value, str) else "text"
        numbers = (int, float) if isinstance(default, float) else (int,)
        least = cls.LEAST.get(name, 0)
        # bool is a kind of int, but "true" is no number of tokens
        if isinstance(value, numbers) and not isinstance(value, bool) and value >= least:
            return ""
        return f"a {'whole ' if isinstance(default, int) else ''}number of at least {least}"
