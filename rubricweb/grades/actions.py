"""Actions on grading jobs: start, retry, pause, resume, change priority and cancel."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from uuid import UUID, uuid4

from django.db import transaction

from grading.types import ItemKind, Outcome
from rubricweb.accounts.cold_storage import InColdStorage
from rubricweb.accounts.models import User
from rubricweb.banks.models import DIRECT_UID, Item, ItemQuerySet, ItemRevision
from rubricweb.core import audit, events
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.configs import active_configs, is_in_context, kinds_of, saved_config
from rubricweb.grades.engine import parts, progress
from rubricweb.grades.engine.gaps import Doubt, listed
from rubricweb.grades.engine.missing import Missing, cells_of, failed_cells
from rubricweb.grades.engine.stages import (
    Stages,
    by_job,
    can_ask,
    following,
    left_to_start,
    lock_extractions,
    stages,
    taken_cells,
)
from rubricweb.grades.models import Grade, GradeQuerySet, GraderConfig, GradingJob, JobPart
from rubricweb.grades.selectors import keep_default_grader

logger = logging.getLogger(__name__)

SECONDS_TO_WAIT_FOR = 120.0
"""Longest time on one worker for which the person who starts a job is taken to wait for it."""


class CannotRegrade(Exception):
    """Raised where a grade's cell cannot be graded again by its grader; the text says why."""


def start_grading(
    collection: Collection,
    *,
    by: User | None,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
    configs: Iterable[GraderConfig] | None = None,
    doubt: Doubt | None = None,
    priority: GradingJob.Priority | None = None,
) -> list[GradingJob]:
    """Start a job for each config with missing cells that no live job holds; none if there are none.

    What verifies answers that are not extracted yet has a job of its own, which waits for the job that
    extracts them; that is started too where it lacks. `configs` are the collection's own by default, and
    `priority` goes by how long a job takes. Who starts holds the collection's row, so that of two people who
    press at once the second finds nothing left.
    """
    chosen = active_configs(collection) if configs is None else configs
    plan = stages(collection, chosen, topics=topics, items=items, doubt=doubt)
    return start_plan(plan, by=by, priority=priority)


def start_plan(
    plan: Stages, *, by: User | None, priority: GradingJob.Priority | None = None
) -> list[GradingJob]:
    """Start what `start_grading` does, by a plan made before the collection's row is locked.

    The plan is made anew where a job began or ended since.
    """
    collection = plan.collection
    with transaction.atomic():
        _lock(collection)
        keep_default_grader(collection)
        asks_directly = any(ItemKind.DIRECT in kinds_of(config) for config in plan.configs)
        has_new_wordings = asks_directly and _make_direct_wordings(collection)
        lock_extractions(collection, plan.configs)
        if has_new_wordings or plan.is_outdated:
            plan = plan.again()
        start = partial(_start, collection, by=by, press=uuid4(), priority=priority)
        started = [start(part) for part in plan.at_once if part.gaps]
        return started + [
            start(part, after=job) for later in plan.later for job, part in by_job(collection, later)
        ]


def retry_failed(
    collection: Collection,
    *,
    by: User | None,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
    configs: Iterable[GraderConfig] | None = None,
) -> list[GradingJob]:
    """Start a job for each config with failed grades of current items that no live job retries.

    A failed grade stays until the new one is there. Extracted answers are verified as after `start_grading`,
    where the collection's own graders do that.
    """
    chosen = active_configs(collection) if configs is None else list(configs)
    within = None if topics is None else list(topics)
    with transaction.atomic():
        _lock(collection)
        taken = taken_cells(collection, chosen)
        failed = failed_cells(collection, chosen, topics=within, items=items)
        return _retry_what_is_left(collection, left_to_start(collection, failed, taken), by, uuid4())


def grade_cells(
    collection: Collection, *, missing: list[Missing], failed: list[Missing], by: User | None
) -> list[GradingJob]:
    """Start jobs for exactly these cells, unless graded already or held by a live job."""
    with transaction.atomic():
        _lock(collection)
        press, left = uuid4(), left_to_start(collection, missing)
        started = [_start(collection, part, by=by, press=press) for part in left if part.gaps]
        return started + _retry_what_is_left(collection, left_to_start(collection, failed), by, press)


def retry_failed_of(job: GradingJob, *, by: User | None) -> list[GradingJob]:
    """Start a job for the failed grades that `job` made, and one to verify the new answers.

    None if nothing of it is failed any more.
    """
    return _retry(job.collection, job.grades.filter(outcome=Outcome.FAILED), by)


