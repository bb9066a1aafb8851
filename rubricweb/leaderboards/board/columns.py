"""Measures by short names, as addresses and the command line have them: `cover-4`, `P_20:5`, `judgments/map`.

A name may begin with whose labels it scores (`judgments/`, `grader-7/`) and end with the passages that it
looks at (`@10`, for measures of items) and the lowest grade that counts (`:5`). What it leaves out is the
board's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from grading.measures.trec_eval import takes_gains
from grading.types import MAX_RATING
from rubricweb.corpus.models import Collection
from rubricweb.grades.defaults import scored_graders
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scales import default_min_grade
from rubricweb.grades.scoring import ITEM_MEASURES, NUGGETS, RUBRIC_COVER, MeasureSpec
from rubricweb.leaderboards.board import choices
from rubricweb.leaderboards.board.types import BoardSpec, MeasureColumn
from rubricweb.leaderboards.errors import BoardError

MAX_COLUMNS = 20
RAG24 = ("cover-1", "cover-4", "cover-5", "qrels-ndcg", "qrels-1", "qrels-4", "qrels-5")
"""The measures of the TREC RAG'24 rubric evaluation (TREMA-UNH at TREC RAG, 7), all at 20 passages."""
NUGGET_SET = (
    "nuggets_strict_vital",
    "nuggets_strict_all",
    "nuggets_vital",
    "nuggets_all",
    "nuggets_weighted",
)
SETS = {"rag24": RAG24}
"""Names that stand for several columns."""
JUDGMENTS = "judgments"
_ALIAS = re.compile(r"(cover|qrels)-([1-5]|ndcg)")
_TOKEN = re.compile(r"(?:(judgments|grader-[0-9]{1,9})/)?([A-Za-z0-9_.]+)(?:@([0-9]{1,6}))?(?::([0-9]))?")
_NAMES = {
    RUBRIC_COVER: "Rubric-Cover",
    "normalised_cover": "Normalised cover",
    "weighted_cover": "Weighted cover",
    "alpha_ndcg": "\N{GREEK SMALL LETTER ALPHA}-nDCG",
}


def tokens(words: str) -> tuple[str, ...]:
    """The names between commas or spaces, each once, with sets such as `rag24` spelled out.

    >>> tokens("cover-4, P_20:5 cover-4")
    ('cover-4', 'P_20:5')
    """
    named = words.replace(",", " ").split()
    return tuple(dict.fromkeys(token for name in named for token in SETS.get(name, (name,))))


def with_columns(spec: BoardSpec, words: str) -> BoardSpec:
    """The board with further columns, from names between commas; `rag24` is a set. Raises BoardError."""
    named = tokens(words)
    if len(named) > MAX_COLUMNS:
        raise BoardError("columns", f"{len(named)} columns, expected at most {MAX_COLUMNS}")
    columns = [_column(token, spec) for token in named]
    own = [(column.token, column.measure) for column in columns if column.is_own]
    labels = iter(distinct_labels([("", spec.measure), *own])[1:])
    columns = [replace(column, label=next(labels)) if column.is_own else column for column in columns]
    return replace(spec, columns=_told_apart(columns))


def measures_named(words: str) -> tuple[str, ...]:
    """The names of `tokens`, trec_eval's in their usual form. Raises BoardError for what is no measure."""
    return tuple(dict.fromkeys(_usual(token) for token in tokens(words)))


def _usual(token: str) -> str:
    measure = measure_of(token, MeasureSpec())
    return measure.name if measure == MeasureSpec(measure.name) and not _ALIAS.fullmatch(token) else token


def measure_of(token: str, measure: MeasureSpec) -> MeasureSpec:
    """The measure that a name without a source stands for."""
    if alias := _ALIAS.fullmatch(token):
        return _rag24(alias, measure)
    found = _TOKEN.fullmatch(token)
    if not found or found[1]:
        raise BoardError("measure", f"{token!r} is no measure; examples are cover-4, ndcg_cut_10, P_20:5")
    name = choices.measure_named(found[2])
    cutoff = int(found[3]) if found[3] else measure.cutoff
    if found[3] and name not in ITEM_MEASURES:
        raise BoardError(
            "measure", f"{token}: a measure of trec_eval has its cutoff in its name, as P_20 has"
        )
    min_grade, relevant = measure.min_grade, measure.relevant
    if found[4]:
        min_grade, relevant = int(found[4]), 0
        if not 1 <= min_grade <= MAX_RATING:
            raise BoardError("measure", f"{token}: grades count from 1 to {MAX_RATING}")
    return replace(measure, name=name, cutoff=cutoff, min_grade=min_grade, relevant=relevant)


