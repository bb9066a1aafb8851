"""Find what the short names of addresses and the command line stand for: graders, items, topics and measures.

Measures by short names, as addresses and the command line have them: `cover-4`, `P_20:5`, `judgments/map`.

A name may begin with whose labels it scores (`judgments/`, `grader-7/`); `grading.measures.names` reads the
rest, in our spelling or ir_measures'. What it leaves out is the board's. Scores of citations are named as
`rubricweb.support.board` says: `support/precision`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from grading.errors import UnknownMeasure, UnknownSlice
from grading.measures import CUTOFF, MIN_ANSWERS, MIN_GRADE, ItemMeasure, Parameter, names, registry
from grading.measures.cover import LabelMode
from grading.statistics.calibrated_labels import TooFewRatings
from grading.topic_attributes import TopicSlice, find_slice
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.corpus import run_slices
from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import RunSlice
from rubricweb.graders.rated_cells import calibrated_maps
from rubricweb.grades.configs import default_min_grade, is_in_context, kinds_of
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by, default_bank, graders, scored_graders
from rubricweb.leaderboards.board import BoardError, BoardSpec, MeasureColumn
from rubricweb.support import board as support

Word = TypeVar("Word", bound=StrEnum)
MAX_COLUMNS = 20
JUDGMENTS = "judgments"


def find_grader(
    collection: Collection,
    *,
    prompt_class: str = "",
    llm: str = "",
    backend: str = "",
    pk: int | None = None,
) -> GraderConfig:
    """Return the one grader of these names, or of that `pk`, that has grades here; "" is any name."""
    rows = [row for row in graders(collection) if not is_in_context(row.config)]
    named = [
        row.config
        for row in rows
        if prompt_class in ("", row.config.prompt_class)
        and llm in ("", row.config.llm)
        and backend in ("", row.config.backend)
        and pk in (None, row.config.pk)
    ]
    description = (llm or "any model") + (f" with prompt class {prompt_class}" if prompt_class else "")
    description += f" on back-end {backend}" if backend else ""
    description += f" with id {pk}" if pk is not None else ""
    if not named:
        available = _listed(grader_name(row.config) for row in rows if row.config.purpose != Purpose.EXTRACT)
        raise BoardError(
            "grader", f"{collection.slug} has no grades by {description}; there are grades by {available}"
        )
    scored = [config for config in named if config.purpose != Purpose.EXTRACT]
    if len(scored) > 1:
        several = _listed(
            f"{grader_name(config)}, {config.get_purpose_display()}, id {config.pk}" for config in scored
        )
        named_so = description if llm or prompt_class else "in the collection"
        text = f"several graders are {named_so}: {several}; name one by its back-end or its id"
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
            available = _listed(collection.banks.values_list("name", flat=True))
            raise BoardError("bank", f"{collection.slug} has no bank {name}; its banks are {available}")
        return bank
    graded = banks_graded_by(config, collection)
    if len(graded) != 1:
        some = "several banks have" if graded else "no bank has"
        available = _listed(bank.name for bank in graded or collection.banks.all())
        raise BoardError(
            "bank", f"{some} items graded by {grader_name(config)}; name one bank of {available}"
        )
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
        registered = measure.registered
        if isinstance(registered, ItemMeasure) and registered.workbench is None:
            raise BoardError("measure", f"the Workbench does not define {measure.name}")
        if measure.uses_labels and config.purpose == Purpose.VERIFY:
            # The label of a passage with verified answers is how many of them are right.
            return replace(measure, mode=LabelMode.COUNT, min_grade=1)
    return measure


def calibrated(
    config: GraderConfig, bank: Bank | None, measure: MeasureSpec, field: str = "mode"
) -> MeasureSpec:
    """Return the measure; with the maps from the grader's grades to labels where its mode is CALIBRATED."""
    if measure.mode is not LabelMode.CALIBRATED:
        return measure
    if bank is None or config.purpose != Purpose.RATE:
        raise BoardError(field, f"{grader_name(config)} does not rate items: nothing of it is calibrated")
    if measure.is_workbench:
        raise BoardError("definition", "the Workbench has no calibrated labels")
    try:
        return replace(measure, label_maps=calibrated_maps(bank, config))
    except TooFewRatings as error:
        raise BoardError(field, f"{error}") from error


