"""A chunk's cells: cut from what is missing, read as pairs for a grader, and saved as grades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F

from grading import types
from grading.types import ItemKind, Outcome
from rubricweb.banks.models import DIRECT_UID, Item, ItemRevision
from rubricweb.corpus.models import Passage
from rubricweb.grades import convert, store
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.engine import leases
from rubricweb.grades.engine.leases import Lease, LeaseLost
from rubricweb.grades.engine.missing import Cell, TopicGap
from rubricweb.grades.models import Grade, GraderConfig, JobChunk

Result = types.Grade | types.GradeFailure


def cut(gap: TopicGap, size: int) -> Iterator[list[Cell]]:
    """Lists of about `size` cells; those of one passage stay together, because graders reuse its words."""
    cells: list[Cell] = []
    for of_passage in gap.pairs_by_passage():
        if cells and len(cells) + len(of_passage) > size:
            yield cells
            cells = []
        cells += of_passage
    if cells:
        yield cells


@dataclass(frozen=True, slots=True)
class Work:
    """What is left of a chunk: its rows by the ids that graders speak of."""

    chunk: JobChunk
    left: list[Cell]
    revisions: dict[int, ItemRevision]
    passages: dict[int, Passage]
    kinds: dict[int, ItemKind]
    """By revision pk."""
    unanswered: dict[tuple[str, str], Cell]
    """By item id and passage id: the cells that the grader has not answered yet."""

    def pairs(self) -> Iterator[types.Pair]:
        for revision_pk, passage_pk in self.left:
            revision, passage = self.revisions[revision_pk], self.passages[passage_pk]
            yield convert.pair(self.chunk.topic, revision, passage, self.kinds[revision_pk])

    def row(self, result: Result) -> Grade:
        """The grade row of a result; each pair is answered once, so a second answer is a KeyError."""
        revision_pk, passage_pk = self.unanswered.pop((result.item_id, result.passage_id))
        job = self.chunk.job
        return convert.grade_row(
            result, config=job.config, revision=self.revisions[revision_pk], passage_id=passage_pk, job=job
        )


def work_of(lease: Lease) -> Work:
    """What the chunk has still to grade; its counts are set to what is graded already. Raises LeaseLost."""
    related = ("job__config", "job__collection", "topic")
    chunk = JobChunk.objects.select_related(*related).get(pk=lease.chunk_id)
    cells = [(revision, passage) for revision, passage in chunk.cells]
    revisions = ItemRevision.objects.in_bulk({revision for revision, _ in cells})
    graded = _graded(chunk, set(cells))
    left = [cell for cell in cells if cell not in graded]
    passages = Passage.objects.in_bulk({passage for _, passage in left})
    unanswered = {(revisions[cell[0]].uid, passages[cell[1]].doc_id): cell for cell in left}
    _count_graded(lease, [graded[cell] for cell in cells if cell in graded])
    return Work(chunk, left, revisions, passages, _kinds(chunk.job.config, revisions), unanswered)


def save(lease: Lease, work: Work, results: list[Result], seconds: float) -> None:
    """Write grades, counts and a longer lease in one transaction. Raises LeaseLost: nothing is written."""
    rows = [work.row(result) for result in results]
    failed = sum(row.outcome == Outcome.FAILED for row in rows)
    with transaction.atomic():
        counts = {
            "done": F("done") + len(rows),
            "failed": F("failed") + failed,
            "seconds": F("seconds") + seconds,
        }
        if not lease.held().update(**counts, lease_until=leases.expiry()):
            raise LeaseLost
        store.save_grades(work.chunk.job.config, rows)


def _graded(chunk: JobChunk, cells: set[Cell]) -> dict[Cell, str]:
    """By cell: the outcome of the grade that it has already."""
    rows = Grade.objects.by(chunk.job.config).filter(
        topic=chunk.topic_id,
        revision__in={revision for revision, _ in cells},
        passage__in={passage for _, passage in cells},
    )
    found = rows.values_list("revision_id", "passage_id", "outcome")
    return {(revision, passage): outcome for revision, passage, outcome in found}


def _count_graded(lease: Lease, outcomes: list[str]) -> None:
    failed = sum(outcome == Outcome.FAILED for outcome in outcomes)
    if not lease.held().update(done=len(outcomes), failed=failed):
        raise LeaseLost


def _kinds(config: GraderConfig, revisions: dict[int, ItemRevision]) -> dict[int, ItemKind]:
    """What each wording is asked as; one that no item has any more is asked as the config's first kind."""
    fitting = sorted(kinds_of(config))
    rows = (
        Item.objects.of_kinds(fitting).filter(revision__in=revisions)
        if len(fitting) > 1
        else Item.objects.none()
    )
    asked = {pk: ItemKind(kind) for pk, kind in rows.values_list("revision_id", "kind")}
    direct = {pk: ItemKind.DIRECT for pk, revision in revisions.items() if revision.uid == DIRECT_UID}
    return dict.fromkeys(revisions, fitting[0]) | asked | direct
