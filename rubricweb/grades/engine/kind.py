"""The job kind of grading: what a worker does with a chunk, and with a job that has ended."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator

import redis
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse_lazy
from django.utils.text import format_lazy

from grading.errors import GraderUnavailable, UnknownGrader, UnknownPrompt
from grading.graders import BatchGrader, registry
from grading.graders.many_items import ends_call
from rubricweb.core import events
from rubricweb.grades.configs import running_spec
from rubricweb.grades.engine import chunks, gaps, parts
from rubricweb.grades.engine.breaker import Breaker, reset_breaker
from rubricweb.grades.engine.chunks import ChunkWork, Result
from rubricweb.grades.engine.missing import answered_cells
from rubricweb.grades.models import GraderConfig, GradingJob, JobChunk
from rubricweb.jobs import leases, probes, queue, worker, worker_state
from rubricweb.jobs.kinds import CannotRun, ChunkKind, Need, Stopping
from rubricweb.jobs.leases import SET_BACK, Lease
from rubricweb.jobs.limits import cost, tokens_of
from rubricweb.webhooks import actions as webhooks

logger = logging.getLogger(__name__)

State = GradingJob.State

NEWS_EVERY_SECONDS = 0.5
_announced: dict[int, float] = {}
"""Times of this process's latest news of each job; Redis decides between processes."""

BATCH_RESULTS = 1_000
BATCH_SECONDS = 1.0
"""Age at which a batch is saved before it is full: slow graders show each grade, fast ones save time."""
SAVE_AGAIN_AFTER = (0.1, 1.0, 5.0)
"""Seconds before saving again what a grader was paid for, while the database is away."""

CHUNK_SECONDS = 20.0
"""Time after which a chunk makes way for more urgent work."""
LOCAL = frozenset(backend.name for backend in registry.known_backends() if not backend.needs_server)

CANNOT_RUN = (GraderUnavailable, UnknownGrader, UnknownPrompt)


class Unanswered(Exception):
    """Raised where the grader gave no result for some of its pairs."""


class Grading(ChunkKind[JobChunk]):
    name = "chunk"
    model = JobChunk
    related = ("job__config", "job__collection", "topic")
    job_related = ("collection", "config")
    payload = ("cells",)
    is_timed = True
    activity = "grading"
    saves_batches = True

    def audited(self, job: GradingJob) -> tuple[Model, str]:
        return job, job.scope

    def claimable(self) -> QuerySet[JobChunk]:
        """Return the chunks, without those that wait for a batch that is not due.

        All are due at once if the clock was set back far.
        """
        is_due = Q(not_before__lte=Now()) | Q(not_before__gt=Now() + SET_BACK)
        return super().claimable().filter(Q(not_before=None) | is_due)

    def run(self, lease: Lease[JobChunk]) -> None:
        try:
            grade_chunk(lease)
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error

    def need(self, work: JobChunk) -> Need:
        config = work.job.config
        key = f"config-{config.fingerprint}"
        return Need(key, str(config), *registry.requirement(config.backend))

    def backends(self) -> Iterable[str]:
        return registry.importable()

    def job_changed(self, job: GradingJob) -> None:
        _announced.pop(job.pk, None)
        _publish(job)

    def on_finished(self, job: GradingJob) -> None:
        slug = job.collection.slug
        page = format_lazy("{}?job={}", reverse_lazy("grades:jobs", args=[slug]), job.pk)
        api = webhooks.api_address("job", slug, job.pk)
        webhooks.job_ended(job, job.collection, kind="grading", page=page, api=api)

    def on_resumed(self, job: GradingJob) -> None:
        reset_breaker(job)

    def open_more(self, job: GradingJob) -> None:
        parts.open_more(job)

    def close(self, job: GradingJob) -> None:
        job.is_closed = True
        job.save(update_fields=["is_closed"])

    def is_cut_short(self, job: GradingJob) -> bool:
        return parts.unopened(job).exists()

    def release(self, job: GradingJob) -> list[GradingJob]:
        return release(job)


def grade_chunk(lease: Lease[JobChunk]) -> None:
    """Grade what the chunk lacks. Raises what `Kind.run` does, and what graders raise."""
    started = time.monotonic()
    work = chunks.work_of(lease)
    job = work.chunk.job
    if job.state not in GradingJob.WORKED_ON:
        raise Stopping
    announce(job)
    rest = 0.0
    if textless := work.textless():
        chunks.save(lease, work, textless, 0)
    if work.unanswered:
        config = str(job.config)
        with worker_state.now.load(job.config.llm, config):
            grader = chunks.loaded_grader(running_spec(job))
        worker_state.now.device, worker_state.now.model = grader.device, config
        if isinstance(grader, BatchGrader):
            rest = _save_all(lease, work, chunks.batch_results(lease, work, grader))
            chunks.ask_rest(lease, work)
        else:
            rest = _save_all(lease, work, grader.grade(work.pairs()))
    if work.unanswered:
        raise Unanswered(f"The grader gave no result for {len(work.unanswered)} of {len(work.left)} pairs.")
    leases.finish(lease, seconds=work.seconds + rest)
    seconds = time.monotonic() - started
    logger.info(
        "graded chunk %s of job %s: %d cells in %.2f s", work.chunk.pk, job.pk, len(work.left), seconds
    )


