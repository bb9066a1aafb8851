"""Look up what an address or a command names: graders, banks, versions and measures. All raise BoardError."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from grading.errors import UnknownMeasure, UnknownSlice
from grading.measures import registry
from grading.measures.base import CUTOFF, MIN_ANSWERS, MIN_GRADE, ItemMeasure, Parameter
from grading.measures.cover import LabelMode
from grading.topic_attributes import TopicSlice, find_slice
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by, graders
from rubricweb.leaderboards.board.types import BoardError, BoardSpec

Word = TypeVar("Word", bound=StrEnum)


def find_grader(
    collection: Collection, *, prompt_class: str, llm: str, backend: str = "", pk: int | None = None
) -> GraderConfig:
    """Return the one grader of these names that has grades here; `pk` chooses among several."""
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
    return check_scorable(scored[0] if scored else named[0])


def check_scorable(config: GraderConfig) -> GraderConfig:
    if config.purpose == Purpose.EXTRACT:
        text = f"{grader_name(config)} extracts answers and gives no ratings: there is nothing to score"
        raise BoardError("grader", text)
    return config


def find_kinds(config: GraderConfig, kind: str) -> frozenset[ItemKind]:
    """Return all kinds that the grader grades, or the one that is named."""
    graded = kinds_of(config)
    if not kind:
        return graded
    if kind not in graded:
        raise BoardError("kind", f"{grader_name(config)} grades {_plural(graded)}, not {kind}s")
    return frozenset({ItemKind(kind)})


def find_bank(collection: Collection, config: GraderConfig, name: str) -> Bank | None:
    """Return the bank of that name, or else the one that the grader graded; None for a direct grader."""
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


def check_measure(config: GraderConfig, measure: MeasureSpec) -> MeasureSpec:
    """Return `measure` under its full name, with every parameter within its range."""
    _check(MIN_GRADE, measure.min_grade)
    _check(CUTOFF, measure.cutoff)
    _check(MIN_ANSWERS, measure.min_answers)
    measure = replace(measure, name=canonical_name(measure.name))
    if not measure.uses_labels and config.purpose == Purpose.DIRECT:
        text = (
            f"{grader_name(config)} labels passages and {measure.name} needs items: use a trec_eval measure"
        )
        raise BoardError("measure", text)
    if measure.is_workbench:
        return _of_the_workbench(config, measure)
    return measure


def _of_the_workbench(config: GraderConfig, measure: MeasureSpec) -> MeasureSpec:
    """Return the measure by the Workbench's definition, which few measures of items have.

    The label of a passage with verified answers is how many of them are right.
    """
    registered = measure.registered
    if isinstance(registered, ItemMeasure) and registered.workbench is None:
        raise BoardError("measure", f"the Workbench does not define {measure.name}")
    if measure.uses_labels and config.purpose == Purpose.VERIFY:
        return replace(measure, mode=LabelMode.COUNT, min_grade=1)
    return measure


def canonical_name(name: str) -> str:
    """Return the measure's own name: `ndcg_cut_10` for `ndcg_cut.10`."""
    try:
        return registry.find(name).name
    except UnknownMeasure as error:
        raise BoardError("measure", str(error)) from error


def check_units(spec: BoardSpec) -> BoardSpec:
    """Return `spec`, unless it has subtopics by a definition that has none."""
    if spec.by_subtopic and spec.measure.is_workbench:
        raise BoardError("definition", "the Workbench takes the items of whole topics, not of subtopics")
    return spec


def find_topics(collection: Collection, token: str) -> TopicSlice | None:
    """Return the slice of topics of that name; None without one: all topics."""
    if not token:
        return None
    try:
        return find_slice(collection.topics.attribute_values(), token)
    except UnknownSlice as error:
        raise BoardError("topics", str(error)) from error


def check_scope(spec: BoardSpec) -> BoardSpec:
    """Return `spec` if the topic and subtopic that it is limited to exist."""
    if spec.facet and not spec.topic:
        raise BoardError("topic", f"name the topic of the subtopic {spec.facet}")
    topics = spec.collection.topics.filter(query_id=spec.topic) if spec.topic else None
    if topics is not None and not topics.exists():
        raise BoardError("topic", f"{spec.collection.slug} has no topic {spec.topic}")
    if topics is not None and spec.topic_slice and spec.topic not in spec.topic_slice.query_ids:
        raise BoardError("topic", f"topic {spec.topic} is not one of those with {spec.topic_slice.label}")
    if spec.facet and spec.bank is not None:
        items = spec.bank.all_items.active().filter(topic__query_id=spec.topic)
        known = sorted(set(items.values_list("facet_id", flat=True)) - {""})
        if spec.facet not in known:
            text = f"topic {spec.topic} has no items of subtopic {spec.facet}; there are {_listed(known)}"
            raise BoardError("facet", text)
    return spec


def find_version(bank: Bank | None, number: int | None) -> BankVersion | None:
    """Return the version of that number; None without a number: the bank as it is now."""
    if number is None:
        return None
    version = bank.versions.filter(number=number).first() if bank else None
    if version is None:
        known = _listed(f"{one.number} ({one.name})" for one in bank.versions.all()) if bank else ""
        raise BoardError("version", f"no version {number} of bank {bank}; there are {known or 'none'}")
    return version


def parse_choice(kind: type[Word], name: str, field: str, *, label: str = "") -> Word:
    """Return the member of an enumeration by its name; `label` is what people call the field."""
    try:
        return kind(name)
    except ValueError:
        raise BoardError(field, f"no {label or field} {name!r}; known are {_listed(kind)}") from None


def grader_name(config: GraderConfig) -> str:
    """Return one line that tells graders apart: llm, prompt, whose answers it verifies, back-end."""
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
