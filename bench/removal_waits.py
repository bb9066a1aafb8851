"""How long does somebody else wait to write while much is removed on SQLite?

    bench/removal_waits.py [--queries FILE] [--graded FILE]... [--bank FILE]... [--runs DIR] [--qrels FILE]

imports the files into a new SQLite database and undoes that import, and into another one and deletes the
collection, each time beside a writer that saves a row every 10 ms. It prints how long the removal took, of
that the time of the processor, and the longest wait of the writer, which is to be at most 2 s. By default it
takes the demo collection with 200 ratings a passage.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from import_collection import demo_arguments
from import_waits import ROOT, _files, write_beside

SLUG = "bench"
MOST_SECONDS = 2.0


def beside_a_writer(work: Callable[[], object], database: str) -> tuple[float, float, float]:
    """Return the seconds that the work took, those of the processor, and the longest wait of a writer."""
    has_begun, is_over = multiprocessing.Event(), multiprocessing.Event()
    longest = multiprocessing.Value("d", 0.0)
    arguments = (database, [has_begun, is_over], longest)
    writer = multiprocessing.Process(target=write_beside, args=arguments, daemon=True)
    writer.start()
    has_begun.wait()
    start, start_of_cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_of_cpu
    is_over.set()
    writer.join()
    return seconds, cpu, longest.value


def imported(arguments: list[str]) -> Any:
    """Import the files as the browser does, and return the `Import`."""
    from django.utils import timezone

    from rubricweb.corpus.models import Collection
    from rubricweb.grades import importers
    from rubricweb.imports import undo, worker
    from rubricweb.imports.models import Import

    collection = Collection.objects.create(slug=SLUG, name=SLUG)
    batch = Import.objects.create(collection=collection, step=Import.Step.WRITE)
    keys = undo.last_keys()

    def end(summary: Any) -> None:
        batch.counts = worker.results_of(summary)["counts"]
        batch.added = undo.added_by(summary.collection, batch.counts, keys)
        batch.state, batch.ended_at = Import.State.DONE, timezone.now()
        batch.save()

    importers.import_files(SLUG, files=importers.ImportFiles(**_files(arguments)), by=None, then=end)
    Import.objects.filter(pk=batch.pk).update(ended_at=timezone.now())
    batch.refresh_from_db()
    return batch


def remove_once(way: str, arguments: list[str], database: str) -> float:
    """Import, and remove what was imported beside a writer; return its longest wait."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    sys.path.insert(0, str(ROOT))
    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from rubricweb.grades.models import Grade
    from rubricweb.imports import undo

    batch = imported(arguments)
    grades = Grade.objects.count()
    works: dict[str, Callable[[], object]] = {
        "undo": lambda: undo.undo_import(batch, by=None),
        "deletion": lambda: _delete(batch.collection),
    }
    seconds, cpu, longest = beside_a_writer(works[way], database)
    print(
        f"{way}: {grades:,} grades in {seconds:.1f} s ({cpu:.1f} s of the processor), "
        f"{Grade.objects.count():,} left, longest wait of another writer {longest:.2f} s",
        flush=True,
    )
    return longest


def _delete(collection: Any) -> None:
    """As a worker deletes a large collection."""
    from django.db import transaction

    from rubricweb.archives import removal

    with transaction.atomic():
        removal.hide_collection(collection, by=None)
    removal.remove_hidden(collection)


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--way":
        sys.exit(remove_once(sys.argv[2], sys.argv[4:], sys.argv[3]) > MOST_SECONDS)
    os.environ["RUBRIC_LOG_LEVEL"] = "ERROR"
    os.environ.pop("DATABASE_URL", None)
    results = []
    for way in ("undo", "deletion"):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RUBRIC_DATA_DIR"] = folder
            arguments = sys.argv[1:] or demo_arguments(Path(folder))
            subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
            database = str(Path(folder) / "rubricweb.sqlite3")
            command = [sys.executable, __file__, "--way", way, database, *arguments]
            results.append(subprocess.run(command, check=False).returncode)
    sys.exit(any(results))


if __name__ == "__main__":
    main()
