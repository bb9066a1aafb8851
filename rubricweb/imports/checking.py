"""A worker reads each uploaded file, and then all together as the import would, without changing anything."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from grading.errors import BadFormat, Unclear
from grading.formats import registry
from grading.formats.base import Format
from grading.formats.reading import lines
from rubricweb.grades.importers import ImportSummary, import_collection
from rubricweb.imports import contents, progress, staging
from rubricweb.imports.contents import TAKEN
from rubricweb.imports.models import Import, ImportFile
from rubricweb.jobs import endings
from rubricweb.jobs.leases import Lease

logger = logging.getLogger(__name__)

PREVIEWED_LINES = 3
PREVIEWED_CHARACTERS = 240


def check(lease: Lease[Import]) -> None:
    """Say of each file what it is and what is wrong with it; where nothing is, what an import would do."""
    batch = lease.work
    files = list(batch.files.filter(is_left_out=False))
    for number, file in enumerate(files, start=1):
        file.batch = batch
        progress.note(
            lease, f"reading {file.name} ({number} of {len(files)})", done=_size(files[: number - 1])
        )
        _examine(file)
    _refuse_repeated(files)
    results: dict[str, object] = {"before": progress.totals(batch.collection), "counts": {}, "notes": []}
    if files and not any(file.problem for file in files):
        progress.note(lease, "comparing with the collection", done=_size(files))
        results |= _compare(batch)
    endings.finish(lease, doing="", **_NO_PROBLEM | results)


_NO_PROBLEM: dict[str, object] = {"problem": "", "problem_file": "", "problem_line": None}


def _examine(file: ImportFile) -> None:
    file.problem, file.problem_line, file.format, file.read, file.preview = "", None, "", "", []
    file.fitting_formats = []
    try:
        file.preview = _first_lines(file)
        found = _format(file)
        file.format = found.name
        file.read = _counted(file, found)
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
    if file_format.content not in TAKEN:
        raise BadFormat(
            f"the content is {file_format.label}, which is not imported; expected a format of Read as"
        )
    return file_format


def _counted(file: ImportFile, found: Format) -> str:
    """Read the whole file: "54 topics". Raises BadFormat."""
    taken = TAKEN[found.content]
    read = found.read_chosen if file.chosen_format else found.read
    number = sum(map(taken.count, read(staging.path_of(file))))
    return f"{number:,} {taken.noun if number != 1 else taken.noun.removesuffix('s')}"


def _refuse_repeated(files: Iterable[ImportFile]) -> None:
    """Of some contents an import takes one file."""
    first: dict[str, ImportFile] = {}
    for file in files:
        if file.problem:
            continue
        found = registry.find(file.format)
        taken = TAKEN[found.content]
        if taken.takes_several:
            continue
        if other := first.get(taken.field):
            file.problem = f"{other.name} has {found.content.value} too, expected one such file an import"
            file.save(update_fields=["problem"])
        first.setdefault(taken.field, file)


def _compare(batch: Import) -> dict[str, object]:
    """What the import would do to the collection as it is now."""
    try:
        with transaction.atomic():
            summary = import_collection(batch.collection.slug, files=contents.files_of(batch), by=batch.by)
            transaction.set_rollback(True)
    except BadFormat as error:
        return {"problem": error.problem, "problem_file": error.file, "problem_line": error.line}
    return results_of(summary)


def results_of(summary: ImportSummary) -> dict[str, Any]:  # Any: JSON
    """The counts and notes of an import, as its row stores them."""
    counts = {
        kind: {"new": one.new, "changed": one.changed, "unchanged": one.unchanged}
        for kind, one in summary.counts.items()
    }
    notes = list(summary.notes)
    if summary.reordered:
        runs = ", ".join(f"{run_tag} ({topics} topics)" for run_tag, topics in summary.reordered.items())
        notes.append(f"trec_eval 9's order (by score, then passage id) is not that of the ranks in {runs}")
    return {"counts": counts, "notes": notes}


def _first_lines(file: ImportFile) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for number, text in lines(staging.path_of(file)):
        if text.strip():
            found.append((number, text[:PREVIEWED_CHARACTERS]))
        if len(found) == PREVIEWED_LINES:
            break
    return found


def _problem_lines(file: ImportFile) -> list[tuple[int, str]]:
    """The line with the problem, if it can be read and the preview has it not."""
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
