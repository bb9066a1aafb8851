"""From what a person names (in an address or on the command line) to what a board stands on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grading.errors import UnknownMeasure
from grading.measures import trec_eval
from grading.measures.rubric_qrels import LabelMode
from grading.types import MAX_RATING, ItemKind, Purpose
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import RUBRIC_COVER, Measure
from rubricweb.grades.selectors import GraderRow, banks_graded_by, graders
from rubricweb.leaderboards.errors import BoardError

MAX_CUTOFF = 100_000
COMMON_MEASURES = (
    RUBRIC_COVER,
    "ndcg_cut_10",
    "ndcg_cut_20",
    "P_10",
    "P_20",
    "map",
    "recip_rank",
    "Rprec",
    "recall_100",
)


def scored_graders(collection: Collection) -> list[GraderRow]:
    """The graders whose grades can be scored, the collection's own first, then by how much they graded."""
    rows = [row for row in graders(collection) if row.config.purpose != Purpose.EXTRACT]
    own = (collection.grader_backend, collection.grader_llm)
    return sorted(rows, key=lambda row: ((row.config.backend, row.config.llm) != own, -row.grades))


def grader_named(collection: Collection, *, prompt_class: str, llm: str, backend: str = "") -> GraderConfig:
    """The one grader of these names that has grades here."""
    rows = graders(collection)
    named = [
        row.config
        for row in rows
        if (row.config.prompt_class, row.config.llm) == (prompt_class, llm)
        and backend in ("", row.config.backend)
    ]
    wanted = f"{llm} with prompt class {prompt_class}" + (f" on back-end {backend}" if backend else "")
    if not named:
        known = _listed(grader_name(row.config) for row in rows if row.config.purpose != Purpose.EXTRACT)
        raise BoardError(
            "grader", f"{collection.slug} has no grades by {wanted}; there are grades by {known}"
        )
    scored = [config for config in named if config.purpose != Purpose.EXTRACT]
    if len(scored) > 1:
        several = _listed(f"{grader_name(config)}, {config.get_purpose_display()}" for config in scored)
        raise BoardError("grader", f"several graders are {wanted}: {several}; name one by its back-end")
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


def default_min_grade(config: GraderConfig) -> int:
    """4 of the 0-5 scale (RUBRIC 4.5); labels and checked answers count from 1."""
    return 4 if config.purpose == Purpose.RATE else 1


def measure_chosen(config: GraderConfig, measure: Measure) -> Measure:
    """`measure` under its full name, once every part of it is within its range."""
    _within("min_grade", measure.min_grade, MAX_RATING)
    _within("cutoff", measure.cutoff, MAX_CUTOFF)
    _within("min_answers", measure.min_answers, MAX_CUTOFF)
    if measure.is_cover:
        if config.purpose == Purpose.DIRECT:
            text = (
                f"{grader_name(config)} labels passages and Rubric-Cover needs items: use a trec_eval measure"
            )
            raise BoardError("measure", text)
        return measure
    return replace(measure, name=measure_named(measure.name))


def measure_named(name: str) -> str:
    """Rubric-Cover, or trec_eval's own name of a measure."""
    if name == RUBRIC_COVER:
        return name
    try:
        return trec_eval.validate(name)
    except UnknownMeasure as error:
        raise BoardError("measure", f"{error}, and {RUBRIC_COVER}") from error


def mode_named(name: str) -> LabelMode:
    try:
        return LabelMode(name)
    except ValueError:
        raise BoardError("mode", f"no label mode {name!r}; known are {_listed(LabelMode)}") from None


def grader_name(config: GraderConfig) -> str:
    """One line that tells graders apart: llm, prompt class, back-end."""
    return f"{config.llm} · {config.prompt_class} ({config.backend})"


def _within(field: str, value: int, highest: int) -> None:
    if not 1 <= value <= highest:
        raise BoardError(field, f"{field.replace('_', ' ')} is {value}, expected 1 to {highest}")


def _plural(kinds: Iterable[ItemKind]) -> str:
    return " and ".join(sorted(f"{kind}s" for kind in kinds))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
