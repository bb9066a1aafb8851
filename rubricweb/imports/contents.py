"""What an import takes, by the content of its files, and how its options are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grading.formats import Content, Format, registry
from grading.formats.assignments import ASSIGNED, GRADED_RUBRIC, read_assignment_file
from grading.formats.judge_qrels import QRELS, read_judge
from grading.segmentation import PassagesOf
from rubricweb.corpus.import_judgments import SeveralJudgments
from rubricweb.grades.import_collection import DEFAULT_BANK, ImportFiles
from rubricweb.imports import staging
from rubricweb.imports.models import Import, ImportFile


@dataclass(frozen=True, slots=True)
class Taken:
    """How an import takes files of one content."""

    field: str
    """The field of `ImportFiles` for them."""
    noun: str
    """What its entries are counted as."""
    count: Callable[[Any], int] = lambda entry: 1  # Any: whatever the format's reader yields
    """How many a reader's entry holds."""
    takes_several: bool = True
    read: Callable[[Path], Iterable[Any]] | None = None
    """How it is read; None: as its format."""


TAKEN: Mapping[Content, Taken] = {
    Content.TOPICS: Taken("queries", "topics", takes_several=False),
    Content.PASSAGES: Taken("passages", "passages"),
    Content.RESPONSES: Taken("responses", "responses"),
    Content.GRADED: Taken("graded", "graded passages", lambda line: len(line.passages)),
    Content.GRADES: Taken("nugget_grades", "grades"),
    Content.RATINGS: Taken("ratings", "ratings"),
    Content.FLAGS: Taken("flags", "threads"),
    Content.VOTES: Taken("votes", "votes"),
    Content.SUPPORT: Taken("support", "labels"),
    Content.ASSESSMENTS: Taken("assignments", "assessments"),
    Content.BATTLES: Taken("battles", "votes"),
    Content.LABELLED_ANSWERS: Taken(
        "support", "labels", lambda answer: sum(len(row) for row in answer.labels)
    ),
    Content.BANK: Taken("banks", "items", lambda line: len(line.items)),
    Content.RUN: Taken("run_files", "topics"),
    Content.QRELS: Taken("qrels", "judgments", takes_several=False),
    Content.LEADERBOARD: Taken("official", "scores", takes_several=False),
}
"""Contents that are not here are recognised, and refused with what they are."""


AUTHORED: Mapping[str, Taken] = {
    QRELS: Taken("judge_labels", "labels", read=lambda path: read_judge(path).labels),
    ASSIGNED: Taken("assignments", "answers", read=read_assignment_file),
    GRADED_RUBRIC: Taken("assignments", "answers", read=read_assignment_file),
}
"""By format: what a file is once somebody has named its author. Before, it is what its content is."""


def taken_of(file: ImportFile) -> Taken:
    """Return how an import takes a file whose format is known."""
    if file.author and file.format in AUTHORED:
        return AUTHORED[file.format]
    return TAKEN[registry.find(file.format).content]


def takeable() -> tuple[Format, ...]:
    """Return the formats that an import takes."""
    return registry.of_content(*TAKEN)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options for all files of an import, as those of `rubricweb import_collection`."""

    bank_name: str = DEFAULT_BANK
    judgments: str = ""
    """A `SeveralJudgments`; empty for its default."""
    min_relevant: int | None = None
    official_measure: str = ""
    passages_of: str = PassagesOf.SENTENCE.value
    """A `PassagesOf`: what of a response becomes a passage."""
    is_segmenting: bool = False
    """Cut documents into windows of sentences."""
    candidates_run: str = ""
    """The run that the order of candidates in reranker requests makes; empty for none."""
    scale: int | None = None
    """Highest label of judges' qrels; None for the highest in the files."""
    after_prediction_of: str = ""
    """The model whose predictions the authors of support labels corrected; empty for none."""
    replace: bool = False

    @classmethod
    def of(cls, batch: Import) -> ImportOptions:
        return cls(**batch.options)

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def files_of(batch: Import) -> ImportFiles:
    """Return the staged files of a checked import by content, in the formats that the check found."""
    paths: dict[str, list[Any]] = {}
    read_as: dict[Path, str] = {}
    authors: dict[Path, str] = {}
    for file in batch.files.filter(is_left_out=False):
        taken, path = taken_of(file), staging.path_of(file)
        paths.setdefault(taken.field, []).append(path)
        authors[path] = file.author
        read_as[path] = file.format
    single = {taken.field for taken in TAKEN.values() if not taken.takes_several}
    fields: dict[str, Any] = {
        field: listed[0] if field in single else tuple(listed) for field, listed in paths.items()
    }
    options = ImportOptions.of(batch)
    return ImportFiles(
        **fields,
        bank_name=options.bank_name,
        judgments=SeveralJudgments(options.judgments) if options.judgments else None,
        min_relevant=options.min_relevant,
        official_measure=options.official_measure,
        read_as=read_as,
        passages_of=PassagesOf(options.passages_of),
        is_segmenting=options.is_segmenting,
        candidates_run=options.candidates_run,
        authors=authors,
        scale=options.scale,
        after_prediction_of=options.after_prediction_of,
        replace=options.replace,
    )
