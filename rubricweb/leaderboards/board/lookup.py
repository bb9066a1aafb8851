"""From what a person names (in an address or on the command line) to what a board stands on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from grading.errors import UnknownMeasure
from grading.measures import registry
from grading.measures.base import CUTOFF, MIN_ANSWERS, MIN_GRADE, ItemMeasure, Parameter
from grading.measures.rubric_qrels import LabelMode
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by, graders
from rubricweb.leaderboards.board.types import BoardError, BoardSpec

Word = TypeVar("Word", bound=StrEnum)


def grader_named(
    collection: Collection, *, prompt_class: str, llm: str, backend: str = "", pk: int | None = None
) -> GraderConfig:
    """The one grader of these names that has grades here; `pk` chooses among several."""
    rows = graders(collection)
    named = [
        row.config
        for row in rows
        if (row.config.prompt_class, row.config.llm) == (prompt_class, llm)
        and backend in ("", row.config.backend)
        and pk in (None, row.config.pk)
    ]
    description = f"{llm} with prompt class {prompt_class}" + (f" on back-end {backend}" if backend else "")
    description += f" with id {pk}" if pk is not None else ""
    if not named:
        known = _listed(grader_name(row.config) for row in rows if row.config.purpose != Purpose.EXTRACT)
        raise BoardError(
            "grader", f"{collection.slug} has no grades by {description}; there are grades by {known}"
        )
    scored = [config for config in named if config.purpose != Purpose.EXTRACT]
    if len(scored) > 1:
        several = _listed(
            f"{grader_name(config)}, {config.get_purpose_display()}, id {config.pk}" for config in scored
        )
        text = f"several graders are {description}: {several}; name one by its back-end or its id"
        raise BoardError("grader", text)
    return scored_or_refused(scored[0] if scored else named[0])


def scored_or_refused(config: GraderConfig) -> GraderConfig:
    if config.purpose == Purpose.EXTRACT:
        text = f"{grader_name(config)} extracts answers and gives no ratings: there is nothing to score"
        raise BoardError("grader", text)
    return config


def kinds_chosen(config: GraderConfig, kind: str) -> frozenset[ItemKind]:
    """All kinds that the grader grades, or the one that is named."""
    graded = kinds_of(config)
    if not kind:
        return graded
    if kind not in graded:
        raise BoardError("kind", f"{grader_name(config)} grades {_plural(graded)}, not {kind}s")
    return frozenset({ItemKind(kind)})


def bank_named(collection: Collection, config: GraderConfig, name: str) -> Bank | None:
    """The bank of that name; without a name, the one that the grader graded. A direct grader needs none."""
    if config.purpose == Purpose.DIRECT:
        return None
    if name:
        bank = collection.banks.filter(name=name).first()
        if bank is None:
            known = _listed(collection.banks.values_list("name", flat=True))
            raise BoardError("bank", f"{collection.slug} has no bank {name}; its banks are {known}")
        return bank
    graded = banks_graded_by(config, collection)
    if len(graded) != 1:
        some = "several banks have" if graded else "no bank has"
        known = _listed(bank.name for bank in graded or collection.banks.all())
        raise BoardError("bank", f"{some} items graded by {grader_name(config)}; name one bank of {known}")
    return graded[0]


def measure_chosen(config: GraderConfig, measure: MeasureSpec) -> MeasureSpec:
    """`measure` under its full name, once every part of it is within its range."""
    _check(MIN_GRADE, measure.min_grade)
    _check(CUTOFF, measure.cutoff)
    _check(MIN_ANSWERS, measure.min_answers)
    measure = replace(measure, name=measure_named(measure.name))
    if not measure.uses_labels and config.purpose == Purpose.DIRECT:
        text = (
            f"{grader_name(config)} labels passages and {measure.name} needs items: use a trec_eval measure"
        )
        raise BoardError("measure", text)
    if measure.is_workbench:
        return _of_the_workbench(config, measure)
    return measure


def _of_the_workbench(config: GraderConfig, measure: MeasureSpec) -> MeasureSpec:
    """It defines few measures of items, and without ratings its label is the number of right answers."""
    registered = measure.registered
    if isinstance(registered, ItemMeasure) and registered.workbench is None:
        raise BoardError("measure", f"the Workbench does not define {measure.name}")
    if measure.uses_labels and config.purpose == Purpose.VERIFY:
        return replace(measure, mode=LabelMode.COUNT, min_grade=1)
    return measure


def measure_named(name: str, *, field: str = "measure") -> str:
    """Return the measure's own name: `ndcg_cut_10` for `ndcg_cut.10`."""
    try:
        return registry.find(name).name
    except UnknownMeasure as error:
        raise BoardError(field, str(error)) from error


def units_chosen(spec: BoardSpec) -> BoardSpec:
    """`spec`, unless it asks for subtopics by a definition that has none."""
    if spec.by_subtopic and spec.measure.is_workbench:
        raise BoardError("definition", "the Workbench takes the items of whole topics, not of subtopics")
    return spec


def scope_chosen(spec: BoardSpec) -> BoardSpec:
    """`spec`, once the topic and subtopic that it is limited to are there."""
    if spec.facet and not spec.topic:
        raise BoardError("topic", f"name the topic of the subtopic {spec.facet}")
    topics = spec.collection.topics.filter(query_id=spec.topic) if spec.topic else None
    if topics is not None and not topics.exists():
        raise BoardError("topic", f"{spec.collection.slug} has no topic {spec.topic}")
    if spec.facet and spec.bank is not None:
        items = spec.bank.items.active().filter(topic__query_id=spec.topic)
        known = sorted(set(items.values_list("facet_id", flat=True)) - {""})
        if spec.facet not in known:
            text = f"topic {spec.topic} has no items of subtopic {spec.facet}; there are {_listed(known)}"
            raise BoardError("facet", text)
    return spec


def version_numbered(bank: Bank | None, number: int | None) -> BankVersion | None:
    """The version of that number; without a number, the bank as it is now."""
    if number is None:
        return None
    found = bank.versions.filter(number=number).first() if bank else None
    if found is None:
        known = (
            _listed(f"{version.number} ({version.name})" for version in bank.versions.all()) if bank else ""
        )
        raise BoardError("version", f"no version {number} of bank {bank}; there are {known or 'none'}")
    return found


def one_of(kind: type[Word], name: str, field: str) -> Word:
    """A member of an enumeration by its name."""
    try:
        return kind(name)
    except ValueError:
        raise BoardError(field, f"no {field} {name!r}; known are {_listed(kind)}") from None


def mode_named(name: str) -> LabelMode:
    try:
        return LabelMode(name)
    except ValueError:
        raise BoardError("mode", f"no label mode {name!r}; known are {_listed(LabelMode)}") from None


def grader_name(config: GraderConfig) -> str:
    """One line that tells graders apart: llm, prompt, whose answers it verifies, back-end."""
    return f"{config} ({config.backend})"


def _check(parameter: Parameter, value: int) -> None:
    lowest, highest = parameter.lowest, parameter.highest
    if not lowest <= value <= highest:
        name = parameter.name.replace("_", " ")
        raise BoardError(parameter.name, f"{name} is {value}, expected {lowest} to {highest}")


def _plural(kinds: Iterable[ItemKind]) -> str:
    return " and ".join(sorted(f"{kind}s" for kind in kinds))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