@transaction.atomic
def ask_again(grade: Grade, *, by: User | None) -> list[GradingJob]:
    """Grade one cell once more, because somebody doubts its grade.

    The new grade takes the place of the old one, unless it fails. None if a live job is at it already. Raises
    CannotRegrade.
    """
    if not can_ask(grade.config) or not grade.revision.text:
        raise CannotRegrade(
            "This pair cannot be graded again: the grade came in a file, or its prompt has changed."
        )
    jobs = _retry(grade.topic.collection, Grade.objects.filter(pk=grade.pk), by)
    if grade.outcome != Outcome.FAILED:
        for job in (job for job in jobs if job.is_retry):  # another verifies the new answer
            job.is_again, job.scope = True, f"{grade.passage.doc_id} once more"[:200]
            job.save(update_fields=["is_again", "scope"])
            was = grade.outcome if grade.rating is None else grade.rating
            audit.record("cell asked again", job, by=by, detail=f"grade {grade.pk} was {was}")
    return jobs


def go_on(jobs: list[GradingJob], *, by: User | None) -> list[GradingJob]:
    """Start what is left of jobs of one collection that ended early; none where nothing is missing."""
    if any(is_in_context(job.config) for job in jobs):
        left = [_left_of(job) for job in jobs]
        return grade_cells(jobs[0].collection, missing=left, failed=[], by=by)
    rows = JobPart.objects.filter(job__in=jobs)
    wordings = {pk for pks in rows.values_list("revisions", flat=True) for pk in pks}
    collection = jobs[0].collection
    return start_grading(
        collection,
        by=by,
        topics=collection.topics.filter(pk__in=rows.values("topic")),
        items=Item.including_secret.filter(bank__collection=collection, revision__in=wordings),
        configs=dict.fromkeys(job.config for job in jobs),
    )


def _left_of(job: GradingJob) -> Missing:
    """Return the cells of the job without a grade, which need not be of a pool."""
    gaps = []
    for part in job.parts.order_by("number"):
        grades = Grade.objects.by(job.config).for_topics([part.topic_id]).filter(revision__in=part.revisions)
        gap = parts.gap_of(part)
        gaps += [
            each.without(set(grades.values_list("revision_id", "passage_id")))
            for each in listed(job.collection, [gap])
        ]
    return Missing(job.config, tuple(gap for gap in gaps if gap.cells), frozenset())


def _lock(collection: Collection) -> None:
    """Lock the collection's row. Raise InColdStorage where nothing can be graded."""
    locked = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    if locked.cold_at:
        raise InColdStorage(locked)


@transaction.atomic
def _retry(collection: Collection, grades: GradeQuerySet, by: User | None) -> list[GradingJob]:
    _lock(collection)
    return _retry_what_is_left(collection, left_to_start(collection, cells_of(grades)), by, uuid4())


def _retry_what_is_left(
    collection: Collection, left: list[Missing], by: User | None, press: UUID
) -> list[GradingJob]:
    start = partial(_start, collection, by=by, press=press)
    started = [start(part, is_retry=True) for part in left if part.gaps]
    followed = following(collection, active_configs(collection), started) if started else ()
    return started + [start(part, after=job) for job, part in followed]


def _start(
    collection: Collection,
    missing: Missing,
    *,
    by: User | None,
    press: UUID,
    is_retry: bool = False,
    after: GradingJob | None = None,
    priority: GradingJob.Priority | None = None,
) -> GradingJob:
    """Create the job and its parts. It waits for the end of `after`, whose row is locked, if there is one."""
    job = GradingJob.objects.create(
        collection=collection,
        config=saved_config(missing.config),
        scope=f"failed grades of {missing.scope}" if is_retry else missing.scope,
        total=missing.cells,
        by=by,
        press=press,
        is_retry=is_retry,
        after=after,
        state=GradingJob.State.WAITING if after else GradingJob.State.QUEUED,
        priority=priority or _priority(missing, by),
    )
    parts.store_parts(job, missing.gaps)
    parts.open_more(job)
    audit.record("grading started", job, by=by, detail=job.scope)
    events.publish_on_commit(collection.channel, "progress")
    logger.info("started job %s: %d cells of %d topics", job.pk, job.total, len(missing.gaps))
    return job


def _priority(missing: Missing, by: User | None) -> GradingJob.Priority:
    """Return the priority by the expected time on one worker; a server's batch takes a worker none."""
    rate = progress.expected_rate(missing.config).cells
    is_awaited = by is not None and (not rate or missing.cells / rate <= SECONDS_TO_WAIT_FOR)
    return GradingJob.Priority.HIGH if is_awaited else GradingJob.Priority.DEFAULT


def _make_direct_wordings(collection: Collection) -> bool:
    """Make the synthetic item of each topic, whose text is the query; return whether one was absent.

    A topic without text has none to ask.
    """
    topics = collection.topics.exclude(text="").exclude(revisions__uid=DIRECT_UID)
    absent = [ItemRevision(topic=topic, uid=DIRECT_UID, text=topic.text) for topic in topics]
    ItemRevision.including_secret.bulk_create(absent, ignore_conflicts=True)
    return bool(absent)
