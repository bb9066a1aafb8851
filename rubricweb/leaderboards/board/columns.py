"""Measures by short names, as addresses and the command line have them: `cover-4`, `P_20:5`, `judgments/map`.

A name may begin with whose labels it scores (`judgments/`, `grader-7/`) and end with the passages that it
looks at (`@10`, for measures of items) and the lowest grade that counts (`:5`). What it leaves out is the
board's. Scores of citations are named as `rubricweb.support.board` says: `support/precision`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from grading.measures import registry
from grading.measures.base import MIN_GRADE
from grading.types import Purpose
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import default_min_grade, kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by, default_bank, scored_graders
from rubricweb.leaderboards.board import lookup
from rubricweb.leaderboards.board.types import BoardError, BoardSpec, MeasureColumn
from rubricweb.support import board as support

MAX_COLUMNS = 20
JUDGMENTS = "judgments"
_TOKEN = re.compile(r"(?:(judgments|grader-[0-9]{1,9})/)?([A-Za-z0-9_.]+)(?:@([0-9]{1,6}))?(?::([0-9]))?")


def tokens(words: str) -> tuple[str, ...]:
    """Return the names between commas or spaces, each once, with sets such as `rag24` spelled out.

    >>> tokens("cover-4, P_20:5 cover-4")
    ('cover-4', 'P_20:5')
    """
    named = words.replace(",", " ").split()
    sets = registry.measure_sets()
    return tuple(dict.fromkeys(token for name in named for token in sets.get(name, (name,))))


def with_columns(spec: BoardSpec, words: str) -> BoardSpec:
    """Return the board with further columns, named between commas; `rag24` is a set. Raise BoardError."""
    named = tokens(words)
    if len(named) > MAX_COLUMNS:
        raise BoardError("columns", f"{len(named)} columns, expected at most {MAX_COLUMNS}")
    columns = [_column(token, spec) for token in named]
    own = [(column.token, column.measure) for column in columns if column.is_own]
    labels = iter(distinct_labels([("", spec.measure), *own])[1:])
    columns = [replace(column, label=next(labels)) if column.is_own else column for column in columns]
    return replace(spec, columns=_told_apart(columns))


def parse_measures(words: str) -> tuple[str, ...]:
    """Return the names of `tokens`, trec_eval's in their usual form. Raise BoardError for unknown ones."""
    return tuple(dict.fromkeys(_usual(token) for token in tokens(words)))


def _usual(token: str) -> str:
    if token in registry.short_names():
        return token
    measure = parse_measure(token, MeasureSpec())
    return measure.name if measure == MeasureSpec(measure.name) else token


def parse_measure(token: str, measure: MeasureSpec) -> MeasureSpec:
    """Return the measure that a name without a source stands for; what it leaves out is that of `measure`."""
    if short := registry.short_names().get(token):
        min_grade = short.min_grade or measure.min_grade
        return replace(measure, name=short.name, cutoff=short.cutoff, min_grade=min_grade, relevant=0)
    parts = _TOKEN.fullmatch(token)
    if not parts or parts[1]:
        known = ", ".join(registry.short_names())
        text = f"{token!r} is no measure; examples are ndcg_cut_10, P_20:5; of short names there are {known}"
        raise BoardError("measure", text)
    named = replace(measure, name=lookup.canonical_name(parts[2]))
    if parts[3] and named.uses_labels:
        text = f"{token}: a measure of trec_eval has its cutoff in its name, as P_20 has"
        raise BoardError("measure", text)
    if parts[3]:
        named = replace(named, cutoff=int(parts[3]))
    if not parts[4]:
        return named
    min_grade = int(parts[4])
    if not MIN_GRADE.lowest <= min_grade <= MIN_GRADE.highest:
        text = f"{token}: grades count from {MIN_GRADE.lowest} to {MIN_GRADE.highest}"
        raise BoardError("measure", text)
    return replace(named, min_grade=min_grade, relevant=0)


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


def _told_apart(columns: list[MeasureColumn]) -> tuple[MeasureColumn, ...]:
    """Add the token to the labels of columns that have the same, such as of two graders of one name."""
    counts = Counter(column.label for column in columns)
    return tuple(
        replace(column, label=f"{column.label} ({column.token})") if counts[column.label] > 1 else column
        for column in columns
    )


def _column(token: str, spec: BoardSpec) -> MeasureColumn:
    source, _, name = token.rpartition("/")
    if source == JUDGMENTS:
        return _judged(token, name, spec)
    if support.is_source(source):
        return _supported(token, source, name, spec)
    if not source:
        measure = _in_field(spec.config, name, spec.measure)
        return MeasureColumn(token, measure.label, measure)
    grader = _grader(spec.collection, source)
    base = replace(spec.measure, min_grade=default_min_grade(grader), relevant=0)
    measure = _in_field(grader, name, base)
    has_own_threshold = measure.min_grade != base.min_grade
    label = measure.label_with_threshold if has_own_threshold else measure.label
    bank = _bank_of(grader, spec)
    graded = kinds_of(grader)
    column = MeasureColumn(token, "", measure, grader, bank=bank, kinds=graded & spec.kinds or graded)
    is_of_others = (bank, column.kinds) != (spec.bank, spec.kinds)
    return replace(column, label=f"{label}{_of_items(column, spec) if is_of_others else ''} by {grader}")


def _bank_of(grader: GraderConfig, spec: BoardSpec) -> Bank | None:
    """Return the bank whose items the grader is scored on: the board's, unless it has grades of others only;
    None for labels.
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
        return lookup.check_measure(config, parse_measure(name, measure))
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


def _supported(token: str, source: str, name: str, spec: BoardSpec) -> MeasureColumn:
    try:
        column = support.find(spec.collection, source, name)
    except support.UnknownColumn as error:
        raise BoardError("columns", str(error)) from error
    return MeasureColumn(token, column.label, MeasureSpec(registry.DEFAULT_OF_LABELS), support=column)


def _grader(collection: Collection, source: str) -> GraderConfig:
    pk = source.removeprefix("grader-")
    scored = scored_graders(collection)
    config = next((row.config for row in scored if f"{row.config.pk}" == pk), None)
    if config is None:
        known = ", ".join(f"grader-{row.config.pk} ({row.config})" for row in scored) or "none"
        raise BoardError("columns", f"no {source} with grades here; there are {known}")
    return config
