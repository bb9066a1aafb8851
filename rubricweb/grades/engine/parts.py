"""The parts of a job, topic by topic, and the chunks that are opened of them as workers go on.

A job of any size starts with a row a topic; of topics of which it grades all, the passages are read when the
first chunk of them is opened. Chunks are ranges of rows of these, and no more of them exist than workers need
for a while, so that to start, pause, resume, hurry or cancel a job touches few rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from django.conf import settings
from django.db.models import F, Max, Q, QuerySet
from numpy.typing import NDArray

from grading.graders import registry
from rubricweb.grades.engine.gaps import (
    Gap,
    TopicGap,
    WholeTopic,
    difference,
    gaps_of,
    listed,
    pack_keys,
    pack_mask,
    unpack_keys,
    unpack_mask,
)
from rubricweb.grades.engine.progress import measured_rate
from rubricweb.grades.models import GradingJob, JobChunk, JobPart, Pair
from rubricweb.jobs import queue

WAVE, LOW_WATER = 256, 128
"""Most chunks that wait, and the number below which more are opened."""
FIRST_CHUNKS, ENOUGH_CHUNKS = 4, 4
"""A model's first chunks, which measure it, and the number of measured ones from which waves are full."""
PARTS_AT_ONCE = 32
ROWS_A_QUERY = 200


class Span(NamedTuple):
    """A range of a part's rows that makes a chunk."""

    first: int
    last: int
    """Row after the last one."""
    cells: int


def store_parts(job: GradingJob, gaps: Iterable[Gap]) -> None:
    """Save exactly these cells as the job's parts."""
    rows = (_part(job, number, gap) for number, gap in enumerate(gaps))
    JobPart.objects.bulk_create(rows, batch_size=ROWS_A_QUERY)


def take_listed_cells(job: GradingJob) -> None:
    """Make parts from the chunks of a waiting job of an earlier version, which list their cells."""
    listed = job.chunks.filter(part=None)
    if listed.exists():
        store_parts(job, _gaps(listed))
        listed.delete()


def change_part(part: JobPart, gap: TopicGap) -> None:
    """Set the cells of an unopened part, without saving it."""
    new = _part(part.job, part.number, gap)
    part.revisions, part.passages, part.mask, part.rows = new.revisions, new.passages, new.mask, new.rows


def gap_of(part: JobPart) -> Gap:
    return WholeTopic(part.topic_id, tuple(part.revisions), part.rows) if part.is_whole else _unpacked(part)


def cells_of(chunk: JobChunk) -> list[Pair]:
    """Return the cells of a chunk, those of a passage together."""
    if chunk.part is None:
        return [(revision, passage) for revision, passage in chunk.cells or ()]
    gap = _rows(_unpacked(chunk.part), chunk.first, chunk.last)
    return [cell for of_passage in gap.pairs_by_passage() for cell in of_passage]


def held(jobs: QuerySet[GradingJob], *, topics: Iterable[int] | None = None) -> Iterator[Gap]:
    """Return what these jobs have still to grade or are grading: live chunks, and unopened rows."""
    within = {} if topics is None else {"topic__in": list(topics)}
    live = JobChunk.objects.filter(**within, job__in=jobs, state__in=JobChunk.LIVE).order_by()
    spans: dict[int, list[tuple[int, int]]] = {}
    for pk, first, last in live.filter(part__isnull=False).values_list("part", "first", "last"):
        spans.setdefault(pk, []).append((first, last))
    is_unopened = Q(
        opened__lt=F("rows"), job__is_closed=False, job__in=jobs.exclude(state__in=GradingJob.ENDED)
    )
    for part in JobPart.objects.filter(is_unopened | Q(pk__in=spans), **within).select_related("job"):
        mine = spans.get(part.pk, [])
        if not part.job.is_closed:
            mine = [*mine, (part.opened, part.rows)]
        gap = gap_of(part)
        yield gap if isinstance(gap, WholeTopic) else _only(gap, mine)
    yield from _gaps(live.filter(part=None))


def unopened(job: GradingJob) -> QuerySet[JobPart]:
    return job.parts.filter(opened__lt=F("rows"))


def open_more(job: GradingJob) -> int:
    """Open chunks if few wait, and return how many. The job's row is locked, or new."""
    if job.is_closed or job.is_waiting or job.has_ended:
        return 0
    waiting = job.chunks.filter(state=JobChunk.State.QUEUED).count()
    if waiting >= LOW_WATER:
        return 0
    rows = _opened(job, _wave(job) - waiting)
    if rows and job.state in GradingJob.WORKED_ON:
        queue.enqueue(rows)
    return len(rows)


def _wave(job: GradingJob) -> int:
    """Return how many chunks may wait: few while their size follows from few or no measurements."""
    backend = registry.BACKENDS.get(job.config.backend)
    if backend is None or not backend.needs_model or backend.chunk_cells:
        return WAVE
    measured = JobChunk.objects.filter(job__config=job.config, seconds__gt=0, state=JobChunk.State.DONE)
    chunks = measured.order_by()[:ENOUGH_CHUNKS].count()
    return WAVE if chunks == ENOUGH_CHUNKS else FIRST_CHUNKS * (1 + chunks)


