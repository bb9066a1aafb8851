"""Imports as a kind of background work: checks and the imports themselves."""

from __future__ import annotations

from rubricweb.core import events
from rubricweb.imports import staging
from rubricweb.imports.models import Import
from rubricweb.jobs.kinds import CannotRun, Need, TaskKind
from rubricweb.jobs.leases import Lease


class Imports(TaskKind[Import]):
    name = "import"
    model = Import
    related = ("collection", "by", "undone_by")
    is_retried = True

    def run(self, lease: Lease[Import]) -> None:
        """What a file does not allow is a result; other errors are tried again."""
        from rubricweb.imports import checking, undo, writing  # every reader: for workers only

        if lease.work.step == Import.Step.UNDO:
            undo.undo_by_worker(lease)
            return
        if not staging.is_here(lease.work):
            raise CannotRun(
                "The uploaded files are not on the worker's machine: "
                "give it the RUBRIC_DATA_DIR of the web process, or start a worker there."
            )
        if lease.work.step == Import.Step.CHECK:
            checking.check(lease)
        else:
            writing.write(lease)

    def need(self, work: Import) -> Need:
        return Need("uploads", "an import of uploaded files")

    def words(self, work: Import) -> str:
        return f"import {work.pk}"

    def changed(self, work: Import) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
