"""Two hundred kills at random moments, of workers, Redis, the web process and the proxy before PostgreSQL.

    python bench/faults.py [--database sqlite|postgres] [--kills N] [--seed N] [--seconds S]

The storm of `tests/faults`, for longer: grading jobs, imports, generations, releases, downloads and ratings,
round after round. Prints what happened, and exits 1 where anything was lost, doubled, half done or without an
end. The same seed has the same faults in the same order.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from tests.faults.storm import Report


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="break nothing after so many")
    options = parser.parse_args()
    from tests import servers

    redis = servers.RedisServer()
    with (
        tempfile.TemporaryDirectory(prefix="rubric-bench-", ignore_cleanup_errors=True) as folder,
        servers.stack,
    ):
        servers.stack.callback(redis.stop)
        is_sqlite = options.database == "sqlite"
        url = f"sqlite:///{folder}/bench.sqlite3" if is_sqlite else servers.start_postgres()
        os.environ |= {
            "DATABASE_URL": url,
            "REDIS_URL": redis.url,
            "RUBRIC_DATA_DIR": folder,
            "RUBRIC_LOG_LEVEL": "ERROR",
            "RUBRIC_CHUNK_CELLS": "48",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        redis.start()
        began = time.monotonic()
        report = blown(url, redis, Path(folder), options)
        print_report(report, time.monotonic() - began)
    return 1 if report.wrong else 0


def blown(url: str, redis: object, folder: Path, options: argparse.Namespace) -> Report:
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from grading.graders import registry
    from tests.faults.services import Services, running
    from tests.faults.storm import Storm
    from tests.rubricweb.grades.counting import BACKEND

    registry.BACKENDS[BACKEND.name] = BACKEND
    with running(Services(url, redis, folder)) as services:
        return Storm(services, options.seed, kills=options.kills, seconds=options.seconds).blow()


def print_report(report: Report, seconds: float) -> None:
    cpu = os.times()
    print(f"{report.kills} kills in {report.rounds} rounds of work, {seconds:.0f} s")
    print(f"processor time: {cpu.children_user + cpu.children_system:.0f} s of what was killed")
    for name, count in sorted(report.happened.items()):
        print(f"    {name}: {count}")
    print(f"given up after three lost workers, and started again: {dict(+report.again) or 'none'}")
    print(f"lost, doubled, half done or without an end: {len(report.wrong)}")
    for fault in report.wrong:
        print(f"    {fault}")


if __name__ == "__main__":
    sys.exit(main())
