"""The plan of one click: jobs that start at once, and jobs that wait for the answers they verify."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from django.db.models import QuerySet

from grading.errors import GradingError
from grading.graders import registry
from rubricweb.banks.models import ItemQuerySet
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.configs import spec_of
from rubricweb.grades.engine.gaps import (
    Doubt,
    Gap,
    difference,
    doubtful_cells,
    intersection,
    listed,
    on_passages,
)
from rubricweb.grades.engine.missing import Missing, asked_among, missing_cells, reads_answers, source_of
from rubricweb.grades.engine.parts import held
from rubricweb.grades.models import Grade, GraderConfig, GradingJob
from rubricweb.jobs.progress import Price


@dataclass(frozen=True, slots=True)
class Again:
    """The state of the button beside a grade."""

    grade: Grade
    collection: Collection
    address: str
    """Page of the cell, which is fetched again when the new grade is there."""
    may_grade: bool
    can_ask: bool
    price: Price | None
    """Price of asking once more, for those who may."""
    job: GradingJob | None
    """Job that grades the cell now."""


def can_ask(config: GraderConfig) -> bool:
    """Return whether the grader would be asked exactly the same today.

    It would not where its grades came in a file.
    """
    try:
        return config.backend in registry.BACKENDS and spec_of(config).fingerprint == config.fingerprint
    except GradingError:
        return False


def job_at(grade: Grade) -> GradingJob | None:
    """Return the live job that grades this cell anew."""
    retries = GradingJob.objects.filter(config=grade.config_id, is_retry=True)
    live = retries.exclude(state__in=GradingJob.ENDED).order_by("pk")
    return next((job for job in live if _has(job, grade)), None)


def _has(job: GradingJob, grade: Grade) -> bool:
    gaps = held(GradingJob.objects.filter(pk=job.pk), topics=[grade.topic_id])
    cell = {(grade.revision_id, grade.passage_id)}
    return any(gap.without(cell).cells < gap.cells for gap in listed(job.collection, gaps))


Taken = Mapping[int, Iterable[Gap]]
"""Cells that the live jobs of each config hold."""
Find = Callable[[list[GraderConfig]], list[Missing]]
"""Returns what is missing of configs."""
GIVES_ANSWERS = (*GradingJob.WORKED_ON, GradingJob.State.PAUSED)
"""States in which a job can still extract what others wait for."""


@dataclass(frozen=True, eq=False)
class Stages:
    """Missing cells of some configs, by when they can be graded: the plan of one press."""

    collection: Collection
    configs: list[GraderConfig]
    live: frozenset[tuple[int, bool]]
    """The jobs that were live when the plan was made, and whether each of them gives answers."""
    again: Callable[[], Stages]
    """Function that makes the plan anew."""
    missing: list[Missing]
    """All missing cells, whoever grades them, with the extractions that the verifications lack."""
    at_once: list[Missing]
    """Cells that can be graded now and are in no live job."""
    later: list[Missing]
    """Cells that no job waits to verify yet, and whose answer a live job or one of the jobs `at_once`
    extracts. An upper bound, because an extraction can fail.
    """
    stuck: int
    """Cells that nobody can verify, because their extraction failed or brought no answer."""

    @property
    def all(self) -> list[Missing]:
        return [*self.at_once, *self.later]

    @property
    def is_outdated(self) -> bool:
        """Return whether a job began or ended since.

        Cells that live jobs have graded meanwhile are in no stage.
        """
        return _live_jobs(self.collection) != self.live

    @property
    def once_started(self) -> Stages:
        """Return what is left of the plan when all of it has been started."""
        return replace(self, at_once=[], later=[])


def stages(
    collection: Collection,
    configs: Iterable[GraderConfig],
    *,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
    doubt: Doubt | None = None,
    passages: Mapping[int, frozenset[int]] | None = None,
) -> Stages:
    """Return what is missing of these configs, in the order in which it can be graded.

    With a `doubt` only cells of which another grader is unsure, with `passages` only cells on these, given by
    topic id.
    """
    chosen_topics = None if topics is None else list(topics)
    find = partial(_lacking, collection, topics=chosen_topics, items=items, doubt=doubt, passages=passages)
    return staged(collection, configs, find)


def staged(collection: Collection, configs: Iterable[GraderConfig], find: Find) -> Stages:
    """Return what `find` finds missing of these configs, in the order in which it can be graded.

    What live jobs hold is read before the grades: cells that are graded meanwhile are in both, not in none.
    """
    live, graders = _live_jobs(collection), list(configs)
    sources = {each.pk: source for each in graders if reads_answers(each) and (source := source_of(each))}
    soon = {pk: list(_cells_of(_live(collection, [source]))) for pk, source in sources.items()}
    taken = taken_cells(collection, [*graders, *sources.values()]) if live else {}
    missing = find(graders)
    needed = extractions(collection, missing, find)
    at_once = left_to_start(collection, [*needed, *missing], taken)
    waiting = left_to_start(collection, unanswered(missing), taken)
    for pk, source in sources.items():
        soon[pk] += [gap for part in at_once if part.config == source for gap in part.gaps]
    later = [_within(collection, part, soon.get(part.config.pk, ())) for part in waiting]
    stuck = sum(part.cells for part in waiting) - sum(part.cells for part in later)
    again = partial(staged, collection, graders, find)
    later = [part for part in later if part.cells]
    return Stages(collection, graders, live, again, [*needed, *missing], at_once, later, stuck)


def _lacking(
    collection: Collection,
    configs: Iterable[GraderConfig],
    *,
    topics: Iterable[Topic] | None,
    items: ItemQuerySet | None,
    doubt: Doubt | None,
    passages: Mapping[int, frozenset[int]] | None,
) -> list[Missing]:
    missing = missing_cells(collection, configs, topics=topics, items=items)
    if passages is not None:
        missing = [
            replace(
                each,
                gaps=tuple(on_passages(collection, each.gaps, passages)),
                unanswered=tuple(on_passages(collection, each.unanswered, passages)),
            )
            for each in missing
        ]
    if doubt is None:
        return missing
    cells = doubtful_cells(collection, doubt)
    return [
        replace(
            _within(collection, each, cells),
            unanswered=tuple(intersection(collection, each.unanswered, cells)),
        )
        for each in missing
    ]


def _live_jobs(collection: Collection) -> frozenset[tuple[int, bool]]:
    return frozenset((pk, state in GIVES_ANSWERS) for pk, state in _states(collection.pk))


@compiled_once
def _states(collection: int) -> QuerySet[GradingJob, tuple[int, str]]:
    live = GradingJob.objects.filter(collection=collection).exclude(state__in=GradingJob.ENDED)
    return live.order_by().values_list("pk", "state")


def taken_cells(collection: Collection, configs: Iterable[GraderConfig]) -> Taken:
    """Return what the live jobs of each of these configs hold now."""
    live = collection.jobs.filter(config__in=list(configs)).exclude(state__in=GradingJob.ENDED).order_by()
    graders = live.values_list("config", flat=True).distinct()
    return {config: tuple(held(live.filter(config=config))) for config in graders}


def left_to_start(
    collection: Collection, missing: list[Missing], taken: Taken | None = None
) -> list[Missing]:
    """Return the missing cells without those that live jobs of the same config hold.

    These are the cells `taken` before the grades were read, or held now.
    """
    if taken is None:
        taken = taken_cells(collection, [each.config for each in missing])
    return [
        replace(each, gaps=tuple(difference(collection, each.gaps, taken.get(each.config.pk, ()))))
        for each in missing
    ]


def unanswered(missing: Iterable[Missing]) -> list[Missing]:
    """Return the cells that can be verified only after an answer was extracted."""
    return [replace(each, gaps=each.unanswered) for each in missing if each.unanswered]


def extractions(collection: Collection, missing: list[Missing], find: Find) -> list[Missing]:
    """Return the extractions that these verifications lack, of configs not among the `missing`.

    `find` returns what is missing of configs.
    """
    waiting = unanswered(missing)
    sources = {each.config.pk: source for each in waiting if (source := source_of(each.config))}
    given = {each.config for each in missing}
    lacking = {source for source in sources.values() if source not in given and can_ask(source)}
    extracting = find(sorted(lacking, key=lambda config: config.pk))
    return [
        _within(
            collection,
            extraction,
            [
                gap
                for each in waiting
                if sources.get(each.config.pk) == extraction.config
                for gap in each.gaps
            ],
        )
        for extraction in extracting
    ]


def by_job(collection: Collection, waiting: Missing) -> Iterator[tuple[GradingJob, Missing]]:
    """Return the cells that wait for answers, by the live job that extracts them."""
    source = source_of(waiting.config)
    return _shared_out(collection, waiting, _live(collection, [source] if source else []))


def following(
    collection: Collection, configs: Iterable[GraderConfig], jobs: Iterable[GradingJob]
) -> Iterator[tuple[GradingJob, Missing]]:
    """Yield what these configs verify after these jobs, which nobody waits for yet, extract it.

    Also cells with a verdict, which falls if the answer becomes another one.
    """
    graders = list(configs)
    for job in jobs:
        cells = Missing(job.config, tuple(_cells_of([job])), frozenset())
        yield from ((job, left) for left in verified_after(collection, graders, [cells]))


def verified_after(
    collection: Collection, configs: Iterable[GraderConfig], extracting: Iterable[Missing]
) -> Iterator[Missing]:
    """Yield what these configs verify, and no live job does, once these cells are extracted anew."""
    answers = {each.config: each.gaps for each in extracting if each.gaps}
    for config in configs if answers else ():
        source = source_of(config)
        if source and (gaps := answers.get(source)):
            (left,) = left_to_start(collection, [asked_among(collection, config, gaps)])
            if left.gaps:
                yield left


def lock_extractions(collection: Collection, configs: Iterable[GraderConfig]) -> None:
    """Lock the extracting jobs, so that none ends before this transaction does."""
    sources = [source for source in map(source_of, configs) if source]
    list(_live(collection, sources).select_for_update(no_key=True))


def _shared_out(
    collection: Collection, waiting: Missing, jobs: Iterable[GradingJob]
) -> Iterator[tuple[GradingJob, Missing]]:
    """Assign each cell to one job; no two live jobs of a config hold the same."""
    parts = ((job, _within(collection, waiting, _cells_of([job]))) for job in jobs)
    return ((job, part) for job, part in parts if part.gaps)


def _live(collection: Collection, sources: list[GraderConfig]) -> QuerySet[GradingJob]:
    return collection.jobs.filter(config__in=sources, state__in=GIVES_ANSWERS).order_by("pk")


def _cells_of(jobs: Iterable[GradingJob]) -> Iterator[Gap]:
    return held(GradingJob.objects.filter(pk__in=[job.pk for job in jobs]))


def _within(collection: Collection, missing: Missing, gaps: Iterable[Gap]) -> Missing:
    """Return the cells that are in one of these gaps."""
    return replace(missing, gaps=tuple(intersection(collection, missing.gaps, gaps)))
