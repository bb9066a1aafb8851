"""A chunk's cells: read as pairs for a grader, and saved as grades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from grading import types
from grading.types import ItemKind, Outcome
from rubricweb.banks.models import DIRECT_UID, Item, ItemRevision
from rubricweb.corpus.models import Passage
from rubricweb.grades import convert, store, verification
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.engine import failures, parts
from rubricweb.grades.engine.answers import answers_for
from rubricweb.grades.engine.breaker import Breaker
from rubricweb.grades.engine.gaps import Cell
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk
from rubricweb.grades.store import GradeRow
from rubricweb.jobs.leases import Lease, LeaseLost, expiry

Result = types.Grade | types.GradeFailure


@dataclass
class Work:
    """What is left of a chunk: its rows by the ids that graders speak of."""

    chunk: JobChunk
    left: list[Cell]
    revisions: dict[int, ItemRevision]
    passages: dict[int, Passage]
    kinds: dict[int, ItemKind]
    """By revision pk."""
    answers: dict[Cell, str]
    """What was extracted before, where the prompt asks about it."""
    unanswered: dict[tuple[str, str], Cell]
    """By item id and passage id: the cells that no saved batch has answered yet."""
    failed: int
    """Cells of the chunk whose grade is a failed one, as far as they are saved."""
    seconds: float
    """Time spent on the chunk, until the last saved batch."""

    def pairs(self) -> Iterator[types.CellToGrade]:
        for revision_pk, passage_pk in self.left:
            revision, passage = self.revisions[revision_pk], self.passages[passage_pk]
            answer = self.answers.get((revision_pk, passage_pk))
            yield convert.pair(self.chunk.topic, revision, passage, self.kinds[revision_pk], answer)

    def rows(self, results: list[Result]) -> list[GradeRow]:
        """The grades of a batch. Each pair is answered once: a second answer is a KeyError."""
        topic_id = self.chunk.topic_id
        rows: dict[Cell, GradeRow] = {}
        for result in results:
            cell = self.unanswered[result.item_id, result.passage_id]
            if cell in rows:
                raise KeyError(cell)
            rows[cell] = convert.grade_row(result, topic_id=topic_id, revision_id=cell[0], passage_id=cell[1])
        return list(rows.values())

    def keys(self) -> dict[int, tuple[str, ...]]:
        """By revision pk: the accepted answers that the grader was told."""
        return {pk: tuple(key.text for key in row.answer_keys.all()) for pk, row in self.revisions.items()}

    def breaker(self) -> Breaker:
        """As it was when the chunk was claimed."""
        return Breaker.of(self.chunk.job.failures)


def work_of(lease: Lease[JobChunk]) -> Work:
    """What the chunk has still to grade; its counts are set to what is graded already. Raises LeaseLost."""
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
    answers = answers_for(chunk.job.config, revisions, passages)
    return Work(chunk, left, revisions, passages, kinds, answers, unanswered, failed, chunk.seconds)


def save(lease: Lease[JobChunk], work: Work, results: list[Result], seconds: float) -> None:
    """Write grades, counts and a longer lease in one transaction. Raises LeaseLost: nothing is written.

    The counts are absolute, so that to save a batch again, after a commit of which nobody knows whether it
    succeeded, does no harm.
    """
    rows, job = work.rows(results), work.chunk.job
    spent = work.seconds + seconds
    with transaction.atomic():
        rows = verification.with_present_keys(job.config, rows, asked=work.keys())
        rows = verification.of_present_answers(job.config, rows, read=work.answers)
        failed = work.failed + sum(row.outcome == Outcome.FAILED for row in rows)
        done = work.chunk.size - len(work.unanswered) + len(rows)
        counts = {"done": done, "failed": failed, "seconds": spent}
        if failed > work.failed or job.failures.get("row"):
            failures.note_results(job, [row.error_class for row in rows])
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
        said = next((row.reply for row in rows if row.outcome == Outcome.FAILED), "")
        GradingJob.objects.filter(pk=job.pk).update(error=f"The grade stays as it was. {said}"[:2_000])


def _replace(job: GradingJob, rows: list[GradeRow]) -> int:
    """What was said of the answers before goes with them."""
    new = [row for row in rows if row.outcome != Outcome.FAILED]
    if new:
        answers = {(row.revision_id, row.passage_id): row.answer for row in new}
        verification.drop_verdicts(job.config, new[0].topic_id, answers)
    return store.replace_grades(job.config, rows, job=job)


def _graded(chunk: JobChunk, cells: set[Cell]) -> dict[Cell, str]:
    """By cell: the outcome of the grade that needs no other; to a retry, those of other jobs may."""
    job = chunk.job
    rows = Grade.objects.by(chunk.job.config).filter(
        topic=chunk.topic_id,
        revision__in={revision for revision, _ in cells},
        passage__in={passage for _, passage in cells},
    )
    found = rows.values_list("revision_id", "passage_id", "outcome", "job_id")
    return {
        (revision, passage): outcome
        for revision, passage, outcome, job_id in found
        if job_id == job.pk or not (job.is_again or (job.is_retry and outcome == Outcome.FAILED))
    }


def _kinds(config: GraderConfig, revisions: dict[int, ItemRevision]) -> dict[int, ItemKind]:
    """What each wording is asked as; one that no item has any more is asked as the config's first kind."""
    fitting = sorted(kinds_of(config))
    rows = (
        Item.including_secret.of_kinds(fitting).filter(revision__in=revisions)
        if len(fitting) > 1
        else Item.including_secret.none()
    )
    asked = {pk: ItemKind(kind) for pk, kind in rows.values_list("revision_id", "kind")}
    direct = {pk: ItemKind.DIRECT for pk, revision in revisions.items() if revision.uid == DIRECT_UID}
    return dict.fromkeys(revisions, fitting[0]) | asked | direct
