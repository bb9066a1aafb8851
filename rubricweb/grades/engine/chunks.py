"""The cells of a chunk: read as pairs for a grader, asked at once or in a batch, and saved as grades.

A batch is answered hours later. Its id is kept with the chunk before anything is waited for. While it is not
answered the chunk waits outside of the queue, without a lease: the worker goes on with other chunks, and
whoever claims the chunk when it is due looks at the batch again. A worker that died after it sent a batch,
and before it kept the id, leaves one that the next worker finds by the digest of its requests.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypedDict

from django.db import transaction
from django.db.models.functions import Now

from grading import types
from grading.errors import GradingError, TryLater
from grading.graders import BatchGrader, Grader, GraderSpec, registry
from grading.graders.exemplars import fitting
from grading.graders.many_items import ends_call
from grading.types import ItemKind, Outcome
from rubricweb.banks.models import DIRECT_UID, Item, ItemRevision
from rubricweb.core.redaction import redacted
from rubricweb.core.servers import model_server
from rubricweb.corpus import convert as corpus
from rubricweb.corpus.models import Passage, Topic
from rubricweb.grades import configs, exemplars, panels, store, verification
from rubricweb.grades.engine import missing, parts
from rubricweb.grades.engine.breaker import Breaker, note_results
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk, Pair
from rubricweb.grades.store import GradeRow
from rubricweb.jobs import worker_state
from rubricweb.jobs.kinds import Stopping
from rubricweb.jobs.leases import Lease, LeaseLost, expiry

logger = logging.getLogger(__name__)

Result = types.Grade | types.GradeFailure

KEPT_GRADERS = 4
_graders: OrderedDict[GraderSpec, Grader] = OrderedDict()
"""Loaded graders, the one used last at the end."""

NO_TEXT = "The passage has no text. Import it, then retry."
LOOK_AGAIN = timedelta(seconds=60)
CANCELLED_AT_ONCE = 20


def item(revision: ItemRevision, kind: types.ItemKind) -> types.Item:
    """Return the wording with its accepted answers; prefetch `answer_keys` when converting many."""
    answers = tuple(key.text for key in revision.answer_keys.all())
    return types.Item(revision.uid, kind, revision.text, answers)


def pair(
    topic: Topic, revision: ItemRevision, passage: Passage, kind: types.ItemKind, answer: str | None = None
) -> types.CellToGrade:
    """Return the cell as graders take it; `answer` is the extracted one, for a prompt that asks about it."""
    return types.CellToGrade(item(revision, kind), corpus.passage(passage), corpus.topic(topic), answer)


def _has_words(config: GraderConfig, passage: Passage) -> bool:
    """Return whether the grader can be asked about the passage; a panel reads none."""
    return panels.is_panel(config) or bool(passage.text.strip())


def with_call(grade: Grade, alone: types.CellToGrade) -> types.CellToGrade | None:
    """Return the pair of a grade with its exemplars and all items of its call, in the order asked, if any.

    None where the prompt is not known any more, since another grade of the call was replaced or an exemplar
    changed, or where the reader may not see all of it.
    """
    whole = exemplars.shown_with_exemplars(grade, alone)
    if whole is None or grade.call_items is None or grade.call_place is None:
        return whole
    size = configs.spec_of(grade.config).prompt.items_a_call
    first = (grade.call_place - 1) // size * size + 1
    of_call = Grade.objects.by(grade.config).filter(
        topic=grade.topic_id,
        passage=grade.passage_id,
        job=grade.job_id,
        at=grade.at,
        call_place__range=(first, first + size - 1),
    )
    order = list(of_call.order_by("call_place").values_list("revision", flat=True))
    revisions = ItemRevision.objects.prefetch_related("answer_keys").in_bulk(order)
    if len(revisions) != grade.call_items:
        return None
    return replace(whole, items=tuple(item(revisions[pk], alone.item.kind) for pk in order))


def grade_row(result: Result, *, topic_id: int, revision_id: int, passage_id: int) -> GradeRow:
    """Return the row of a result; a failure has no rating, but a reason, an error class and the raw reply."""
    trace = result.trace
    reply = _kept(trace.reply) if trace else ""
    cell = (topic_id, revision_id, passage_id)
    seen: _Seen = {"context_chars": trace.context_chars if trace else None}
    if trace and trace.call_items:
        seen |= {"call_items": len(trace.call_items), "call_place": trace.place}
    if isinstance(result, types.GradeFailure):
        return GradeRow(
            *cell,
            rating=None,
            outcome=Outcome.FAILED.value,
            answer=reply,
            reply=redacted(_kept(result.reason)),
            error_class=error_class(result),
            **seen,
        )
    return GradeRow(
        *cell,
        rating=result.rating,
        outcome=result.outcome.value,
        answer=_kept(result.answer),
        reply=reply,
        confidence=result.confidence,
        expectation=result.expectation,
        **seen,
    )


class _Seen(TypedDict, total=False):
    context_chars: int | None
    call_items: int
    call_place: int | None


def counts_as_error(result: Result) -> bool:
    """Return whether the circuit breaker counts the result; a call that failed as a whole counts once."""
    return ends_call(result) or error_class(result) in ("", types.ErrorClass.PARSE.value)


def error_class(result: Result) -> str:
    """Return the class of a failure; empty for a grade."""
    return "" if isinstance(result, types.Grade) else result.error_class.value


def _kept(text: str) -> str:
    """Return the text without NUL, the one character that PostgreSQL cannot store."""
    return text.replace("\0", "")


@dataclass
class ChunkWork:
    """The rest of a chunk: its rows by the ids that graders use."""

    chunk: JobChunk
    left: list[Pair]
    revisions: dict[int, ItemRevision]
    passages: dict[int, Passage]
    kinds: dict[int, ItemKind]
    """Kinds of items by revision pk."""
    answers: dict[Pair, str]
    """Answers extracted before, where the prompt asks about them."""
    votes: dict[Pair, panels.Votes]
    """Ratings by the members of a panel, where it is one that grades."""
    unanswered: dict[tuple[str, str], Pair]
    """Cells that no saved batch has answered yet, by item id and passage id."""
    failed: int
    """Saved cells of the chunk with a failed grade."""
    seconds: float
    """Time spent on the chunk, until the last saved batch."""

    def textless(self) -> list[Result]:
        """Return a failure for each cell of a passage without a text, which no model is asked about."""
        return [
            types.GradeFailure(self.revisions[revision].uid, self.passages[passage].doc_id, NO_TEXT)
            for revision, passage in self.left
            if not _has_words(self.chunk.job.config, self.passages[passage])
        ]

    def pairs(self) -> Iterator[types.CellToGrade]:
        """Yield what the grader is asked. Raises GraderUnavailable where its exemplars have changed."""
        slots = exemplars.exemplar_slots(configs.spec_of(self.chunk.job.config))
        for revision_pk, passage_pk in self.left:
            revision, passage = self.revisions[revision_pk], self.passages[passage_pk]
            if not _has_words(self.chunk.job.config, passage):
                continue
            answer = self.answers.get((revision_pk, passage_pk))
            cell = pair(self.chunk.topic, revision, passage, self.kinds[revision_pk], answer)
            votes = self.votes.get((revision_pk, passage_pk), ())
            yield replace(cell, votes=votes, exemplars=fitting(slots, cell))

    def rows(self, results: list[Result]) -> list[GradeRow]:
        """Return the grades of a batch. Each pair is answered once: a second answer is a KeyError."""
        topic_id = self.chunk.topic_id
        rows: dict[Pair, GradeRow] = {}
        for result in results:
            cell = self.unanswered[result.item_id, result.passage_id]
            if cell in rows:
                raise KeyError(cell)
            rows[cell] = grade_row(result, topic_id=topic_id, revision_id=cell[0], passage_id=cell[1])
        return list(rows.values())

    def keys(self) -> dict[int, tuple[str, ...]]:
        """Return by revision pk the accepted answers that the grader was given."""
        return {pk: tuple(key.text for key in row.answer_keys.all()) for pk, row in self.revisions.items()}

    def breaker(self) -> Breaker:
        """Return the circuit breaker as it was when the chunk was claimed."""
        return Breaker.of(self.chunk.job.failures)


def work_of(lease: Lease[JobChunk]) -> ChunkWork:
    """Return what the chunk has still to grade, with its counts set to what is graded already.

    Raises LeaseLost.
    """
    chunk = lease.work
    cells = parts.cells_of(chunk)
    revisions = ItemRevision.including_secret.prefetch_related("answer_keys").in_bulk(
        {cell[0] for cell in cells}
    )
    graded = _graded(chunk, set(cells))
    left = [cell for cell in cells if cell not in graded]
    passages = Passage.objects.in_bulk({passage for _, passage in left})
    unanswered = {(revisions[cell[0]].uid, passages[cell[1]].doc_id): cell for cell in left}
    failed = sum(graded[cell] == Outcome.FAILED for cell in cells if cell in graded)
    counts = {"done": len(cells) - len(left), "failed": failed}
    if (chunk.done, chunk.failed) != tuple(counts.values()) and not lease.held().update(**counts):
        raise LeaseLost
    kinds = _kinds(chunk.job.config, revisions)
    answers = missing.answers_for(chunk.job.config, revisions, passages)
    votes = panels.votes_for(chunk.job.config, revisions, passages)
    return ChunkWork(
        chunk, left, revisions, passages, kinds, answers, votes, unanswered, failed, chunk.seconds
    )


def save(lease: Lease[JobChunk], work: ChunkWork, results: list[Result], seconds: float) -> None:
    """Write grades, counts and a longer lease in one transaction. Raises LeaseLost: nothing is written.

    The counts are absolute, so that to save a batch again, after a commit of which nobody knows whether it
    succeeded, does no harm.
    """
    rows, job = work.rows(results), work.chunk.job
    spent = work.seconds + seconds
    with transaction.atomic():
        rows = verification.with_present_keys(job.config, rows, keys_read=work.keys())
        rows = verification.of_present_answers(job.config, rows, read=work.answers)
        rows = panels.of_present_votes(job.config, work.chunk.topic_id, rows, read=work.votes)
        failed = work.failed + sum(row.outcome == Outcome.FAILED for row in rows)
        done = work.chunk.size - len(work.unanswered) + len(results)
        counts = {"done": done, "failed": failed, "seconds": spent}
        if failed > work.failed or job.failures.get("streak"):
            note_results(job, map(error_class, filter(counts_as_error, results)))
        if not lease.held().update(**counts, lease_until=expiry()):
            raise LeaseLost
        _write(job, rows)
    work.failed, work.seconds = failed, spent
    for result in results:
        del work.unanswered[result.item_id, result.passage_id]


def _write(job: GradingJob, rows: list[GradeRow]) -> None:
    if not job.is_retry:
        store.save_grades(job.config, rows, job=job)
    elif not job.is_again:
        store.replace_failed(job.config, rows, job=job)
    elif _replace(job, rows) < len(rows):
        reason = next((row.reply for row in rows if row.outcome == Outcome.FAILED), "")
        GradingJob.objects.filter(pk=job.pk).update(error=f"The grade stays as it was. {reason}"[:2_000])


def _replace(job: GradingJob, rows: list[GradeRow]) -> int:
    """Replace these grades and return how many; verdicts of people on the old answers are deleted."""
    new = [row for row in rows if row.outcome != Outcome.FAILED]
    if new:
        answers = {(row.revision_id, row.passage_id): row.answer for row in new}
        verification.drop_verdicts(job.config, new[0].topic_id, answers)
    return store.replace_grades(job.config, rows, job=job)


def _graded(chunk: JobChunk, cells: set[Pair]) -> dict[Pair, str]:
    """Return by cell the outcomes of the grades that this job need not replace."""
    job = chunk.job
    rows = Grade.objects.by(chunk.job.config).filter(
        topic=chunk.topic_id,
        revision__in={revision for revision, _ in cells},
        passage__in={passage for _, passage in cells},
    )
    outcomes = rows.values_list("revision_id", "passage_id", "outcome", "job_id")
    return {
        (revision, passage): outcome
        for revision, passage, outcome, job_id in outcomes
        if job_id == job.pk or not (job.is_again or (job.is_retry and outcome == Outcome.FAILED))
    }


def _kinds(config: GraderConfig, revisions: dict[int, ItemRevision]) -> dict[int, ItemKind]:
    """Return the kind of each wording; the config's first kind for one that no item has any more."""
    fitting = sorted(configs.kinds_of(config))
    rows = (
        Item.including_secret.of_kinds(fitting).filter(revision__in=revisions)
        if len(fitting) > 1
        else Item.including_secret.none()
    )
    of_items = {pk: ItemKind(kind) for pk, kind in rows.values_list("revision_id", "kind")}
    direct = {pk: ItemKind.DIRECT for pk, revision in revisions.items() if revision.uid == DIRECT_UID}
    return dict.fromkeys(revisions, fitting[0]) | of_items | direct


