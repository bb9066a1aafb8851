"""Data of the job monitor and the "missing grades" fragment, as frozen rows."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings

from grading.graders import registry
from grading.types import Outcome, Purpose
from rubricweb.banks.models import Bank, ItemQuerySet
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import unpooled_runs
from rubricweb.grades.configs import planned_configs
from rubricweb.grades.engine import progress
from rubricweb.grades.engine.gaps import Doubt
from rubricweb.grades.engine.missing import Missing, cells_of, failed_cells
from rubricweb.grades.engine.price import able_workers, price
from rubricweb.grades.engine.stages import Stages, left_to_start, stages, taken_cells, verified_after
from rubricweb.grades.models import Grade, GraderConfig, GradingJob
from rubricweb.grades.selectors import graders_of, scored_graders
from rubricweb.jobs import listing, queue
from rubricweb.jobs.progress import Price

SILENT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a collection to grade: a bank, a topic, both, or by default all."""

    bank: Bank | None
    topic: Topic | None
    doubt: Doubt | None = None
    """Only cells of which a grader is unsure."""
    passages: Mapping[int, frozenset[int]] | None = None
    """Only cells on these passages, by topic id."""

    @property
    def items(self) -> ItemQuerySet | None:
        return self.bank.all_items if self.bank else None

    @property
    def topics(self) -> list[Topic] | None:
        return [self.topic] if self.topic else None


@dataclass(frozen=True, slots=True)
class WorkerRow:
    name: str
    heard_seconds_ago: int
    doing: str
    device: str
    model: str
    memory: str
    backends: str
    """Labels of its declared back-ends."""
    cannot: str
    """Description of what it could not load."""

    @property
    def is_idle(self) -> bool:
        return self.doing == "idle"

    @property
    def is_silent(self) -> bool:
        return self.heard_seconds_ago > SILENT_SECONDS


@dataclass(frozen=True, slots=True)
class Workers:
    """The living workers. Without Redis they are unknown, and no job can run."""

    rows: tuple[WorkerRow, ...]
    has_redis: bool
    waiting: int = 0
    """Chunks in the queues, of all collections."""
    beats: tuple[queue.WorkerBeat, ...] = ()
    """Their heartbeats."""

    def able(self, backend: str) -> int:
        """Return how many of them can run what needs this back-end."""
        return len(able_workers(self.beats, backend))

    @property
    def start_command(self) -> str:
        return f"{settings.COMMAND} worker"


@dataclass(frozen=True, slots=True)
class ConfigGap:
    config: GraderConfig
    cells: int


@dataclass(frozen=True, slots=True)
class Retry:
    """Failed grades that can be made again, if no live job does so already."""

    by_config: tuple[ConfigGap, ...]
    price: Price

    """With the verification of what is extracted anew."""

    @property
    def cells(self) -> int:
        return sum(each.cells for each in self.by_config)


@dataclass(frozen=True, slots=True)
class Gap:
    """The missing cells of a scope that no live job holds, and the live jobs."""

    cells: int
    by_config: tuple[ConfigGap, ...]
    """Graders of the missing cells, with the number of cells of each."""
    displayed: GraderConfig | None
    """The grader whose grades pages show, where the active ones have no grade in the collection, so that
    nobody waits for theirs. None for a bank that nobody has graded.
    """
    regraded: GraderConfig | None
    """The active grader, where pages show the grades of another one by default."""
    has_run: bool
    """Whether the active graders have grades in the collection, so that something changed since."""
    price: Price | None
    """Price of the missing cells, if there are any."""
    failed: Retry | None
    """Cells with a failed grade, if there are any."""
    wordless: int
    later: int
    """Upper bound of the cells whose answer is extracted before they can be verified."""
    stuck: int
    """Cells that cannot be verified, because they have no answer and nobody extracts it."""
    unpooled_runs: int
    """Runs of whose first passages no pool has any, so that nothing of them is missing; 0 for a topic."""
    live: tuple[listing.JobLine, ...]
    workers: Workers | None
    """The workers, given while a job waits for one or could be started."""

    @property
    def pairs(self) -> int:
        """Return the number of item-passage pairs that get a grade, or else an answer."""
        rating = [each for each in self.by_config if each.config.purpose != Purpose.EXTRACT]
        return sum(each.cells for each in rating or self.by_config)

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(each.config.model_name for each in self.by_config))

    @property
    def is_stuck(self) -> bool:
        return bool(self.live) and self.workers is not None and not self.workers.rows


