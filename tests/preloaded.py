"""Processes of the product, forked from one that has imported it: each saves two seconds of processor time.

They read their settings as they start, like others. Python starts anew for what is about the start itself, or
changes modules before the product is imported.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SET_CHILD_SUBREAPER = 36
"""Of prctl(2), which only Linux has."""
PAUSE_SECONDS = 0.005

_one_at_a_time = threading.Lock()


class Forked:
    """A child of this process, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(PAUSE_SECONDS)
        return status

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _template() -> subprocess.Popen[bytes]:
    """The process that has imported the product. It ends with this one, which holds its pipe."""
    from tests.servers import stack

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    template = subprocess.Popen([sys.executable, "-m", "tests.preloaded"], cwd=ROOT, **pipes)
    stack.callback(template.communicate)
    return template


def anew(command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start Python with this command; it writes to the log."""
    with log.open("ab") as written:
        pipes = {"stdout": written, "stderr": written}
        return subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, **pipes)


def start(command: list[str], environment: dict[str, str], log: Path) -> Forked | subprocess.Popen[bytes]:
    """Start what `anew` would, sooner: a file, or `-m` and a module."""
    if sys.platform != "linux":
        return anew(command, environment, log)
    prctl = ctypes.CDLL(None).prctl
    wanted = {"command": command, "environment": environment, "log": str(log)}
    with _one_at_a_time:
        pipes = _template()
        # It is the child of a child of the template, which ends at once: then it is ours.
        prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        pipes.stdin.write(json.dumps(wanted).encode() + b"\n")
        pipes.stdin.flush()
        pid = int(pipes.stdout.readline())
        prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    return Forked(pid)


def _line() -> bytes:
    """The next line of the input, or nothing at its end; unbuffered, since children would have the buffer."""
    line = b""
    while not line.endswith(b"\n") and (read := os.read(0, 1 << 16)):
        line += read
    return line


def _wanted() -> dict[str, object] | None:
    """Fork for each line: return what it says in the new process, and None at the end of the input."""
    reader, writer = os.pipe()
    while line := _line():
        if child := os.fork():
            os.waitpid(child, 0)
            os.write(1, os.read(reader, 64))
        elif pid := os.fork():
            os.write(writer, b"%d\n" % pid)
            os._exit(0)
        else:
            return json.loads(line)
    return None


def _settings() -> dict[str, object]:
    """As the environment has them now."""
    read = importlib.reload(importlib.import_module("rubricweb.settings"))
    return {name: value for name, value in vars(read).items() if name.isupper()}


def _preload() -> dict[str, str]:
    """Import the product, and return what its settings were when it was imported."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "rubricweb.settings"
    were = {name: repr(value) for name, value in _settings().items()}
    django.setup()
    from rubricweb import urls  # noqa: F401
    from rubricweb.jobs import kinds, worker  # noqa: F401

    kinds.registered()
    gc.collect()
    gc.freeze()
    return were


def _move(environment: dict[str, str], log: str, were: dict[str, str]) -> None:
    """Take on the settings of this environment, and write to the log."""
    from django.apps import apps
    from django.conf import settings
    from django.db import connections
    from django.utils.log import configure_logging

    with Path(log).open("ab") as file, Path(os.devnull).open("rb") as nothing:
        for number, opened in enumerate((nothing, file, file)):
            os.dup2(opened.fileno(), number)
    os.environ.clear()
    os.environ.update(environment)
    for name, value in _settings().items():
        if repr(value) != were[name]:  # to others apps may have added
            setattr(settings, name, value)
    for connection in connections.all(initialized_only=True):
        del connections[connection.alias]
    connections.__dict__.pop("settings", None)
    connections._settings = None
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    apps.get_app_config("core").ready()


def main() -> None:
    were = _preload()
    if (wanted := _wanted()) is None:
        return
    _move(wanted["environment"], wanted["log"], were)
    if wanted["command"][0] == "-m":
        sys.argv = wanted["command"][1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = wanted["command"]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
