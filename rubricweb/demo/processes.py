"""Start and stop the three processes of the product on the embedded default."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from django.conf import settings

START_SECONDS = 10


class CannotStart(Exception):
    """A process of the demo cannot start; the text says why and what to do."""


def is_redis_up() -> bool:
    try:
        with redis.Redis.from_url(settings.REDIS_URL) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


@contextmanager
def running_redis() -> Iterator[None]:
    """A Redis for as long as the block lasts: the one at REDIS_URL if it answers, else the embedded one."""
    if is_redis_up():
        yield
        return
    server = subprocess.Popen(
        [sys.executable, "-m", "rubricweb.core.redis_server"], stdout=subprocess.DEVNULL
    )
    try:
        _wait_for(server)
        yield
    finally:
        server.terminate()
        server.wait()


def _wait_for(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_redis_up():
        if server.poll() is not None:
            raise CannotStart("Redis did not start; its own message is above.")
        if time.monotonic() > deadline:
            raise CannotStart(f"Redis did not answer at {settings.REDIS_URL} within {START_SECONDS} seconds.")
        time.sleep(0.05)


def check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CannotStart(f"Port {port} is taken; choose another: make demo PORT={port + 1}") from error


def serve(port: int) -> int:
    """Run web and worker in the foreground until Ctrl-C. Returns the exit status.

    They have a session of their own, so that Ctrl-C reaches us alone and everything stops in order, once.
    """
    binaries = str(Path(sys.executable).parent)
    env = os.environ | {"PORT": str(port), "PATH": binaries + os.pathsep + os.environ.get("PATH", "")}
    command = [sys.executable, "-m", "honcho", "start", "--no-prefix", "web", "worker"]
    honcho = subprocess.Popen(  # noqa: S603 - nothing in it comes from outside
        command, env=env, cwd=settings.BASE_DIR, start_new_session=True
    )
    try:
        return honcho.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        honcho.terminate()
        honcho.wait()
