"""`transformers serve`, a server that others wrote, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

START_SECONDS = 300.0
"""Long, because the machine may be busy."""


@contextmanager
def served(folder: Path, log: Path) -> Iterator[str]:
    """The base URL under which the model of that folder answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as written:
        process = subprocess.Popen(command, env=environment, stdout=written, stderr=written)
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(url, timeout=2):
            return
        time.sleep(0.1)
    pytest.fail(f"transformers serve did not start: {log.read_text(encoding='utf-8')[-2_000:]}")
