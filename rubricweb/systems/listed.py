"""The making of runs in the list of a collection's jobs."""

from __future__ import annotations

from django.db.models import QuerySet
from django.urls import reverse

from rubricweb.jobs.listing import Listing
from rubricweb.systems import actions
from rubricweb.systems.models import SystemJob


def _jobs(collection_id: int) -> QuerySet[SystemJob]:
    return SystemJob.objects.filter(collection=collection_id).select_related("collection", "run", "by")


def _address(job: SystemJob) -> str:
    return reverse("systems:made", args=[job.collection.slug, job.run_id])


LISTING = Listing(
    kind="runs",
    units="topics",
    jobs=_jobs,
    name=lambda job: f"Make run {job.run.run_tag}",
    does=lambda job: job.system.method,
    address=_address,
    opens="Run",
    rate=lambda _: None,
    acts={"pause": actions.pause, "resume": actions.resume, "cancel": actions.cancel},
)
