"""Imports as a kind of background work: uploaded files are checked, and imported once a person confirms."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum

from grading.errors import BadFormat, Unclear
from grading.formats import Format, registry
from grading.formats.reading import lines
from rubricweb.core import events
from rubricweb.corpus.models import Collection
from rubricweb.grades.import_collection import ImportSummary, import_collection
from rubricweb.grades.models import MatrixStamp
from rubricweb.imports import contents, queries, staging, undo
from rubricweb.imports.models import Import, ImportFile
from rubricweb.jobs import leases
from rubricweb.jobs.kinds import CannotRun, Need, TaskKind
from rubricweb.jobs.listing import TaskListing

logger = logging.getLogger(__name__)

PREVIEWED_LINES = 3
PREVIEWED_CHARACTERS = 240
_NO_PROBLEM: dict[str, object] = {"problem": "", "problem_file": "", "problem_line": None}


class ImportKind(TaskKind[Import]):
    name = "import"
    model = Import
    related = ("collection", "by", "undone_by")
    is_retried = True

    def run(self, lease: leases.Lease[Import]) -> None:
        """Do the step of an import. A refused file is a result; other errors are tried again."""
        if lease.work.step == Import.Step.UNDO:
            undo.undo_by_worker(lease)
            return
        if not staging.is_here(lease.work):
            raise CannotRun(
                "The uploaded files are not on the worker's machine: "
                "give it the RUBRIC_DATA_DIR of the web process, or start a worker there."
            )
        if lease.work.step == Import.Step.CHECK:
            check(lease)
        else:
            write(lease)

    def need(self, work: Import) -> Need:
        return Need("uploads", "an import of uploaded files")

    def label(self, work: Import) -> str:
        return f"import {work.pk}"

    def changed(self, work: Import) -> None:
        events.publish_on_commit(work.collection.channel, "progress")


def _listed(collection_id: int) -> QuerySet[Import]:
    number = Count("files", filter=Q(files__is_left_out=False))
    rows = Import.objects.filter(collection=collection_id).annotate(number=number)
    listed: QuerySet[Import] = rows.exclude(number=0).select_related("collection", "by")
    return listed.prefetch_related("files")


def _name(batch: Import) -> str:
    verb = {Import.Step.CHECK: "Check", Import.Step.WRITE: "Import", Import.Step.UNDO: "Undo the import of"}
    files = "1 file" if batch.number == 1 else f"{batch.number} files"  # type: ignore[attr-defined]
    return f"{verb[Import.Step(batch.step)]} {files}"


def _outcome(batch: Import) -> str:
    if batch.state != Import.State.DONE:
        return ""
    if batch.step == Import.Step.CHECK:
        return "not imported: see the problem" if batch.problem else "checked, not imported yet"
    if batch.step == Import.Step.UNDO:
        return "undone"
    return queries.summary(batch.counts) or "changed nothing"


LISTING = TaskListing(
    kind="imports",
    jobs=_listed,
    name=_name,
    does=lambda batch: ", ".join(file.name for file in batch.files.all() if not file.is_left_out),
    address=Import.get_absolute_url,
    acts={},
    is_for_its_starter=False,
    opens="Report",
    outcome=_outcome,
    is_for_organizers=True,
)


def check(lease: leases.Lease[Import]) -> None:
    """Say of each file what it is and what is wrong with it; where nothing is, what an import would do."""
    batch = lease.work
    files = list(batch.files.filter(is_left_out=False))
    for number, file in enumerate(files, start=1):
        file.batch = batch
        undo.note_progress(
            lease, f"reading {file.name} ({number} of {len(files)})", done=_size(files[: number - 1])
        )
        _examine(file)
    _refuse_repeated(files)
    results: dict[str, object] = {"before": totals(batch.collection), "counts": {}, "notes": []}
    if files and not any(file.problem for file in files):
        undo.note_progress(lease, "comparing with the collection", done=_size(files))
        results |= _compare(batch)
    leases.finish(lease, doing="", **_NO_PROBLEM | results)


def _examine(file: ImportFile) -> None:
    file.problem, file.problem_line, file.format, file.read, file.preview = "", None, "", "", []
    file.fitting_formats = []
    try:
        file.preview = _first_lines(file)
        file_format = _format(file)
        file.format = file_format.name
        file.read = _counted(file, file_format)
    except Unclear as error:
        file.fitting_formats, file.format = list(error.formats), ""
        file.problem, file.problem_line = error.problem, error.line
        file.preview += _problem_lines(file)
    except BadFormat as error:
        file.problem, file.problem_line = error.problem, error.line
        file.preview += _problem_lines(file)
    file.save()


def _format(file: ImportFile) -> Format:
    path = staging.path_of(file)
    file_format = registry.find(file.chosen_format) if file.chosen_format else registry.recognise(path)
    if file_format.content not in contents.TAKEN:
        raise BadFormat(
            f"the content is {file_format.label}, which is not imported; expected a format of Read as"
        )
    return file_format


def _counted(file: ImportFile, file_format: Format) -> str:
    """Read the whole file: "54 topics". Raises BadFormat."""
    taken = contents.taken_of(file)
    read = taken.read or (file_format.read_chosen if file.chosen_format else file_format.read)
    number = sum(map(taken.count, read(staging.path_of(file))))
    return f"{number:,} {taken.noun if number != 1 else taken.noun.removesuffix('s')}"


def _refuse_repeated(files: Iterable[ImportFile]) -> None:
    """Refuse all but the first file of contents of which an import takes only one."""
    first: dict[str, ImportFile] = {}
    for file in files:
        if file.problem:
            continue
        taken = contents.taken_of(file)
        if taken.takes_several:
            continue
        if other := first.get(taken.field):
            content = registry.find(file.format).content.value
            hint = " (or a judge named whose labels these are)" if file.format in contents.AUTHORED else ""
            file.problem = f"{other.name} has {content} too, expected one such file an import{hint}"
            file.save(update_fields=["problem"])
        first.setdefault(taken.field, file)


def _compare(batch: Import) -> dict[str, object]:
    """Return what the import would do to the collection as it is now."""
    try:
        with transaction.atomic():
            summary = import_collection(batch.collection.slug, files=contents.files_of(batch), by=batch.by)
            transaction.set_rollback(True)
    except BadFormat as error:
        return {"problem": error.problem, "problem_file": error.file, "problem_line": error.line}
    return results_of(summary)


def results_of(summary: ImportSummary) -> dict[str, Any]:  # Any: JSON
    """Return the counts and notes of an import, as its row stores them."""
    counts = {
        kind: {"new": counted.new, "changed": counted.changed, "unchanged": counted.unchanged}
        for kind, counted in summary.counts.items()
    }
    return {"counts": counts, "notes": list(summary.notes)}


def _first_lines(file: ImportFile) -> list[tuple[int, str]]:
    numbered: list[tuple[int, str]] = []
    for number, text in lines(staging.path_of(file)):
        if text.strip():
            numbered.append((number, text[:PREVIEWED_CHARACTERS]))
        if len(numbered) == PREVIEWED_LINES:
            break
    return numbered


def _problem_lines(file: ImportFile) -> list[tuple[int, str]]:
    """Return the line with the problem, if it can be read and is not in the preview."""
    if file.problem_line is None or any(number == file.problem_line for number, _ in file.preview):
        return []
    try:
        for number, text in lines(staging.path_of(file)):
            if number == file.problem_line:
                return [(number, text[:PREVIEWED_CHARACTERS])]
    except BadFormat:
        logger.debug("line %d of file %s cannot be shown", file.problem_line, file.pk)
    return []


def _size(files: Iterable[ImportFile]) -> int:
    return sum(file.size for file in files)


def totals(collection: Collection) -> dict[str, int]:
    """Return how many rows the collection has, by kind, as imports name them; grades by their stamps."""
    stamps = MatrixStamp.objects.filter(topic__collection=collection)
    counted = {
        kind: model._base_manager.filter(**{path: collection}).count()
        for kind, (model, path) in undo.kinds().items()
        if kind != "grades"
    }
    return counted | {"grades": stamps.aggregate(number=Sum("grades"))["number"] or 0}


def write(lease: leases.Lease[Import]) -> None:
    """Import the files. A worker that lost its lease imports nothing, so nothing is imported twice.

    Where the collection has changed since the check and refuses the files now, they stay for another check.
    """
    batch, before = lease.work, totals(lease.work.collection)
    undo.note_progress(lease, "importing", done=batch.total)
    try:
        with transaction.atomic():
            keys = undo.last_keys()
            summary = import_collection(batch.collection.slug, files=contents.files_of(batch), by=batch.by)
            staging.clear_on_commit(batch)
            results = results_of(summary)
            added = undo.added_by(summary.collection, results["counts"], keys)
            leases.finish(lease, doing="", before=before, added=added, **results)
    except BadFormat as error:
        refused = {"problem": error.problem, "problem_file": error.file, "problem_line": error.line}
        leases.finish(lease, doing="", step=Import.Step.CHECK, counts={}, notes=[], before=before, **refused)
        logger.info("import %s was refused: %s", batch.pk, error)