def loaded_grader(spec: GraderSpec) -> Grader:
    """Return the grader with its model loaded. Raises what `registry.build` raises."""
    if spec not in _graders:
        close_until(KEPT_GRADERS - 1)  # before the new one needs the memory
        _graders[spec] = registry.build(spec, model_server())
    _graders.move_to_end(spec)
    return _graders[spec]


def close_until(left: int) -> None:
    """Close graders, least recently used first, until so many are left."""
    while len(_graders) > left:
        _, unused = _graders.popitem(last=False)
        unused.close()


class BatchFailed(Exception):
    """Raised where a batch ended without an answer to any of its cells."""


def batch_results(lease: Lease[JobChunk], work: ChunkWork, grader: BatchGrader) -> Iterator[Result]:
    """Yield the results of the chunk's batch.

    Raises Stopping while there are none yet, and BatchFailed.
    """
    chunk, pairs, salt = work.chunk, list(work.pairs()), _salt(work)
    answered = 0
    try:
        if not chunk.batch:
            _wait(lease, batch=grader.find(pairs, salt) or grader.send(pairs, salt))
        state = grader.state(chunk.batch)
        if not state.has_ended:
            _wait(lease)
        if state.is_refused_for_now:
            _wait(lease, batch="")
        work.seconds += state.seconds
        if not state.problem:
            for result in grader.collect(chunk.batch, pairs, salt):
                answered += 1
                yield result
    except TryLater as error:
        logger.info("chunk %s waits: %s", chunk.pk, error)
        _wait(lease)
    if not answered:
        _keep(lease, batch="")
        raise BatchFailed(f"Batch {chunk.batch} has no answers. {state.problem}")


