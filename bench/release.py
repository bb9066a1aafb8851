"""How long does a release take, in how much memory, and how do both grow with the collection?

    python bench/release.py                     a generated track, and a tenth of its topics
    python bench/release.py --queries F ...     these files, as `manage.py import_collection` takes them

Each release is a process of its own on a new SQLite database; its start is left out of the time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SLUG = "track"
MAKE = """
import django; django.setup()
import _collection
_collection.TOPICS, _collection.PASSAGES = {topics}, {passages}
_collection.make()
"""


def main() -> None:
    if files := sys.argv[1:]:
        measure("these files", ["import_collection", SLUG, *files])
        return
    small = measure("a tenth", [], topics=5, passages=1_054)
    large = measure("a track", [], topics=54, passages=11_386)
    ratios = [after / before for before, after in zip(small, large, strict=True)]
    print(f"10.8 times the topics: {ratios[0]:.1f} times the time, {ratios[1]:.1f} times the memory")


def measure(name: str, importing: list[str], *, topics: int = 0, passages: int = 0) -> tuple[float, float]:
    """Seconds without the start of the process, and peak MB."""
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as folder:
        os.environ |= {"RUBRIC_DATA_DIR": f"{folder}/var", "RUBRIC_LOG_LEVEL": "ERROR"}
        os.environ |= {"DJANGO_SETTINGS_MODULE": "rubricweb.settings"}
        manage("migrate", "-v0")
        if importing:
            manage(*importing)
        else:
            make = MAKE.format(topics=topics, passages=passages)
            paths = f"{ROOT}:{ROOT / 'bench'}"
            environment = os.environ | {"PYTHONPATH": paths}
            subprocess.run([sys.executable, "-c", make], cwd=ROOT, env=environment, check=True)
        start, _ = manage("help", "release")
        out = Path(folder) / "release.zip"
        seconds, memory = manage("release", SLUG, "--out", str(out), "--runs")
        size = out.stat().st_size / 1e6
        print(f"{name}: {seconds - start:.1f} s, peak {memory:.0f} MB, a zip of {size:.1f} MB", flush=True)
        return seconds - start, memory


def manage(*arguments: str) -> tuple[float, float]:
    """Seconds and peak MB of a command."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "manage.py", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"manage.py {arguments[0]} failed")
    return time.perf_counter() - start, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
