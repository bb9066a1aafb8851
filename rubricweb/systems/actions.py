"""Start a run of the workbench's own, and let it ask its model more often."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from grading.systems.pipeline import SystemSpec
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.jobs import dispatch, steering
from rubricweb.systems import specs
from rubricweb.systems.models import SystemChunk, SystemJob

TAG = "baseline"
"""By which organizers find the runs that are made here."""


class TagTaken(Exception):
    """The collection has a run of this name; the text says so."""


@transaction.atomic
def start(
    collection: Collection,
    spec: SystemSpec,
    *,
    run_tag: str,
    topics: Sequence[Topic],
    most_calls: int,
    by: User | None,
) -> SystemJob:
    """Have workers make the run, a topic at a time. Raises TagTaken, and ValueError without topics."""
    if not topics:
        raise ValueError("there is no topic to make a run of")
    run = _new_run(collection, run_tag, spec)
    job = SystemJob.objects.create(
        collection=collection,
        run=run,
        spec=specs.as_json(spec),
        most_calls=max(1, most_calls),
        total=len(topics),
        by=by,
    )
    chunks = [SystemChunk(job=job, topic=topic, number=number, size=1) for number, topic in enumerate(topics)]
    dispatch.enqueue(SystemChunk.objects.bulk_create(chunks))
    audit.record("run being made", run, by=by, detail=f"{run_tag}: {spec.method}, {len(topics)} topics")
    events.publish_on_commit(collection.channel, "progress")
    return job


def _new_run(collection: Collection, run_tag: str, spec: SystemSpec) -> Run:
    """A run that does not count yet."""
    made = {"state": Run.State.SUBMITTED, "type": Run.Type.AUTOMATIC}
    described = {"description": spec.method, "tags": [TAG]}
    run, is_new = Run.objects.get_or_create(collection=collection, run_tag=run_tag, defaults=made | described)
    if not is_new:
        raise TagTaken(f"This collection has a run {run_tag} already. Choose another name.")
    return run


@transaction.atomic
def allow_calls(job: SystemJob, most_calls: int, *, by: User | None) -> SystemJob:
    """Let a job ask its model up to `most_calls` times in all; one that paused for that goes on."""
    locked = steering.lock(job)
    locked.most_calls = max(most_calls, locked.calls)
    locked.save(update_fields=["most_calls"])
    audit.record("limit of calls changed", locked.run, by=by, detail=f"{most_calls:,} calls")
    return steering.resume(locked) if locked.is_paused else locked
