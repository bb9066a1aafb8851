"""Reads of imports for pages, the API and the list of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django import template
from django.shortcuts import get_object_or_404

from grading.formats import Content, registry
from grading.formats.assessments import ASSESSMENTS
from grading.formats.assignments import ASSIGNED, GRADED_RUBRIC, PEOPLE
from grading.formats.judge_qrels import QRELS
from grading.formats.nugget_grades import NUGGET_GRADES
from grading.formats.support_labels import JUDGED_PLACES, LABELLED_ANSWERS
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.import_base import label_of, rows_in_words
from rubricweb.corpus.models import OFFICIAL, Collection
from rubricweb.corpus.official import Official, official_boards
from rubricweb.grades.import_collection import NUGGET_GRADER
from rubricweb.grades.import_ratings import NO_AUTHOR
from rubricweb.imports import contents
from rubricweb.imports.models import Import, ImportFile


def import_for(user: User, slug: str, import_id: int) -> Import:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    batch: Import = get_object_or_404(collection.imports.select_related("collection", "by"), pk=import_id)
    return batch


def file_for(user: User, slug: str, import_id: int, file_id: int) -> ImportFile:
    batch = import_for(user, slug, import_id)
    file: ImportFile = get_object_or_404(batch.files, pk=file_id)
    file.batch = batch
    return file


SHOWN_IMPORTS = 100
AUTHORLESS = "whose?"
ORDER = ("topics", "passages", "pooled", "runs", "rankings", "judgments", "banks", "items", "grades")
"""Kinds whose rows are counted before an import; others come after them."""

AUTHOR_HELP = {
    QRELS: "The model that made these labels. Empty: people judged.",
    ASSIGNED: f"{PEOPLE}, or the name of a model, to import answers and grades. Empty: nuggets alone.",
    GRADED_RUBRIC: f"{PEOPLE}, or the name of a model, to import answers and grades. Empty: criteria alone.",
    ASSESSMENTS.name: f"{PEOPLE}, or the name of a model. The file does not say whose assessments it has.",
    LABELLED_ANSWERS.name: f"{PEOPLE}, or the name of a model. The file does not say whose labels it has.",
    JUDGED_PLACES.name: "The name of the model. The file does not say whose labels it has.",
    NUGGET_GRADES.name: f"The name of the model that graded. Empty: {NUGGET_GRADER}.",
    **dict.fromkeys(
        (each.name for each in registry.of_content(Content.BATTLES)),
        "The person or model that voted, where a line names no judge.",
    ),
}
"""By format of a file that does not say who made it."""
OF_ANSWERS = (LABELLED_ANSWERS.name, JUDGED_PLACES.name)
"""Formats of labels of support by answer."""


@dataclass(frozen=True, slots=True)
class CountRow:
    """Counts of one kind of rows, before an import and after it."""

    label: str
    before: int | None
    """None where it was not counted."""
    new: int
    changed: int
    unchanged: int

    @property
    def after(self) -> int | None:
        return None if self.before is None else self.before + self.new


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file on the page of an import."""

    file: ImportFile
    label: str
    """The label of its format."""
    problem: str
    line: int | None
    notes: tuple[str, ...]
    """What the import leaves out of it, or what else to know."""
    alike: int
    """How many other files wait for the same choice of a format."""

    @property
    def state(self) -> str:
        if self.file.is_left_out and self.file.is_kept:
            return "excluded"
        if self.lacks_author:
            return AUTHORLESS
        if self.problem:
            return "which format?" if self.file.fitting_formats else "refused"
        return "read" if self.file.format else "waits"

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Return (name, label) of each format that it may have, where a person has to choose."""
        fitting = self.file.fitting_formats
        return [
            (file_format.name, file_format.label)
            for file_format in contents.takeable()
            if file_format.name in fitting
        ]

    @property
    def lacks_author(self) -> bool:
        """Return whether it is read as it is once somebody names its author."""
        needs_one = self.file.format in OF_ANSWERS and not self.file.author
        return (needs_one and not self.file.problem) or self.problem.startswith(NO_AUTHOR)

    @property
    def takes_author(self) -> bool:
        return bool(self.author_help)

    @property
    def author_help(self) -> str:
        """Return what a named author makes of the file; empty where its content says whose it is."""
        return AUTHOR_HELP.get(self.file.format, "")

    @property
    def preview(self) -> list[tuple[int, str, bool]]:
        """Return (line number, text, whether it has the problem)."""
        return [(number, text, number == self.line) for number, text in self.file.preview]


@dataclass(frozen=True, slots=True)
class Batch:
    """An import as its page shows it."""

    row: Import
    files: list[FileRow]
    counts: list[CountRow]
    notes: list[str]
    """Notes that belong to no file."""
    problem: str
    """One that belongs to no file."""

    @property
    def refused_files(self) -> list[ImportFile]:
        """Return files that keep the others from being imported."""
        rows = (file for file in self.files if file.state == "refused")
        return [row.file for row in rows if not row.file.is_left_out]

    @property
    def refused(self) -> int:
        return len(self.refused_files)

    @property
    def not_kept(self) -> int:
        """Return files that were refused while they came in, such as one that is too large."""
        return sum(not file.file.is_kept for file in self.files)

    @property
    def unclear(self) -> int:
        """Return files whose format a person has to choose first."""
        return sum(file.state == "which format?" for file in self.files)

    @property
    def authorless(self) -> int:
        """Return files whose author a person has to name first."""
        return sum(file.state == AUTHORLESS for file in self.files)

    @property
    def taken(self) -> int:
        return sum(file.state == "read" for file in self.files)

    @property
    def has_judges(self) -> bool:
        return any(file.file.format == QRELS and file.file.author for file in self.files)

    @property
    def has_labelled_answers(self) -> bool:
        return any(file.file.format in OF_ANSWERS for file in self.files)

    @property
    def is_ready(self) -> bool:
        """Return whether it can be imported as it was checked."""
        is_checked = self.row.step == Import.Step.CHECK and self.row.state == Import.State.DONE
        is_open = self.refused or self.unclear or self.authorless or self.problem
        return bool(is_checked and self.taken and not is_open)

    @property
    def changes(self) -> bool:
        return any(row.new or row.changed for row in self.counts)


def batch_of(row: Import) -> Batch:
    files = list(row.files.all())
    of_files = {note for file in files for note in _of_file(row.notes, file)}
    notes = {
        file.pk: tuple(note.removeprefix(f"{_base(file)}: ") for note in _of_file(row.notes, file))
        for file in files
    }
    blamed = next((file.pk for file in files if row.problem and _base(file) == row.problem_file), None)
    labels = {file_format.name: file_format.label for file_format in contents.takeable()}
    questions = Counter(file.question for file in files if file.question and not file.is_left_out)
    rows = [
        FileRow(
            file=file,
            label=labels.get(file.format, ""),
            problem=row.problem if file.pk == blamed else file.problem,
            line=row.problem_line if file.pk == blamed else file.problem_line,
            notes=notes[file.pk],
            alike=max(0, questions[file.question] - 1),
        )
        for file in files
    ]
    return Batch(
        row=row,
        files=rows,
        counts=_counts(row),
        notes=[note for note in row.notes if note not in of_files],
        problem="" if blamed else row.problem,
    )


def history(collection: Collection) -> list[Import]:
    """Return the imports that were made, the newest first, with their files."""
    made = collection.imports.imported().select_related("by", "undone_by").prefetch_related("files")
    return list(made[:SHOWN_IMPORTS])


def unfinished(collection: Collection) -> list[Import]:
    return list(collection.imports.open().select_related("by").prefetch_related("files"))


def official_of(row: Import) -> Official | None:
    """Return the official leaderboard that came with an import; None if none did, or it is not made yet."""
    if not row.is_imported or not row.counts.get("official_scores"):
        return None
    return next((board for board in official_boards(row.collection) if board.name == OFFICIAL), None)


def format_choices() -> list[tuple[str, str]]:
    return [
        ("", "as recognised"),
        *((file_format.name, file_format.label) for file_format in contents.takeable()),
    ]


def summary(counts: dict[str, dict[str, int]]) -> str:
    """Return what was added or changed, such as "25 topics, 290,000 grades"."""
    numbers = {kind: counts[kind]["new"] + counts[kind]["changed"] for kind in _in_order(counts)}
    return rows_in_words(numbers)


def _counts(row: Import) -> list[CountRow]:
    return [
        CountRow(label_of(kind), row.before.get(kind), **row.counts[kind])
        for kind in _in_order(row.counts)
        if kind != "collections"
    ]


def _in_order(counts: dict[str, dict[str, int]]) -> list[str]:
    """Return the kinds in the order of `ORDER`, others by name: PostgreSQL keeps no order of keys in JSON."""
    return sorted(counts, key=lambda kind: (ORDER.index(kind) if kind in ORDER else len(ORDER), kind))


def _of_file(notes: Iterable[str], file: ImportFile) -> list[str]:
    return [note for note in notes if note.startswith((f"{_base(file)}: ", f"{_base(file)} "))]


def _base(file: ImportFile) -> str:
    return file.name.rpartition("/")[2]


register = template.Library()
register.filter("import_summary", summary)
