"""Old and new code on one database: a worker of an earlier commit with jobs of this one, and back.

    python bench/rolling_upgrade.py [--before COMMIT]

A SQLite database that this code has migrated, and a Redis of its own. The earlier commit must be one after
the rule of docs/help/server.md, "Upgrade without a pause": before it, old code cannot write to new tables.
Prints what became of a job for each pair of who starts it and who grades it; exits 1 where a cell is lost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 120
START = """
import django, sys
django.setup()
try:
    from rubricweb.core.reader import see_everything
except ImportError:  # an earlier version sees everything outside of requests
    pass
else:
    see_everything()
from rubricweb.grades import actions
from tests.factories import CollectionFactory, gradable
collection = CollectionFactory(slug=sys.argv[1])
gradable(collection, topics=2, passages=10, items=3)
print(actions.start_grading(collection, by=None)[0].pk)
"""
WAIT = """
import django, sys, time
django.setup()
from rubricweb.grades.models import Grade, GradingJob
until = time.monotonic() + float(sys.argv[2])
while not (job := GradingJob.objects.get(pk=sys.argv[1])).has_ended and time.monotonic() < until:
    time.sleep(0.2)
print(job.state, Grade.objects.filter(job=job).count(), "of", job.total, job.error)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", default="HEAD~30")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests import servers

    redis = servers.RedisServer()
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as folder, servers.stack:
        servers.stack.callback(redis.stop)
        redis.start()
        os.environ |= {
            "RUBRIC_DATA_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
            "REDIS_URL": redis.url,
            "RUBRIC_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        before = Path(folder) / "before"
        extract(options.before, before)
        asked(ROOT, ["manage.py", "migrate", "--verbosity", "0"])
        ended = [graded(ROOT, before, "new-to-old"), graded(before, ROOT, "old-to-new")]
    return 0 if all(ended) else 1


def extract(commit: str, folder: Path) -> None:
    """The code of that commit."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


def asked(code: Path, arguments: list[str]) -> str:
    """What Python prints with that code."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=code, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def graded(starts: Path, works: Path, slug: str) -> bool:
    """Whether a job of one code was done by a worker of the other."""
    worker = subprocess.Popen([sys.executable, "manage.py", "worker"], cwd=works)
    try:
        job = asked(starts, ["-c", START, slug])
        ended = asked(starts, ["-c", WAIT, job, str(SECONDS)])
    finally:
        worker.terminate()
        status = worker.wait(timeout=60)
    print(f"{slug}: {ended}; the worker ended with {status}", flush=True)
    return ended.startswith("done 60 of 60") and status == 0


if __name__ == "__main__":
    sys.exit(main())
