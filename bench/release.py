"""How long does a release take, in how much memory, and how do both grow with the collection?

    python bench/release.py                     a generated track, and a tenth of its topics
    python bench/release.py --queries F ...     these files, as `manage.py import_collection` takes them

Each release is a process of its own on a new SQLite database. Times are of the processor, without the start
of the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _measuring import ROOT, manage

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
    """Seconds of the processor without the start of the process, and peak MB."""
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
        start = manage("release", "--help").cpu
        out = Path(folder) / "release.zip"
        took = manage("release", SLUG, "--out", str(out), "--runs")
        size = out.stat().st_size / 1e6
        seconds = took.cpu - start
        print(f"{name}: {seconds:.1f} s, peak {took.peak:.0f} MB, a zip of {size:.1f} MB", flush=True)
        return seconds, took.peak


if __name__ == "__main__":
    main()
