"""Runs that the demo makes itself: a ranking, and answers with citations without a language model."""

from __future__ import annotations

from django.db import transaction

from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection
from rubricweb.grades.actions import start_grading
from rubricweb.grades.models import JobChunk
from rubricweb.jobs.limited import Limits
from rubricweb.jobs.run import work_on
from rubricweb.systems.actions import start

RUNS = {"made_bm25": Answering.NONE, "made_best_sentences": Answering.SENTENCES}
"""Run -> how it answers."""


@transaction.atomic
def make_runs(collection: Collection) -> None:
    """In this process, as a worker would; what the answers say is graded like all other passages."""
    by = User.objects.get(username="organizer")
    for run_tag, answering in RUNS.items():
        topics = list(collection.topics.all())
        job = start(
            collection, SystemSpec(answering), run_tag=run_tag, topics=topics, limits=Limits(1), by=by
        )
        for chunk in job.chunks.values_list("pk", flat=True):
            work_on("system", chunk)
    collection.refresh_from_db()
    started = start_grading(collection, by=by)
    for chunk in JobChunk.objects.filter(job__in=started).values_list("pk", flat=True):
        work_on("chunk", chunk)