def canonical_name(name: str) -> str:
    """Return the measure's own name: `ndcg_cut_10` for `ndcg_cut.10`."""
    try:
        return registry.find(name).name
    except UnknownMeasure as error:
        raise BoardError("measure", str(error)) from error


def check_labels(spec: BoardSpec) -> BoardSpec:
    """Return `spec`, unless its subtopics have no such definition, or its labels no such ratings."""
    if spec.measure.mode is LabelMode.CALIBRATED and spec.source is not RatingSource.GRADER:
        raise BoardError("source", "calibrated labels are made of the grader's own grades")
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


def find_runs(collection: Collection, task: str, names: str) -> RunSlice | None:
    """Return the runs of that task and of those names; None without either: all runs."""
    try:
        return run_slices.find_runs(collection, task, names)
    except run_slices.UnknownRuns as error:
        raise BoardError(error.field, str(error)) from error


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
        available = sorted(set(items.values_list("facet_id", flat=True)) - {""})
        if spec.facet not in available:
            text = f"topic {spec.topic} has no items of subtopic {spec.facet}; there are {_listed(available)}"
            raise BoardError("facet", text)
    return spec


def find_version(bank: Bank | None, number: int | None) -> BankVersion | None:
    """Return the version of that number; None without a number: the bank as it is now."""
    if number is None:
        return None
    version = bank.versions.filter(number=number).first() if bank else None
    if version is None:
        available = _listed(f"{row.number} ({row.name})" for row in bank.versions.all()) if bank else ""
        raise BoardError("version", f"no version {number} of bank {bank}; there are {available or 'none'}")
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


def tokens(text: str) -> tuple[str, ...]:
    """Return the names between commas or spaces, each once, with sets such as `rag24` spelled out.

    >>> tokens("cover-4, P_20:5 cover-4, P(rel=2) @ 20")
    ('cover-4', 'P_20:5', 'P(rel=2)@20')
    """
    sets = registry.measure_sets()
    return tuple(dict.fromkeys(token for name in names.split(text) for token in sets.get(name, (name,))))


def with_columns(spec: BoardSpec, text: str) -> BoardSpec:
    """Return the board with further columns, named between commas; `rag24` is a set. Raise BoardError."""
    named = tokens(text)
    if len(named) > MAX_COLUMNS:
        raise BoardError("columns", f"{len(named)} columns, expected at most {MAX_COLUMNS}")
    columns = [_column(token, spec) for token in named]
    own = [(column.token, column.measure) for column in columns if column.is_own]
    labels = iter(distinct_labels([("", spec.measure), *own])[1:])
    columns = [replace(column, label=next(labels)) if column.is_own else column for column in columns]
    # Columns of the same label, such as of two graders of one name, are told apart by their tokens.
    counts = Counter(column.label for column in columns)
    distinct = tuple(
        replace(column, label=f"{column.label} ({column.token})") if counts[column.label] > 1 else column
        for column in columns
    )
    return replace(spec, columns=distinct)


def parse_measures(text: str) -> tuple[str, ...]:
    """Return the names of `tokens`, trec_eval's in their usual form. Raise BoardError for unknown ones."""
    return tuple(dict.fromkeys(_usual(token) for token in tokens(text)))


def _usual(token: str) -> str:
    if token in registry.short_names():
        return token
    measure = parse_measure(token, MeasureSpec())
    return measure.name if measure == MeasureSpec(measure.name) and not measure.spelling else token


def parse_measure(token: str, measure: MeasureSpec) -> MeasureSpec:
    """Return the measure that a name without a source stands for; what it leaves out is that of `measure`."""
    try:
        named = names.parse(token)
    except UnknownMeasure as error:
        raise BoardError("measure", str(error)) from error
    return replace(
        measure,
        name=named.name,
        cutoff=measure.cutoff if named.cutoff is None else named.cutoff,
        min_grade=measure.min_grade if named.min_grade is None else named.min_grade,
        relevant=measure.relevant if named.relevant is None else named.relevant,
        is_judged_only=named.is_judged_only,
        spelling=named.spelling,
    )


