"""Start and stop the processes of the product on the embedded default."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from django.conf import settings
from honcho.environ import parse_procfile

from rubricweb.core.redaction import redacted
from rubricweb.core.redis_server import ALLOW_STAND_IN
from rubricweb.core.servers import redis_client

START_SECONDS = 10
STOP_SECONDS = 10
LOOK_SECONDS = 0.2
WORKERS = {"worker": "worker", "short": "worker for short work"}
"""Worker processes of the Procfile -> their label."""
RESTARTS, RESTART_SECONDS = 5, 60


class CannotStart(Exception):
    """A process of the demo cannot start; the text says why and what to do."""


def is_redis_up() -> bool:
    try:
        with redis_client() as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


@contextmanager
def running_redis() -> Iterator[None]:
    """Provide Redis for the block: the one at REDIS_URL if it answers, else the embedded one."""
    if is_redis_up():
        yield
        return
    server = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "rubricweb.core.redis_server", ALLOW_STAND_IN],
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C would end it before the worker
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
            where = redacted(settings.REDIS_URL)
            raise CannotStart(f"Redis did not answer at {where} within {START_SECONDS} seconds.")
        time.sleep(0.05)


def check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CannotStart(f"Port {port} is taken; choose another: make demo PORT={port + 1}") from error


@contextmanager
def web_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start the web process, which gets ready beside the block, and stop it after it."""
    web = _start("web", port)
    try:
        yield web
    finally:
        _stop([web])


def serve(web: subprocess.Popen[bytes], port: int) -> int:
    """Run workers beside the web process in the foreground until Ctrl-C, or until web ends.

    A worker that ends is restarted. All processes have sessions of their own, so that Ctrl-C reaches only
    this one, which stops the workers first. Return the exit status.
    """
    processes = {"web": web}
    try:
        processes |= {name: _start(name, port) for name in WORKERS}
        return _watch(processes, port)
    except KeyboardInterrupt:
        return 0
    finally:
        _stop([process for name, process in processes.items() if name in WORKERS])


def _watch(processes: dict[str, subprocess.Popen[bytes]], port: int) -> int:
    """Wait until web ends, or workers have ended five times within a minute."""
    ends: deque[float] = deque(maxlen=RESTARTS)
    while (status := processes["web"].poll()) is None:
        for name, kinds in WORKERS.items():
            ended = processes[name].poll()
            if ended is None:
                continue
            _say(f"The {kinds} {how_it_ended(ended)}.")
            ends.append(time.monotonic())
            if len(ends) == RESTARTS and ends[-1] - ends[0] < RESTART_SECONDS:
                _say(f"That was the {RESTARTS}th time within {RESTART_SECONDS} seconds: giving up.")
                return ended or 1
            processes[name] = _start(name, port)
            _say("A new one takes its work over.")
        time.sleep(LOOK_SECONDS)
    _say(f"The web process {how_it_ended(status)}.")
    return status


def how_it_ended(status: int) -> str:
    """Return how a process ended: "was killed by SIGKILL", "ended with status 1"."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed by {signal.Signals(-status).name}"


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


def _start(name: str, port: int) -> subprocess.Popen[bytes]:
    """Start a process of the Procfile, whose errors have the product's own pages; web logs no request."""
    line = parse_procfile((settings.FILES_DIR / "Procfile").read_text()).processes[name]
    binaries = str(Path(sys.executable).parent)
    path = binaries + os.pathsep + os.environ.get("PATH", "")
    usual = {"RUBRIC_DEBUG_PAGES": "false", "UVICORN_LOG_LEVEL": "warning"}
    env = usual | os.environ | {"PORT": str(port), "PATH": path}
    command = ["/bin/sh", "-c", f"exec {line}"]
    return subprocess.Popen(command, env=env, cwd=settings.BASE_DIR, start_new_session=True)  # noqa: S603


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
