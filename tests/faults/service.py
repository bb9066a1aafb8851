"""A process of an installation that a test starts, kills, stops and lets go on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil

from tests import preloaded

START_SECONDS = 120


class Service:
    """A process that can be killed, and started again as it was."""

    def __init__(
        self, command: list[str], environment: dict[str, str], log: Path, *, is_anew: bool = False
    ) -> None:
        """`command`: what Python is started with; anew, or from where the product is imported. It is named by
        its log.
        """
        self.name, self.command, self.environment = log.stem, command, environment
        log.touch()
        self.log = log
        self.begin = preloaded.anew if is_anew else preloaded.start
        self.process: subprocess.Popen[bytes] | preloaded.Forked | None = None

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        self.process = self.begin(self.command, self.environment, self.log)

    def kill(self) -> None:
        """As a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=START_SECONDS)

    def stop(self) -> int:
        """As a process manager would; returns the exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout=START_SECONDS)

    def freeze(self) -> None:
        """Return when it has stopped, not when it has been told to."""
        os.kill(self.pid, signal.SIGSTOP)
        process = psutil.Process(self.pid)
        while process.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
            time.sleep(0.005)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