def label_of(measure: MeasureSpec, *, grade: bool = False) -> str:
    """As people write it: Rubric-Cover@20, P_20, and with `grade` from which grade on."""
    reached = f" \N{GREATER-THAN OR EQUAL TO} {measure.min_grade}" if grade else ""
    if measure.is_trec:
        return measure.name if takes_gains(measure.name) else measure.name + reached
    short = measure.name.removeprefix(NUGGETS).replace("_", " ")
    return f"{_NAMES.get(measure.name, f'Nuggets, {short}')}@{measure.cutoff}{reached}"


def score_label(spec: BoardSpec) -> str:
    """The head of the column that ranks the runs, different from those of all further columns."""
    return distinct_labels([("", spec.measure), *((c.token, c.measure) for c in spec.columns if c.is_own)])[0]


def distinct_labels(named: Iterable[tuple[str, MeasureSpec]]) -> list[str]:
    """`label_of` each measure, with its threshold, and then its name, where two labels would be the same.

    >>> measures = MeasureSpec(), MeasureSpec(min_grade=1), MeasureSpec("map")
    >>> distinct_labels(zip(("", "cover-1", "map"), measures))
    ['Rubric-Cover@20 ≥ 4', 'Rubric-Cover@20 ≥ 1', 'map']
    """
    pairs = list(named)
    plain = [label_of(measure) for _, measure in pairs]
    counts = Counter(plain)
    with_grade = [
        label_of(measure, grade=counts[label] > 1) for (_, measure), label in zip(pairs, plain, strict=True)
    ]
    counts = Counter(with_grade)
    return [
        f"{label} ({token})" if counts[label] > 1 and token else label
        for (token, _), label in zip(pairs, with_grade, strict=True)
    ]


def _told_apart(columns: list[MeasureColumn]) -> tuple[MeasureColumn, ...]:
    """Columns of one label, such as those of two graders of one name, say how they are asked for."""
    counts = Counter(column.label for column in columns)
    return tuple(
        replace(column, label=f"{column.label} ({column.token})") if counts[column.label] > 1 else column
        for column in columns
    )


def _column(token: str, spec: BoardSpec) -> MeasureColumn:
    source, _, name = token.rpartition("/")
    measure = spec.measure
    if source == JUDGMENTS:
        return _judged(token, name, spec)
    if not source:
        wanted = _in_field(spec.config, name, measure)
        return MeasureColumn(token, label_of(wanted), wanted)
    other = _grader(spec.collection, source)
    base = replace(measure, min_grade=default_min_grade(other), relevant=0)
    wanted = _in_field(other, name, base)
    return MeasureColumn(
        token, f"{label_of(wanted, grade=wanted.min_grade != base.min_grade)} by {other}", wanted, other
    )


def _in_field(config: GraderConfig, name: str, measure: MeasureSpec) -> MeasureSpec:
    """Whatever is wrong with a column is told beside the field of columns."""
    try:
        return choices.measure_chosen(config, measure_of(name, measure))
    except BoardError as error:
        raise BoardError("columns", str(error)) from error


def _judged(token: str, name: str, spec: BoardSpec) -> MeasureColumn:
    """A measure of the judgments, relevant from the collection's first relevant one, or from `:t`."""
    level = spec.collection.min_relevant
    try:
        measure = measure_of(name, MeasureSpec(min_grade=level))
    except BoardError as error:
        raise BoardError("columns", str(error)) from error
    if not measure.is_trec:
        raise BoardError("columns", f"judgments are of passages, and {measure.name} needs items")
    label = label_of(measure, grade=measure.level != level)
    return MeasureColumn(token, f"{label} by judgments", measure, is_judgments=True)


def _grader(collection: Collection, source: str) -> GraderConfig:
    wanted = source.removeprefix("grader-")
    scored = scored_graders(collection)
    found = next((row.config for row in scored if f"{row.config.pk}" == wanted), None)
    if found is None:
        known = ", ".join(f"grader-{row.config.pk} ({row.config})" for row in scored) or "none"
        raise BoardError("columns", f"no {source} with grades here; there are {known}")
    return found


def _rag24(alias: re.Match[str], measure: MeasureSpec) -> MeasureSpec:
    kind, what = alias[1], alias[2]
    plain = replace(measure, cutoff=20, relevant=0)
    if what == "ndcg":
        if kind == "cover":
            raise BoardError("measure", "there is no cover-ndcg; there are " + ", ".join(RAG24))
        return replace(plain, name="ndcg_cut_20")
    name = RUBRIC_COVER if kind == "cover" else "P_20"
    return replace(plain, name=name, min_grade=int(what))