def workers() -> Workers:
    """Return every worker, whatever it works for: all collections share them."""
    try:
        beats, waiting = queue.living_workers(), len(queue.waiting_ids())
    except redis.RedisError:
        return Workers((), has_redis=False)
    rows = tuple(map(_worker_row, beats))
    return Workers(rows, has_redis=True, waiting=waiting, beats=tuple(beats))


def gap(collection: Collection, scope: Scope, plan: Stages | None = None) -> Gap:
    """Return what the collection's own graders lack in the scope, by the plan if there is one."""
    configs = planned_configs(collection)
    plan = plan or planned(collection, scope)
    failed = [] if scope.doubt or scope.passages is not None else _failed(collection, scope)
    each = _by_config(plan.all)
    live = tuple(progress.press_lines(progress.live_rows(collection)))
    living = workers() if live or each or any(part.cells for part in failed) else None
    return Gap(
        cells=sum(part.cells for part in each),
        by_config=each,
        **_other_grader(collection, configs, scope.bank),
        price=price(collection, plan.all, living.beats) if each and living else None,
        failed=_retry(collection, failed, living) if living else None,
        wordless=len(frozenset[int]().union(*(part.wordless_pks for part in plan.missing))),
        later=sum(part.cells for part in plan.later),
        stuck=plan.stuck,
        unpooled_runs=0 if scope.topic else unpooled_runs(collection),
        live=live,
        workers=living,
    )


def _other_grader(collection: Collection, configs: list[GraderConfig], bank: Bank | None) -> dict[str, Any]:
    """Return `Gap.displayed`, `Gap.regraded` and `Gap.has_run`."""
    rows = scored_graders(collection)
    if any(row.config in configs for row in rows):
        first = graders_of(bank) if bank else [row.config for row in rows]
        run = [config for config in first if config in configs]
        other = run[0] if run and first[0] not in configs else None
        return {"displayed": None, "regraded": other, "has_run": True}
    graded = (row.config for row in rows if bank is None or _has_graded(bank, row.config))
    return {"displayed": next(graded, None), "regraded": None, "has_run": False}


def _has_graded(bank: Bank, config: GraderConfig) -> bool:
    wordings = bank.all_items.active().values("revision")
    return Grade.objects.by(config).filter(revision__in=wordings).exists()


def to_start(collection: Collection, scope: Scope) -> list[Missing]:
    """Return what one click on Re-grade would grade, now and later."""
    return planned(collection, scope).all


def planned(collection: Collection, scope: Scope, configs: Iterable[GraderConfig] | None = None) -> Stages:
    """Return the plan of one click on Re-grade; `configs` are what it runs, already saved."""
    return stages(
        collection,
        planned_configs(collection) if configs is None else configs,
        topics=scope.topics,
        items=scope.items,
        doubt=scope.doubt,
        passages=scope.passages,
    )


def to_retry(collection: Collection, scope: Scope) -> list[Missing]:
    """Return what one click on Retry would grade, now and later."""
    return _with_verifications(collection, _failed(collection, scope))


def _failed(collection: Collection, scope: Scope) -> list[Missing]:
    configs = planned_configs(collection)
    taken = taken_cells(collection, configs)
    failed = failed_cells(collection, configs, topics=scope.topics, items=scope.items)
    return left_to_start(collection, failed, taken)


def retry_of(job: GradingJob) -> Retry | None:
    """Return the failed grades that this job made."""
    failed = job.grades.filter(outcome=Outcome.FAILED)
    left = left_to_start(job.collection, cells_of(failed)) if job.has_ended else []
    return _retry(job.collection, left, workers()) if left else None


def _with_verifications(collection: Collection, failed: list[Missing]) -> list[Missing]:
    return [*failed, *verified_after(collection, planned_configs(collection), failed)]


def _retry(collection: Collection, left: list[Missing], living: Workers) -> Retry | None:
    cost = price(collection, _with_verifications(collection, left), living.beats)
    return Retry(_by_config(left), cost) if cost.cells else None


def _by_config(missing: list[Missing]) -> tuple[ConfigGap, ...]:
    cells: dict[GraderConfig, int] = defaultdict(int)
    for part in missing:
        cells[part.config] += part.cells
    return tuple(ConfigGap(config, count) for config, count in cells.items() if count)


def _worker_row(beat: queue.WorkerBeat) -> WorkerRow:
    return WorkerRow(
        name=beat.name,
        heard_seconds_ago=round(max(0.0, time.time() - beat.at)),
        doing=beat.doing,
        device=beat.device,
        model=beat.model,
        memory=beat.memory,
        backends=", ".join(_label(name) for name in beat.backends),
        cannot=", ".join(beat.cannot.values()),
    )


def _label(backend: str) -> str:
    row = registry.BACKENDS.get(backend)
    return row.label if row else backend
