"""What the JSON columns of an archive may hold, and columns whose text is more than text.

Pages read these unchecked, since only this project writes them; an archive may be written by anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import GenericAlias
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

import msgspec
from msgspec import Meta

from grading import prompts
from grading.errors import GradingError
from grading.formats.banks import BY_NAME
from grading.graders import registry
from grading.submissions import rules_from_json
from grading.systems.pipeline import SystemSpec
from grading.types import ItemKind
from rubricweb.arena.judges import PairJudgment
from rubricweb.arena.models import Reason
from rubricweb.banks.convert import KEPT
from rubricweb.imports.contents import ImportOptions
from rubricweb.imports.models import Import
from rubricweb.imports.undo import kinds
from rubricweb.leaderboards.board.columns import COLUMNS, Place, at
from rubricweb.submissions import files
from rubricweb.systems import models

Row = Mapping[str, Any]  # by column
Check = Callable[[Any], object]
"""Raises an error that `check` names where a value does not fit."""
Count = Annotated[int, Meta(ge=0, le=2**31)]
Key = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Number = int | float
Scalar = str | int | float | bool | None
DAY = r"\A\d{4}-\d{2}-\d{2}\Z"
ERRORS = (
    *(msgspec.ValidationError, GradingError, RecursionError),
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
)


class Exact(msgspec.Struct, forbid_unknown_fields=True):
    """A JSON object with these names and no others."""


class Citing(Exact):
    text: str
    citations: list[tuple[str, Number | None]] | None


class StoredCounts(Exact):
    new: Count
    changed: Count
    unchanged: Count


class MadeNames(Exact):
    runs: dict[str, str] = msgspec.field(default_factory=dict)
    teams: dict[str, str] = msgspec.field(default_factory=dict)


class FrozenOther(Exact):
    score: Number | None
    stderr: Number | None


VALUES: dict[type, Any] = {int: Count, float: Number, bool: bool, str: str}
NEEDED = {"interval": str, "run_tag": str, "n_topics": Count}
FrozenRow = msgspec.defstruct(
    "FrozenRow",
    [
        *NEEDED.items(),
        ("others", list[FrozenOther]),
        ("by_topic", list[Number | None], msgspec.field(default_factory=list)),
        *((c.field, VALUES[c.kind] | None, None) for c in at(COLUMNS, Place.FROZEN) if c.field not in NEEDED),
    ],
    bases=(Exact,),
)
"""The columns that documents of some versions lack may be absent."""


class FrozenHead(Exact):
    label: str
    note: str


class FrozenStatement(Exact):
    name: str
    value: str


class FrozenBoard(Exact):
    """What `document_of` of `leaderboards.actions` writes."""

    version: int
    measure: str
    judged_at: Number | None
    heads: list[FrozenHead]
    rows: list[FrozenRow]  # type: ignore[valid-type]  # it is made from the columns
    statements: list[FrozenStatement]
    headline: str = ""
    """Boards that were frozen before version 2 have none."""
    resolution: str = ""
    collection: str = ""
    graded_by: str = ""
    checked: list[Count] = msgspec.field(default_factory=list)
    n_topics: Count = 0
    n_items: Count = 0
    made: str = ""
    topics: list[str] = msgspec.field(default_factory=list)
    """Boards that were frozen before version 3 have none of these."""


class Estimated(Exact):
    value: Number | None
    low: Number | None
    high: Number | None


class CardSample(Exact):
    cells: Count
    topics: Count
    raters: Count
    blind_cells: Count
    is_random: bool
    since: Annotated[str, Meta(pattern=DAY)] = msgspec.field(name="from")
    to: Annotated[str, Meta(pattern=DAY)]


class CardRating(Exact):
    rating: int
    cells: Count
    human_rating: Estimated
    reached: Estimated
    label: int | None = None


class CardBias(Exact):
    name: str
    cells: Count
    bias: Estimated
    beyond_others: Estimated
    p: Number | None = None
    is_clear: bool = False


class CardGroups(Exact):
    compared: Count
    rule: str
    alpha: Number


class CardLabels(Exact):
    by_grade: list[CardRating] = msgspec.field(default_factory=list)
    orders: dict[str, Number | str | Estimated] | None = None
    reason: str = ""


class StoredCard(Exact):
    """What `calibration_cards.document_of` writes; older cards lack what may be None."""

    sample: CardSample
    level: Number
    min_grade: int
    kappa: Estimated
    same: Estimated
    near: Estimated
    bias: Estimated
    by_rating: list[CardRating]
    by_length: list[CardBias]
    by_runs: list[CardBias]
    groups: CardGroups | None = None
    labels: CardLabels | None = None


class StoredPoolRule(Exact):
    depth: Count
    by_type: dict[str, Count]
    runs: list[str]


class ReleasedFile(Exact):
    name: str
    part: str
    about: str
    size: Key
    sha256: str


class StoredStep(Exact):
    stage: str
    prompt_id: str
    prompt: str
    reply: str
    source: Count | None = None
    fact: str = ""


class StoredMade(Exact):
    """What `systems.models.made_as_json` writes."""

    doc_ids: list[str]
    scores: list[Number]
    sentences: list[tuple[str, list[Count]]] | None
    sources: list[str] | None
    steps: list[StoredStep]
    retrieved: list[str] = msgspec.field(default_factory=list)


class StoredBreaker(Exact):
    base: Count = 0
    seen: Count = 0
    counts: dict[str, Count] = msgspec.field(default_factory=dict)
    row_of: str = ""
    row: Count = 0


def _by(names: Iterable[str], shape: Any) -> Any:  # Any: types
    """Return the type of an object that has only these names, with values of the shape."""
    return GenericAlias(dict, (Literal.__getitem__(tuple(names)), shape))


def fits(shape: Any) -> Check:  # Any: a type as msgspec takes it
    """Return the check that a value has this type."""
    return lambda value: msgspec.convert(value, shape)


def one_of(choices: Iterable[str]) -> Check:
    """Return the check that a text is one of these."""
    names = frozenset(choices)

    def check(value: Any) -> None:
        if value not in names:
            raise ValueError(f"{value!r} is none of {', '.join(sorted(names))}")

    return check


def _made(value: Any) -> None:
    """Check that answers cite by position, and that each rank has a score."""
    made = msgspec.convert(value, StoredMade)
    if len(made.doc_ids) != len(made.scores):
        raise ValueError("it has not a score for each document")
    sources = len(made.sources or ())
    cited = (place for _, places in made.sentences or () for place in places)
    steps = (step.source or 0 for step in made.steps)
    if any(place >= sources for place in cited) or any(place > sources for place in steps):
        raise ValueError("it cites a source that it does not have")


def _spec(value: Any) -> None:
    msgspec.convert(value, SystemSpec)
    models.spec_from_json(value)


def _import_options(value: Any) -> None:
    msgspec.convert(value, ImportOptions)
    ImportOptions(**value)


def _added(value: Any) -> None:
    msgspec.convert(value, _by(kinds(), tuple[Key, Key, Key]))


def _findings(value: Any) -> None:
    for group in msgspec.convert(value, list[files.FileGroup]):
        one_of(files.MEANINGS)(group.category)
    files.findings_from_json(value)


def _prompt(value: Any) -> None:
    prompts.from_options("Own", value)


def _pool_rule(value: Any) -> None:
    if value != {}:
        msgspec.convert(value, StoredPoolRule)


ASKING = "arena.FreshAnswer arena.JudgedPair banks.DraftChunk corpus.AttributeChunk systems.SystemChunk"
JSON: dict[str, Check] = {
    **{f"{chunk}.replies": fits(dict[str, list[str]]) for chunk in ASKING.split()},
    "arena.Battle.columns": fits(dict[str, Any]),
    "arena.FreshAnswer.result": _made,
    "arena.FreshAnswer.request": fits(_by(("qid", "candidates"), str | list[dict[str, Any]])),
    "arena.FreshAnswer.spec": _spec,
    "arena.JudgedPair.result": fits(PairJudgment),
    "arena.Reason.tags": fits(list[Reason.Tag]),
    "banks.BankTopic.foreign": fits(_by((*BY_NAME, KEPT), list[dict[str, Any]])),
    "banks.Item.foreign": fits(_by(BY_NAME, dict[str, Any])),
    "banks.ItemSource.spans": fits(list[tuple[Count, Count]]),
    "graders.CalibrationCard.items": fits(list[tuple[str, str]]),
    "graders.CalibrationCard.result": fits(StoredCard),
    "campaigns.Campaign.kinds": fits(list[ItemKind]),
    "corpus.Collection.grader_prompts": fits(list[str]),
    "corpus.Collection.grader_options": fits(dict[str, Scalar]),
    "corpus.Collection.pool_rule": _pool_rule,
    "corpus.OwnPrompt.definition": _prompt,
    "corpus.Ranking.doc_ids": fits(list[str]),
    "corpus.Ranking.scores": fits(list[Number]),
    "corpus.Response.sentences": fits(list[Citing]),
    "corpus.Response.references": fits(list[str]),
    "corpus.Response.documents": fits(dict[str, str]),
    "corpus.Response.foreign": fits(dict[str, Any]),
    "corpus.Run.tags": fits(list[str]),
    "corpus.Topic.attributes": fits(dict[str, Any]),
    "corpus.Topic.attribute_sources": fits(dict[str, dict[str, Number | str]]),
    "corpus.Topic.foreign": fits(dict[str, Any]),
    "grades.Draw.passages": fits(list[Key]),
    "grades.Draw.revisions": fits(list[Key]),
    "grades.GraderConfig.options": fits(dict[str, Any]),
    "grades.GradingJob.options": fits(dict[str, Scalar]),
    "grades.GradingJob.failures": fits(StoredBreaker),
    "grades.JobChunk.cells": fits(list[tuple[Key, Key]]),
    "grades.JobPart.revisions": fits(list[Key]),
    "imports.Import.options": _import_options,
    "imports.Import.counts": fits(dict[str, StoredCounts]),
    "imports.Import.before": fits(dict[str, Count]),
    "imports.Import.notes": fits(list[str]),
    "imports.Import.added": _added,
    "imports.ImportFile.fitting_formats": fits(list[str]),
    "imports.ImportFile.preview": fits(list[tuple[Count, str]]),
    "leaderboards.PublicBoard.frozen": fits(FrozenBoard),
    "releases.Release.files": fits(list[ReleasedFile]),
    "releases.Release.left_out": fits(list[str]),
    "releases.Release.names": fits(MadeNames),
    "releases.Release.still_named": fits(list[str]),
    "submissions.Call.rules": rules_from_json,
    "submissions.Submission.findings": _findings,
    "support.LabelledAnswer.labels": fits(list[list[Literal[-5, -2, -1, 0, 1, 2]]]),
    "support.LabelledAnswer.foreign": fits(dict[str, Any]),
    "systems.SystemChunk.result": _made,
    "systems.SystemJob.spec": _spec,
}
"""Column -> what its JSON must be; None is allowed too where the column may be empty."""


def _own_prompt(row: Row) -> None:
    stated = prompts.from_options(row["prompt_class"], row["definition"])
    if stated.version != row["version"]:
        raise ValueError("its version is not that of its definition")


def _ranking(row: Row) -> None:
    doc_ids = row["doc_ids"]
    if len(doc_ids) != len(row["scores"]) or len(doc_ids) != len(set(doc_ids)):
        raise ValueError("it has not a score for each document, or a document twice")


def _import(row: Row) -> None:
    """Check that an import that ran has an end, by which later imports are told apart."""
    is_written = row["step"] == Import.Step.WRITE and row["state"] == Import.State.DONE
    if (is_written or row["step"] == Import.Step.UNDO) and row["ended_at"] is None:
        raise ValueError("it was imported and has no end")


ROWS: dict[str, Callable[[Row], None]] = {
    "corpus.OwnPrompt": _own_prompt,
    "corpus.Ranking": _ranking,
    "imports.Import": _import,
}
"""Table -> check of the columns of a row together."""
OTHERS: dict[str, Check] = {
    "corpus.Collection.grader_backend": one_of(set(registry.BACKENDS) - {"panel"}),
    "leaderboards.PublicBoard.token": fits(Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{24,60}\Z")]),
    "grades.ReplyBlock.content": fits(list[tuple[Key, Key, str]]),
    "submissions.Call.time_zone": one_of(available_timezones()),
}
"""Columns that are read as more than their type says."""


def has(column: str) -> bool:
    return column in JSON or column in OTHERS


def check(column: str, value: Any) -> None:
    """Check the value of a column that has a shape, such as `corpus.Run.tags`. Raises ValueError."""
    _checked(column.rpartition(".")[2], JSON.get(column) or OTHERS[column], value)


def check_row(label: str, row: Row) -> None:
    """Check what the columns of a row are together. Raises ValueError."""
    if label in ROWS:
        _checked("the row", ROWS[label], row)


def _checked(name: str, fits_it: Check, value: Any) -> None:
    try:
        fits_it(value)
    except ERRORS as error:
        raise ValueError(f"{name} does not fit: {error}") from error
