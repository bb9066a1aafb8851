"""What a storm may break: workers, a web process, Redis, and the proxy before PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import redis

from rubricweb.jobs import queue
from tests.faults.service import START_SECONDS, Service
from tests.servers import RedisServer, end_other_sessions

LEASE_SECONDS = 2
WEB = ["-m", "uvicorn", "rubricweb.asgi:application", "--log-level", "warning"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisService:
    """The Redis of the tests; what it held is lost each time."""

    name = "redis"

    def __init__(self, server: RedisServer) -> None:
        self.kill, self.start = server.stop, server.start


class Services:
    """One installation: the processes, their settings, and where they answer."""

    def __init__(self, database_url: str, server: RedisServer, folder: Path, *, workers: int = 2) -> None:
        """`folder` is their data folder, and has their logs. `database_url` is reached through the proxy."""
        self.redis = RedisService(server)
        self.proxy = proxy_of(database_url, folder)
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        environment = {
            **os.environ,
            "DATABASE_URL": self.proxy.environment["PROXIED_URL"] if self.proxy else database_url,
            "REDIS_URL": server.url,
            "RUBRIC_DATA_DIR": str(folder),
            "RUBRIC_LEASE_SECONDS": str(LEASE_SECONDS),
            "RUBRIC_CHUNK_CELLS": "48",
            "RUBRIC_LOG_LEVEL": "INFO",
            "COUNTED_CALLS": str(folder / "calls.txt"),
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        web = [*WEB, "--port", str(port), "--timeout-graceful-shutdown", "1"]
        self.web = Service(web, environment, folder / "web.log")
        counting = ["-m", "tests.rubricweb.grades.counting"]
        self.workers = [
            Service(counting, environment, folder / f"worker-{number}.log") for number in range(workers)
        ]

    @property
    def breakable(self) -> list[Service | RedisService]:
        """In the same order each time."""
        return [*self.workers, self.redis, self.web, *([self.proxy] if self.proxy else [])]

    def is_up(self, service: Service | RedisService) -> bool:
        """The web process answers, and a worker is heard; the others are up at once."""
        if service is self.web:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz", timeout=5):
                return True
            return False
        if isinstance(service, Service) and service is not self.proxy:
            with contextlib.suppress(redis.RedisError):
                return any(beat.name.endswith(f"-{service.pid}") for beat in queue.living_workers())
            return False
        return True

    def wait_until_web_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.is_up(self.web):
            if time.monotonic() > deadline:
                raise RuntimeError(f"no answer from {self.url}: {self.web.said[-2_000:]}")
            time.sleep(0.05)


def proxy_of(database_url: str, folder: Path) -> Service | None:
    """None for SQLite, which nobody reaches through a network."""
    if database_url.startswith("sqlite"):
        return None
    parts, port = urlsplit(database_url), free_port()
    path = f"{unquote(parts.netloc.rpartition('@')[2])}/.s.PGSQL.5432"
    proxied = f"postgresql://postgres@127.0.0.1:{port}{parts.path}"
    command = ["-m", "tests.faults.proxy", str(port), path]
    environment = {**os.environ, "PROXIED_URL": proxied}
    return Service(command, environment, folder / "proxy.log", is_anew=True)


@contextlib.contextmanager
def running(services: Services) -> Iterator[Services]:
    """Started, and killed at the end, before the database goes."""
    started = [service for service in services.breakable if isinstance(service, Service)]
    try:
        for service in sorted(started, key=lambda one: one is not services.proxy):
            service.start()
        services.wait_until_web_answers()
        yield services
    finally:
        for service in started:
            service.kill()
        services.redis.start()
        end_other_sessions()
