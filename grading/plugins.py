"""Plug-ins: graders, prompts, measures and formats of other distributions, found by their entry points.

A distribution names its objects under `rubricweb.graders` (a Backend), `rubricweb.prompts` (a Prompt),
`rubricweb.measures` (an ItemMeasure or a LabelMeasure) or `rubricweb.formats` (a Format), one, or several in
a list. They enter the registries beside ours and carry the distribution with its version, which is part of
every grade that they make. docs/help/judges.md shows one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from grading.errors import BadFormat
from grading.graders import registry as graders
from grading.measures import ItemMeasure, LabelMeasure, registry as measures
from grading.prompts import Prompt
from grading.prompts.prompt import by_class

logger = logging.getLogger(__name__)

T = TypeVar("T")


class BadPlugin(Exception):
    """What an entry point names cannot be registered; the text says why."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of ours in another distribution."""

    group: str
    name: str
    distribution: str
    """The name and version of the distribution: "my-judge 1.2"."""
    objects: tuple[str, ...] = ()
    """The names of what was registered."""
    problem: str = ""
    """Why it was left out."""


def load() -> tuple[Plugin, ...]:
    """Register what every installed distribution offers. One that cannot be loaded is left out and named.

    A second call registers what has come since; what is there stays.
    """
    installed = entry_points()
    entries = [entry for group in GROUPS for entry in installed.select(group=group)]
    entries.sort(key=lambda entry: (_distribution(entry), entry.group, entry.name))
    earlier = {(each.group, each.name, each.distribution): each for each in _LOADED}
    _LOADED[:] = [
        earlier.get((entry.group, entry.name, _distribution(entry))) or _load(entry) for entry in entries
    ]
    return loaded()


def loaded() -> tuple[Plugin, ...]:
    """Return the plug-ins that were found at the last `load`, faulty ones included."""
    return tuple(_LOADED)


_LOADED: list[Plugin] = []


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown"


def _load(entry: EntryPoint) -> Plugin:
    distribution, names = _distribution(entry), []
    try:
        offered = entry.load()
        for each in offered if isinstance(offered, Iterable) else (offered,):
            name = GROUPS[entry.group](each, distribution)
            names.append(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a stranger's code raises
        problem = f"{type(error).__name__}: {error}"
        return Plugin(entry.group, entry.name, distribution, tuple(names), problem)
    return Plugin(entry.group, entry.name, distribution, tuple(names))


def _add_backend(offered: object, distribution: str) -> str:
    """Register a back-end; it needs its own package, so that workers without it are asked for nothing."""
    backend = _checked(offered, graders.Backend)
    _require_free(backend.name, graders.BACKENDS)
    requires = backend.requires or (backend.target.partition(".")[0].partition(":")[0],)
    graders.BACKENDS[backend.name] = replace(backend, requires=requires, plugin=distribution)
    return backend.name


def _add_prompt(offered: object, distribution: str) -> str:
    prompt = _checked(offered, Prompt)
    _require_free(prompt.prompt_class, by_class())
    by_class()[prompt.prompt_class] = replace(prompt, plugin=distribution)
    return prompt.prompt_class


def _add_measure(offered: object, distribution: str) -> str:
    measure = _checked(offered, ItemMeasure, LabelMeasure)
    _require_free(measure.name, {each.name for each in measures.MEASURES} | measures.short_names().keys())
    measures.MEASURES.append(replace(measure, plugin=distribution))
    return measure.name


def _add_format(offered: object, distribution: str) -> str:
    """Register a format, for reading: what it raises over a file, or gives amiss, is said of the file."""
    from grading.formats import (
        Format,
        registry as formats,  # here: few processes read files
    )

    each = _checked(offered, Format)
    _require_free(each.name, {other.name for other in (*formats.FORMATS, *formats.PLUGGED)})
    if each.content not in formats.PLUGGABLE:
        expected = ", ".join(formats.PLUGGABLE)
        raise BadPlugin(f"the format {each.name!r} is of {each.content}, expected one of: {expected}")

    def recognises(sample: Any) -> bool:
        try:
            return bool(each.recognises(sample))
        except Exception:
            logger.exception("%s cannot say whether a file is %s", distribution, each.label)
            return False

    def read(path: Path) -> Iterator[Any]:
        try:
            for entry in each.read_chosen(path):
                yield _checked(entry, formats.PLUGGABLE[each.content])
        except BadFormat:
            raise
        except Exception as error:
            problem = f"{distribution} cannot read it as {each.label} ({type(error).__name__}: {error})"
            raise BadFormat(problem, file=path.name) from error

    guarded = replace(each, recognises=recognises, read=read, insist=None, write=None)
    formats.PLUGGED.append(replace(guarded, plugin=distribution))
    return each.name


def _checked(offered: object, *classes: type[T]) -> T:
    if not isinstance(offered, classes):
        expected = " or ".join(each.__name__ for each in classes)
        raise BadPlugin(f"it is a {type(offered).__name__}, expected {expected}")
    return offered


def _require_free(name: str, taken: Iterable[str]) -> None:
    if name in taken:
        raise BadPlugin(f"the name {name!r} is taken")


GROUPS: dict[str, Callable[[object, str], str]] = {
    "rubricweb.graders": _add_backend,
    "rubricweb.prompts": _add_prompt,
    "rubricweb.measures": _add_measure,
    "rubricweb.formats": _add_format,
}
"""What is done with each object that an entry point of the group gives."""
