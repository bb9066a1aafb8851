"""A worker imports what a person confirmed: all files, in one transaction with the end of the work."""

from __future__ import annotations

import logging

from django.db import transaction

from grading.errors import BadFormat
from rubricweb.grades.importers import import_collection
from rubricweb.imports import checking, contents, progress, staging, undo
from rubricweb.imports.models import Import
from rubricweb.jobs import endings
from rubricweb.jobs.leases import Lease

logger = logging.getLogger(__name__)


def write(lease: Lease[Import]) -> None:
    """Import the files. A worker that lost its lease imports nothing, so nothing is imported twice.

    Where the collection has changed since the check and refuses the files now, they stay for another check.
    """
    batch, before = lease.work, progress.totals(lease.work.collection)
    progress.note(lease, "importing", done=batch.total)
    try:
        with transaction.atomic():
            keys = undo.last_keys()
            summary = import_collection(batch.collection.slug, files=contents.files_of(batch), by=batch.by)
            staging.clear_on_commit(batch)
            results = checking.results_of(summary)
            added = undo.added_by(summary.collection, results["counts"], keys)
            endings.finish(lease, doing="", before=before, added=added, **results)
    except BadFormat as error:
        refused = {"problem": error.problem, "problem_file": error.file, "problem_line": error.line}
        endings.finish(lease, doing="", step=Import.Step.CHECK, counts={}, notes=[], before=before, **refused)
        logger.info("import %s was refused: %s", batch.pk, error)
