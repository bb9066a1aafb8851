"""What the job monitor and the "missing grades" fragment show, as frozen rows."""

from __future__ import annotations

from dataclasses import dataclass

import redis

from rubricweb.banks.models import Bank
from rubricweb.banks.querysets import ItemQuerySet
from rubricweb.core import queue
from rubricweb.core.queue import WorkerBeat
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.configs import active_configs
from rubricweb.grades.engine import progress
from rubricweb.grades.engine.missing import left_to_start, missing_cells
from rubricweb.grades.engine.progress import JobRow
from rubricweb.grades.models import GraderConfig

START_A_WORKER = "python manage.py worker"

job_rows = progress.job_rows


@dataclass(frozen=True, slots=True)
class Scope:
    """What to grade: a bank, a topic, both, or by default the whole collection."""

    bank: Bank | None
    topic: Topic | None

    @property
    def items(self) -> ItemQuerySet | None:
        return self.bank.items.all() if self.bank else None

    @property
    def topics(self) -> list[Topic] | None:
        return [self.topic] if self.topic else None


@dataclass(frozen=True, slots=True)
class WorkerRow:
    name: str
    heard_seconds_ago: int
    doing: str
    device: str


@dataclass(frozen=True, slots=True)
class Workers:
    """The living workers. Without Redis nobody can tell, and no job can run."""

    rows: tuple[WorkerRow, ...]
    has_redis: bool

    @property
    def start_command(self) -> str:
        return START_A_WORKER


@dataclass(frozen=True, slots=True)
class ConfigGap:
    config: GraderConfig
    cells: int


@dataclass(frozen=True, slots=True)
class Gap:
    """What is missing in a scope and in no live job, and the live jobs."""

    cells: int
    by_config: tuple[ConfigGap, ...]
    """Only where there is more than one config with missing cells."""
    wordless: int
    live: tuple[JobRow, ...]
    workers: Workers | None
    """Told only while a job waits for one."""

    @property
    def is_stuck(self) -> bool:
        return self.workers is not None and not self.workers.rows


def workers() -> Workers:
    try:
        beats = queue.living_workers()
    except redis.RedisError:
        return Workers((), has_redis=False)
    return Workers(tuple(_worker_row(beat) for beat in beats), has_redis=True)


def gap(collection: Collection, scope: Scope) -> Gap:
    """Of the collection's own graders."""
    found = missing_cells(collection, active_configs(collection), topics=scope.topics, items=scope.items)
    left = left_to_start(collection, found)
    each = tuple(ConfigGap(one.config, one.cells) for one in left if one.cells)
    live = tuple(progress.live_rows(collection))
    return Gap(
        cells=sum(one.cells for one in each),
        by_config=each if len(each) > 1 else (),
        wordless=len(frozenset[int]().union(*(one.wordless_pks for one in found))),
        live=live,
        workers=workers() if live else None,
    )


def _worker_row(beat: WorkerBeat) -> WorkerRow:
    return WorkerRow(beat.name, round(queue.seconds_since(beat)), beat.doing, beat.device)
