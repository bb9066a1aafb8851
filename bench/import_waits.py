"""How long does somebody else wait to write while a large import runs on SQLite?

    bench/import_waits.py [--queries FILE] [--graded FILE]... [--bank FILE]... [--runs DIR] [--qrels FILE]

imports the files twice, each time into a new SQLite database and beside a writer that saves a row every
10 ms: in a copy that is taken over, as `manage.py import_collection` does it, and in one transaction, as it
was done before. By default it imports the demo collection with 200 ratings a passage.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from import_collection import demo_arguments

ROOT = Path(__file__).resolve().parents[1]
PAUSE = 0.01


def write_beside(database: str, events: list[Any], longest: Any) -> None:
    """Save a row again and again; `longest` is the longest time that one save took, in seconds."""
    has_begun, is_over = events
    connection = sqlite3.connect(database, timeout=600, isolation_level=None)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("CREATE TABLE IF NOT EXISTS waits (row)")
    has_begun.set()
    while not is_over.is_set():
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO waits VALUES (1)")
        connection.execute("COMMIT")
        longest.value = max(longest.value, time.perf_counter() - start)
        time.sleep(PAUSE)


def import_once(way: str, arguments: list[str], database: str) -> None:
    """Import in this process, beside a writer, and print how long both took."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    sys.path.insert(0, str(ROOT))
    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from rubricweb.grades import importers

    files = importers.ImportFiles(**_files(arguments))
    work = importers.import_files if way == "in a copy" else importers.import_collection
    has_begun, is_over = multiprocessing.Event(), multiprocessing.Event()
    longest = multiprocessing.Value("d", 0.0)
    arguments_of_writer = (database, [has_begun, is_over], longest)
    writer = multiprocessing.Process(target=write_beside, args=arguments_of_writer, daemon=True)
    writer.start()
    has_begun.wait()
    start = time.perf_counter()
    summary = work("bench", files=files, by=None)
    seconds = time.perf_counter() - start
    is_over.set()
    writer.join()
    grades = summary.counts["grades"].new
    print(
        f"{way}: {grades:,} grades in {seconds:.1f} s, longest wait of another writer {longest.value:.2f} s"
    )


def _files(arguments: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    for name in ("queries", "qrels", "runs"):
        parser.add_argument(f"--{name}", type=Path)
    for name in ("graded", "bank"):
        parser.add_argument(f"--{name}", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    several = {"graded": tuple(given.graded), "banks": tuple(given.bank)}
    return {"queries": given.queries, "qrels": given.qrels, "runs": given.runs} | several


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--way":
        import_once(sys.argv[2], sys.argv[4:], sys.argv[3])
        return
    os.environ["RUBRIC_LOG_LEVEL"] = "ERROR"
    os.environ.pop("DATABASE_URL", None)
    for way in ("in a copy", "in one transaction"):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RUBRIC_DATA_DIR"] = folder
            arguments = sys.argv[1:] or demo_arguments(Path(folder))
            subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
            database = str(Path(folder) / "rubricweb.sqlite3")
            command = [sys.executable, __file__, "--way", way, database, *arguments]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
