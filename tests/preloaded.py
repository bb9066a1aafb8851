"""Processes of the product, forked from one that has imported it: each saves two seconds of processor time.

They read their settings as they start, like others. Python starts anew for what is about the start itself, or
changes modules before the product is imported.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.imported"])


class Forked:
    """A process with what tests use of `subprocess.Popen`."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.process = _forks.Process(target=_run, args=(command, environment, str(log)))
        self.process.start()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float) -> int:
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self.process.exitcode

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def anew(command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start Python with this command; it writes to the log."""
    with log.open("ab") as written:
        pipes = {"stdout": written, "stderr": written}
        return subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, **pipes)


def start(command: list[str], environment: dict[str, str], log: Path) -> Forked:
    """Start what `anew` would, sooner: a file, or `-m` and a module."""
    return Forked(command, environment, log)


def _run(command: list[str], environment: dict[str, str], log: str) -> None:
    _move(environment, log)
    is_module = command[0] == "-m"
    sys.argv = command[is_module:]
    try:
        if is_module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()


def _move(environment: dict[str, str], log: str) -> None:
    """Take on the settings of this environment, and write to the log."""
    from django.apps import apps
    from django.conf import settings
    from django.db import connections
    from django.utils.log import configure_logging

    from tests import imported

    with Path(log).open("ab") as file, Path(os.devnull).open("rb") as nothing:
        for number, opened in enumerate((nothing, file, file)):
            os.dup2(opened.fileno(), number)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    for name, value in imported.settings().items():
        if repr(value) != imported.BEFORE[name]:  # to others apps may have added
            setattr(settings, name, value)
    for connection in connections.all(initialized_only=True):
        del connections[connection.alias]
    connections.__dict__.pop("settings", None)
    connections._settings = None
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    apps.get_app_config("core").ready()
