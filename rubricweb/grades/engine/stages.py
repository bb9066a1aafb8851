"""What one click starts: jobs at once, and jobs that wait until these have extracted what they verify."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from django.db.models import QuerySet

from rubricweb.banks.querysets import ItemQuerySet
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.engine.answers import source_of
from rubricweb.grades.engine.missing import Cell, Mask, Missing, TopicGap, left_to_start, missing_cells
from rubricweb.grades.models import GraderConfig, GradingJob, JobChunk

GIVES_ANSWERS = (*GradingJob.WORKED_ON, GradingJob.State.PAUSED)
"""The states in which a job can still extract what others wait for."""


@dataclass(frozen=True, eq=False)
class Stages:
    found: list[Missing]
    """All that is missing, whoever is at it, with the extractions that the verifications lack."""
    at_once: list[Missing]
    """What can be graded now and is in no live job."""
    later: list[Missing]
    """Cells that no job waits to verify yet, and whose answer is extracted by one of the jobs `at_once` or by
    a live one: at most so many, because an extraction can fail."""
    stuck: int
    """Cells that nobody can verify, because their extraction failed."""

    @property
    def all(self) -> list[Missing]:
        return [*self.at_once, *self.later]


def stages(
    collection: Collection,
    configs: Iterable[GraderConfig],
    *,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
) -> Stages:
    """What is missing of these configs, in the order in which it can be graded."""
    find = partial(missing_cells, collection, topics=None if topics is None else list(topics), items=items)
    found = find(list(configs))
    unanswered = [replace(one, gaps=one.unanswered) for one in found if one.unanswered]
    sources = {one.config.pk: source for one in unanswered if (source := source_of(one.config))}
    lacking = {source for source in sources.values() if source not in [one.config for one in found]}
    needed = [_needed(each, unanswered, sources) for each in find(sorted(lacking, key=lambda one: one.pk))]
    at_once = left_to_start(collection, [*needed, *found])
    waiting = left_to_start(collection, unanswered)
    later = [_extracted_soon(collection, one, sources.get(one.config.pk), at_once) for one in waiting]
    stuck = sum(one.cells for one in waiting) - sum(one.cells for one in later)
    return Stages([*needed, *found], at_once, [one for one in later if one.cells], stuck)


def by_job(collection: Collection, waiting: Missing) -> Iterator[tuple[GradingJob, Missing]]:
    """The cells that wait for answers, each once, by the live job that extracts these."""
    source, gaps = source_of(waiting.config), waiting.gaps
    for job in _live(collection, [source] if source else []):
        held = _cells_of([job])
        part = [_in_cells(gap, held[gap.topic_id]) for gap in gaps]
        gaps = tuple(gap.without(held[gap.topic_id]) for gap in gaps)
        if any(gap.cells for gap in part):
            yield job, replace(waiting, gaps=tuple(gap for gap in part if gap.cells))


def lock_extractions(collection: Collection, configs: Iterable[GraderConfig]) -> None:
    """No job for whose answers others could wait ends before this transaction does."""
    sources = [source for source in map(source_of, configs) if source]
    list(_live(collection, sources).select_for_update(no_key=True))


def _needed(extraction: Missing, unanswered: list[Missing], sources: dict[int, GraderConfig]) -> Missing:
    """Of an extraction that nobody asked for: only the cells that a verification waits for."""
    asking = [one for one in unanswered if sources.get(one.config.pk) == extraction.config]
    masks = {gap.topic_id: np.zeros_like(gap.mask) for gap in extraction.gaps}
    for wanted in (gap for one in asking for gap in one.gaps):
        for gap in extraction.gaps:
            if gap.topic_id == wanted.topic_id:
                masks[gap.topic_id] |= _shared(gap, wanted)
    gaps = (replace(gap, mask=masks[gap.topic_id]) for gap in extraction.gaps)
    return replace(extraction, gaps=tuple(gap for gap in gaps if gap.cells))


def _extracted_soon(
    collection: Collection, waiting: Missing, source: GraderConfig | None, at_once: list[Missing]
) -> Missing:
    """The cells whose answer a job extracts that is live, or will be in a moment."""
    begun = {gap.topic_id: gap for one in at_once if one.config == source for gap in one.gaps}
    held = _cells_of(_live(collection, [source] if source else []))
    gaps = []
    for gap in waiting.gaps:
        mask = _in_cells(gap, held[gap.topic_id]).mask
        if gap.topic_id in begun:
            mask = mask | _shared(gap, begun[gap.topic_id])
        gaps.append(replace(gap, mask=mask))
    return replace(waiting, gaps=tuple(gap for gap in gaps if gap.cells))


def _live(collection: Collection, sources: list[GraderConfig]) -> QuerySet[GradingJob]:
    return collection.jobs.filter(config__in=sources, state__in=GIVES_ANSWERS).order_by("pk")


def _cells_of(jobs: Iterable[GradingJob]) -> dict[int, set[Cell]]:
    """By topic id: what these jobs have still to grade, or are grading."""
    live = JobChunk.objects.filter(job__in=jobs, state__in=JobChunk.LIVE).order_by()
    cells: dict[int, set[Cell]] = defaultdict(set)
    for topic_id, of_chunk in live.values_list("topic_id", "cells"):
        cells[topic_id].update((revision, passage) for revision, passage in of_chunk)
    return cells


def _in_cells(gap: TopicGap, cells: set[Cell]) -> TopicGap:
    return replace(gap, mask=gap.mask & ~gap.without(cells).mask)


def _shared(gap: TopicGap, other: TopicGap) -> Mask:
    """True where both lack a grade; both are of the same pool."""
    mask = np.zeros_like(gap.mask)
    column_of = {pk: column for column, pk in enumerate(other.revision_pks)}
    if gap.passage_pks == other.passage_pks:
        for column, pk in enumerate(gap.revision_pks):
            if pk in column_of:
                mask[:, column] = gap.mask[:, column] & other.mask[:, column_of[pk]]
    return mask