def _opened(job: GradingJob, most: int) -> list[JobChunk]:
    left = unopened(job).order_by("number")
    rows: list[JobChunk] = []
    number = size = 0
    while len(rows) < most and (some := list(left[:PARTS_AT_ONCE])):
        if not rows:
            number, size = _next_number(job), size_for(measured_rate(job.config), job.config.backend)
        cells = size * (most - len(rows))
        before = accumulate(((part.rows - part.opened) * len(part.revisions) for part in some), initial=0)
        some = [part for part, sum_before in zip(some, before, strict=False) if sum_before < max(1, cells)]
        _list_passages(job, [part for part in some if part.is_whole])
        for part in some:
            mask = unpack_mask(part.mask, (part.rows, len(part.revisions)))
            spans = cut(
                np.asarray(mask.sum(axis=1), dtype=np.int64), size, first=part.opened, most=most - len(rows)
            )
            rows += _chunks(part, spans, number=number + len(rows))
            part.opened = spans[-1].last if spans else part.opened
        JobPart.objects.bulk_update(some, ["opened"], batch_size=ROWS_A_QUERY)
    return JobChunk.objects.bulk_create(rows, batch_size=ROWS_A_QUERY)


def _chunks(part: JobPart, spans: Iterable[Span], *, number: int) -> list[JobChunk]:
    return [
        JobChunk(
            job=part.job,
            part=part,
            topic_id=part.topic_id,
            number=place,
            first=span.first,
            last=span.last,
            size=span.cells,
        )
        for place, span in enumerate(spans, number)
    ]


def _list_passages(job: GradingJob, parts: list[JobPart]) -> None:
    """List the passages of whole topics.

    These are the passages now in the pool, at most as many as when the job began, without cells that other
    jobs have taken since. The job's total follows.
    """
    if not parts:
        return
    before = sum(gap_of(part).cells for part in parts)
    same = GradingJob.objects.filter(collection=job.collection_id, config=job.config_id)
    others = same.exclude(pk=job.pk).exclude(state__in=GradingJob.ENDED)
    gaps = listed(job.collection, map(gap_of, parts))
    free = difference(job.collection, gaps, held(others, topics=[part.topic_id for part in parts]))
    left = {gap.topic_id: gap for gap in listed(job.collection, free)}
    for part, gap in zip(parts, gaps, strict=True):
        change_part(part, left.get(gap.topic_id) or replace(gap, mask=np.zeros_like(gap.mask)))
        part.save(update_fields=["revisions", "passages", "mask", "rows"])
    job.total += sum(gap_of(part).cells for part in parts) - before
    job.save(update_fields=["total"])


def size_for(rate: float | None, backend_name: str) -> int:
    """Return how many cells a chunk holds, by the grader's measured cells a second, if any."""
    backend = registry.BACKENDS.get(backend_name, registry.BACKENDS["lexical"])
    if backend.chunk_cells:
        return backend.chunk_cells
    wished = backend.first_cells if rate is None else max(1, round(rate * backend.chunk_seconds))
    return min(settings.CHUNK_CELLS, wished)


def cut(counts: NDArray[np.int64], size: int, *, first: int, most: int) -> list[Span]:
    """Return at most so many spans of about `size` cells from row `first` on.

    `counts` has the cells of each row. A row is a passage, which stays whole because graders reuse its text.
    """
    spans: list[Span] = []
    if most < 1:
        return spans
    cells, begin = 0, first
    for row, number in enumerate(counts[first:].tolist(), first):
        if cells and cells + number > size:
            if len(spans) == most - 1:
                return [*spans, Span(begin, row, cells)]
            spans.append(Span(begin, row, cells))
            cells, begin = 0, row
        cells += number
    return [*spans, Span(begin, len(counts), cells)] if cells else spans


def _part(job: GradingJob, number: int, gap: Gap) -> JobPart:
    """Return an unsaved part of the cells, without passages that have none."""
    if isinstance(gap, WholeTopic):
        kept: dict[str, object] = {"passages": "", "rows": gap.passages}
    else:
        rows = np.flatnonzero(gap.mask.any(axis=1))
        passages = np.asarray(gap.passage_pks, dtype=np.int64)[rows]
        kept = {"passages": pack_keys(passages), "mask": pack_mask(gap.mask[rows]), "rows": len(rows)}  # type: ignore[arg-type]
    return JobPart(job=job, topic_id=gap.topic_id, number=number, revisions=list(gap.revision_pks), **kept)


def _unpacked(part: JobPart) -> TopicGap:
    mask = unpack_mask(part.mask, (part.rows, len(part.revisions)))
    return TopicGap(part.topic_id, tuple(part.revisions), tuple(unpack_keys(part.passages).tolist()), mask)


def _next_number(job: GradingJob) -> int:
    last = job.chunks.aggregate(last=Max("number"))["last"]
    return 0 if last is None else last + 1


def _rows(gap: TopicGap, first: int | None, last: int | None) -> TopicGap:
    return replace(gap, passage_pks=gap.passage_pks[first:last], mask=gap.mask[first:last])


def _gaps(listed: QuerySet[JobChunk]) -> tuple[TopicGap, ...]:
    """Return the cells of chunks that list them."""
    cells: dict[int, list[Pair]] = {}
    for topic_id, some in listed.order_by("number").values_list("topic_id", "cells"):
        cells.setdefault(topic_id, []).extend((revision, passage) for revision, passage in some or ())
    return gaps_of({topic_id: pairs for topic_id, pairs in cells.items() if pairs})


def _only(gap: TopicGap, spans: Iterable[tuple[int, int]]) -> TopicGap:
    kept = np.zeros(len(gap.passage_pks), dtype=np.bool_)
    for first, last in spans:
        kept[first:last] = True
    return replace(gap, mask=gap.mask & kept[:, np.newaxis])
