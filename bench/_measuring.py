"""How long a piece of work takes, and how much memory its process took."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Took(NamedTuple):
    """What a process took, its start included."""

    seconds: float
    cpu: float
    """Seconds of the processor, which other processes disturb less."""
    peak: float
    """MB."""
    output: str
    """What it printed."""


def run(*command: str) -> Took:
    """Run a command from the root of the project; end this script if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command[:4])} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Took(time.perf_counter() - start, cpu, usage.ru_maxrss / 1024, output)


def manage(*arguments: str) -> Took:
    """Run a command of `manage.py`."""
    return run(sys.executable, "manage.py", *arguments)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds(work: Callable[[], object]) -> float:
    """Seconds of the processor, which other processes disturb less."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak_memory() -> float:
    """Of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
