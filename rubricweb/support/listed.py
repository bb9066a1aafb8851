"""What asks models about citations, in the list of a collection's jobs."""

from __future__ import annotations

from django.db.models import QuerySet

from rubricweb.jobs.listing import Listing
from rubricweb.support import actions
from rubricweb.support.models import SupportJob
from rubricweb.support.price import measured_rate


def _jobs(collection_id: int) -> QuerySet[SupportJob]:
    rows = SupportJob.objects.filter(judge__collection=collection_id)
    return rows.select_related("judge__collection", "by")


def _does(job: SupportJob) -> str:
    if job.is_retry:
        return f"{job.judge}: failed labels again"
    return f"{job.judge}: {job.get_citations_display()}"


LISTING = Listing(
    kind="support",
    units="citations",
    jobs=_jobs,
    name=lambda job: f"Label support with {job.judge.llm}",
    does=_does,
    address=SupportJob.get_absolute_url,
    opens="Details",
    rate=measured_rate,
    acts={"pause": actions.pause, "resume": actions.resume, "cancel": actions.cancel},
)