def ask_rest(lease: Lease[JobChunk], work: ChunkWork) -> None:
    """Ask about cells that the ended batch left without an answer. Raises Stopping if there are any."""
    if not work.unanswered:
        return
    logger.info("%d cells of chunk %s are asked again", len(work.unanswered), work.chunk.pk)
    _keep(lease, batch="", not_before=None)
    raise Stopping


def cancel_unwanted() -> None:
    """Cancel the batches of cancelled chunks, so that nobody answers, or charges for, them."""
    if "batch_file" not in worker_state.now.backends:
        return
    unwanted = JobChunk.objects.filter(state=JobChunk.State.CANCELLED).exclude(batch="")
    for chunk in unwanted.select_related("job__config", "job__collection")[:CANCELLED_AT_ONCE]:
        try:
            grader = loaded_grader(configs.running_spec(chunk.job))
            if isinstance(grader, BatchGrader):
                grader.cancel(chunk.batch)
        except GradingError as error:
            logger.warning("batch %s was not cancelled: %s", chunk.batch, error)
        else:
            JobChunk.objects.filter(pk=chunk.pk).update(batch="")


def _salt(work: ChunkWork) -> str:
    """Return a salt that makes a retry ask anew, also about cells that an earlier batch answered."""
    return str(work.chunk.job_id) if work.chunk.job.is_retry else ""


def _wait(lease: Lease[JobChunk], **fields: str) -> None:
    _keep(lease, not_before=Now() + LOOK_AGAIN, **fields)
    raise Stopping


def _keep(lease: Lease[JobChunk], **fields: object) -> None:
    if not lease.held().update(**fields):
        raise LeaseLost
