"""A run that the demo makes itself: answers with citations without a language model."""

from __future__ import annotations

from django.db import transaction

from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection
from rubricweb.demo.loading import grade
from rubricweb.jobs.limited import Limits
from rubricweb.jobs.worker import work_on
from rubricweb.systems.actions import start

MADE = "made_best_sentences"


@transaction.atomic
def make_run(collection: Collection) -> None:
    """In this process, as a worker would; what the answers say is graded like all other passages."""
    spec, topics = SystemSpec(Answering.SENTENCES), list(collection.topics.all())
    organizer = User.objects.get(username="organizer")
    job = start(collection, spec, run_tag=MADE, topics=topics, limits=Limits(1), by=organizer)
    for chunk in job.chunks.values_list("pk", flat=True):
        work_on("system", chunk)
    collection.refresh_from_db()
    grade(collection)