def distinct_labels(named: Iterable[tuple[str, MeasureSpec]]) -> list[str]:
    """Return the label of each measure, with its threshold, and then its name, where two would be the same.

    >>> measures = MeasureSpec(), MeasureSpec(min_grade=1), MeasureSpec("map")
    >>> distinct_labels(zip(("", "cover-1", "map"), measures))
    ['Rubric-Cover@20 ≥ 4', 'Rubric-Cover@20 ≥ 1', 'map']
    """
    pairs = list(named)
    counts = Counter(measure.label for _, measure in pairs)
    labels = [
        measure.label_with_threshold if counts[measure.label] > 1 else measure.label for _, measure in pairs
    ]
    counts = Counter(labels)
    return [
        f"{label} ({token})" if counts[label] > 1 and token else label
        for (token, _), label in zip(pairs, labels, strict=True)
    ]


def _column(token: str, spec: BoardSpec) -> MeasureColumn:
    source, _, name = token.rpartition("/")
    if source == JUDGMENTS:
        return _judged(token, name, spec)
    if support.is_source(source):
        try:
            supported = support.find(spec.collection, source, name)
        except support.UnknownColumn as error:
            raise BoardError("columns", str(error)) from error
        by_labels = MeasureSpec(registry.DEFAULT_OF_LABELS)
        return MeasureColumn(token, supported.label, by_labels, support=supported)
    if not source:
        measure = _in_field(spec.config, name, spec.measure)
        return MeasureColumn(token, measure.label, measure)
    pk = source.removeprefix("grader-")
    scored = scored_graders(spec.collection)
    grader = next((row.config for row in scored if f"{row.config.pk}" == pk), None)
    if grader is None:
        available = ", ".join(f"grader-{row.config.pk} ({row.config})" for row in scored) or "none"
        raise BoardError("columns", f"no {source} with grades here; there are {available}")
    base = replace(spec.measure, min_grade=default_min_grade(grader), relevant=0)
    bank = _bank_of(grader, spec)
    measure = calibrated(grader, bank, _in_field(grader, name, base), "columns")
    has_own_threshold = measure.min_grade != base.min_grade
    label = measure.label_with_threshold if has_own_threshold else measure.label
    graded = kinds_of(grader)
    column = MeasureColumn(token, "", measure, grader, bank=bank, kinds=graded & spec.kinds or graded)
    is_of_others = (bank, column.kinds) != (spec.bank, spec.kinds)
    return replace(column, label=f"{label}{_of_items(column, spec) if is_of_others else ''} by {grader}")


def _bank_of(grader: GraderConfig, spec: BoardSpec) -> Bank | None:
    """Return the bank whose items the grader is scored on; None for labels.

    It is the board's, unless the grader has grades of other banks only.
    """
    if grader.purpose == Purpose.DIRECT:
        return None
    graded = banks_graded_by(grader, spec.collection)
    if spec.bank in graded or spec.version:  # of a version, items may have been graded that are retired now
        return spec.bank
    bank = default_bank(spec.collection, grader) if graded else None
    if bank is None:
        raise BoardError("columns", f"grader-{grader.pk} has no grades of items that any rubric has now")
    return bank


def _of_items(column: MeasureColumn, spec: BoardSpec) -> str:
    """Return what the column is scored over, as part of its label."""
    named = f" of rubric {column.bank.name}" if column.bank and spec.bank and column.bank != spec.bank else ""
    return f" of {column.items}{named}"


def _in_field(config: GraderConfig, name: str, measure: MeasureSpec) -> MeasureSpec:
    """Return the measure; an error is shown beside the field of columns."""
    try:
        return check_measure(config, parse_measure(name, measure))
    except BoardError as error:
        raise BoardError("columns", str(error)) from error


def _judged(token: str, name: str, spec: BoardSpec) -> MeasureColumn:
    """Return a measure of the judgments, relevant from the collection's first relevant one, or from `:t`."""
    level = spec.collection.min_relevant
    try:
        measure = parse_measure(name, MeasureSpec(min_grade=level, trec_eval=spec.measure.trec_eval))
    except BoardError as error:
        raise BoardError("columns", str(error)) from error
    if not measure.uses_labels:
        raise BoardError("columns", f"judgments are of passages, and {measure.name} needs items")
    label = measure.label if measure.level == level else measure.label_with_threshold
    return MeasureColumn(token, f"{label} by judgments", measure, is_judgments=True)
