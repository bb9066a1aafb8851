"""Imports as a kind of background work: checks and the imports themselves."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from rubricweb.core import events
from rubricweb.imports import staging
from rubricweb.imports.models import Import
from rubricweb.jobs.kinds import CannotRun, Need, TaskKind
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.listing import TaskListing


def note_progress(lease: Lease[Import], doing: str, *, done: int) -> None:
    """Tell people what the worker is at, outside of the import's transaction. Raises LeaseLost."""
    if not lease.held().update(doing=doing, done=done):
        raise LeaseLost
    events.publish(lease.work.collection.channel, "progress")


class ImportKind(TaskKind[Import]):
    name = "import"
    model = Import
    related = ("collection", "by", "undone_by")
    is_retried = True

    def run(self, lease: Lease[Import]) -> None:
        """Do the step of an import. A refused file is a result; other errors are tried again."""
        from rubricweb.imports import undo, worker  # every reader: for workers only

        if lease.work.step == Import.Step.UNDO:
            undo.undo_by_worker(lease)
            return
        if not staging.is_here(lease.work):
            raise CannotRun(
                "The uploaded files are not on the worker's machine: "
                "give it the RUBRIC_DATA_DIR of the web process, or start a worker there."
            )
        if lease.work.step == Import.Step.CHECK:
            worker.check(lease)
        else:
            worker.write(lease)

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


def _does(batch: Import) -> str:
    return ", ".join(file.name for file in batch.files.all() if not file.is_left_out)


def _outcome(batch: Import) -> str:
    from rubricweb.imports import queries  # every reader: for pages only

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
    does=_does,
    address=Import.get_absolute_url,
    acts={},
    is_for_its_starter=False,
    opens="Report",
    outcome=_outcome,
    is_for_organizers=True,
)