def _save_all(lease: Lease[JobChunk], work: ChunkWork, results: Iterable[Result]) -> float:
    """Save all batches, and return the seconds that none counts: those of saving the last one."""
    began = counted = time.monotonic()
    for batch in _batches(results, work.breaker()):
        seconds, counted = time.monotonic() - counted, time.monotonic()
        _save(lease, work, batch, seconds)
        _count(work.chunk.job.config, batch)
        announce(work.chunk.job)
        if work.unanswered and (_shall_stop(lease) or _shall_make_way(lease, time.monotonic() - began)):
            raise Stopping
    return time.monotonic() - counted


def _count(config: GraderConfig, batch: list[Result]) -> None:
    """Count the pairs for `/metrics`, with what a model read and wrote for them."""
    probes.note_graded(str(config), Counter(map(chunks.error_class, batch)))
    if traces := [result.trace for result in batch if result.trace]:
        read = tokens_of([trace.prompt for trace in traces])
        written = tokens_of([trace.reply for trace in traces])
        spent = cost(config.backend, config.llm, read, written)
        probes.note_tokens(config.llm, read, written, spent)


def _save(lease: Lease[JobChunk], work: ChunkWork, batch: list[Result], seconds: float) -> None:
    """Save a batch, again after a lost connection."""
    for wait in SAVE_AGAIN_AFTER:
        try:
            chunks.save(lease, work, batch, seconds)
        except worker.CONNECTION_LOST as error:
            logger.warning("a batch of job %s was not saved yet: %s", lease.work.job_id, error)
            time.sleep(wait)
            worker.close_dead_connections()
        else:
            return
    chunks.save(lease, work, batch, seconds)


def _shall_stop(lease: Lease[JobChunk]) -> bool:
    worked_on = GradingJob.objects.filter(pk=lease.work.job_id, state__in=GradingJob.WORKED_ON)
    return worker_state.now.is_stopping or not worked_on.exists()


def _shall_make_way(lease: Lease[JobChunk], seconds: float) -> bool:
    """Return whether an overlong chunk is handed back because more urgent work waits.

    Not while a server answers: the calls under way are paid for.
    """
    if seconds < CHUNK_SECONDS or lease.work.job.config.backend not in LOCAL:
        return False
    try:
        return worker_state.is_preceded(lease.work)
    except redis.RedisError:
        return False


def _batches(results: Iterable[Result], breaker: Breaker) -> Iterator[list[Result]]:
    """Yield results in batches; one that breaks the circuit is yielded at once, before more is asked.

    The results of a call stay together: what is left of one would be asked, and paid for, again.
    """
    batch: list[Result] = []
    began = time.monotonic()
    for result in results:
        batch.append(result)
        if chunks.counts_as_error(result):
            breaker.add(chunks.error_class(result))
        if not ends_call(result):
            continue
        is_full = len(batch) >= BATCH_RESULTS or time.monotonic() - began >= BATCH_SECONDS
        if is_full or breaker.tripped:
            yield batch
            batch, began = [], time.monotonic()
    if batch:
        yield batch


def announce(job: GradingJob) -> None:
    """Tell browsers of new grades and counts, at most twice a second for a job on all workers."""
    if time.monotonic() - _announced.get(job.pk, -NEWS_EVERY_SECONDS) < NEWS_EVERY_SECONDS:
        return
    _announced[job.pk] = time.monotonic()
    try:
        with queue.connection() as client:
            is_time = client.set(
                f"{job.collection.channel}:{job.pk}", 1, nx=True, px=int(NEWS_EVERY_SECONDS * 1000)
            )
    except redis.RedisError:
        return
    if is_time:
        _publish(job)


def _publish(job: GradingJob) -> None:
    events.publish(job.collection.channel, "grades")
    events.publish(job.collection.channel, "progress")


def release(job: GradingJob) -> list[GradingJob]:
    """Release jobs that waited for `job`, which is locked and has just ended.

    Return the locked jobs that have nothing to verify.
    """
    locked = GradingJob.objects.select_for_update(no_key=True, of=("self",))
    waiting = locked.filter(after=job, state=State.WAITING)
    followers = list(waiting.select_related("collection", "config").order_by("pk"))
    return [follower for follower in followers if not _begins(follower, job)]


def _begins(follower: GradingJob, job: GradingJob) -> bool:
    if job.state == State.CANCELLED:
        return _drop(follower, f"Job {job.pk}, for whose answers this one waited, was cancelled.")
    if not (cells := _keep_answered(follower)):
        return _drop(follower, f"Job {job.pk} has ended and left no answer to verify.")
    follower.state, follower.total = State.QUEUED, cells
    follower.save(update_fields=["state", "total"])
    parts.open_more(follower)
    logger.info("job %s begins, since job %s has ended", follower.pk, job.pk)
    return True


def _drop(follower: GradingJob, error: str) -> bool:
    follower.is_closed, follower.error = True, error
    follower.save(update_fields=["is_closed", "error"])
    return False


def _keep_answered(follower: GradingJob) -> int:
    """Leave out cells whose extraction failed, and return how many are left.

    None means that nothing was changed.
    """
    parts.take_listed_cells(follower)
    cells, empty = 0, []
    for part in follower.parts.select_related("job"):
        (gap,) = gaps.listed(follower.collection, [parts.gap_of(part)])
        kept = gap.difference(gap.without(answered_cells(follower.config, [part.topic_id])[part.topic_id]))
        if kept.cells:
            cells += kept.cells
            parts.change_part(part, kept)
            part.save()
        else:
            empty.append(part.pk)
    if cells:
        follower.parts.filter(pk__in=empty).delete()
    return cells
