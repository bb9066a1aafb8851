"""Start, steer and repeat the making of a run of the workbench's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from grading.systems.pipeline import SystemSpec
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.writers import options_of_writer
from rubricweb.jobs import steering
from rubricweb.jobs.limits import Limits, begin
from rubricweb.jobs.models import Job
from rubricweb.systems.models import SystemChunk, SystemJob, spec_as_json

TAG = "baseline"
"""Tag by which organizers find the runs that are made here."""


class TagTaken(Exception):
    """The collection has a run of this name; the text says so."""


@transaction.atomic
def start(
    collection: Collection,
    spec: SystemSpec,
    *,
    run_tag: str,
    topics: Sequence[Topic],
    limits: Limits,
    by: User | None,
) -> SystemJob:
    """Have workers make the run, a topic at a time, by the model as the collection's Settings have it.

    Raises TagTaken, and ValueError without topics.
    """
    if not topics:
        raise ValueError("there is no topic to make a run of")
    if spec.needs_model:
        spec = replace(spec, model_options=options_of_writer(collection, spec.backend, spec.llm))
    run = _new_run(collection, run_tag, spec)
    job = SystemJob(collection=collection, run=run, spec=spec_as_json(spec), by=by)
    begin(job, [SystemChunk(topic=topic, size=1) for topic in topics], limits)
    audit.record(
        "run being made", run, by=by, detail=f"{run_tag}: {spec.method}, {counted(len(topics), 'topic')}"
    )
    return job


def _new_run(collection: Collection, run_tag: str, spec: SystemSpec) -> Run:
    """Return a run that does not count yet."""
    made = {"state": Run.State.SUBMITTED, "type": Run.Type.AUTOMATIC}
    described = {"description": spec.method, "tags": [TAG], "is_made_here": True}
    described |= {"llm": spec.llm if spec.needs_model else "", "is_closed_book": spec.is_closed_book}
    run, is_new = Run.objects.get_or_create(collection=collection, run_tag=run_tag, defaults=made | described)
    if not is_new:
        raise TagTaken(f"This collection has a run {run_tag} already. Choose another name.")
    return run


@transaction.atomic
def make_rest(job: SystemJob, *, by: User | None) -> SystemJob:
    """Queue the topics that failed or were cancelled; replies that are kept are not asked for again."""
    locked = steering.lock(job)
    if locked.state not in (Job.State.FAILED, Job.State.CANCELLED):
        return locked
    audit.record("run being made", locked.run, by=by, detail=f"{locked.run.run_tag}: the rest")
    events.publish_on_commit(locked.collection.channel, "progress")
    return steering.retry(locked)
