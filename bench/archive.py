"""How fast are archive and restore, in how much memory, and how do both grow with the collection?

    python bench/archive.py [--times 1 10]

Makes a collection of a track's size (bench/_collection.py: 60 runs, 54 topics, 227,720 grades) and one of
so many times as many topics, archives each, restores it beside itself, and deletes the copy. Each command
is a process of its own, on a new SQLite database (or one at DATABASE_URL, which must be empty). Times are of
the processor, without the start of the process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from _measuring import ROOT, manage, run

MAKE = "import django; django.setup(); from bench import _collection; _collection.make({times})"
DELETE = (
    "import django; django.setup(); from rubricweb.core.reader import see_everything; see_everything();"
    "from rubricweb.corpus.models import Collection;"
    "from rubricweb.archives.removal import delete_collection;"
    "delete_collection(Collection.objects.get(slug='copy'), by=None)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10])
    for times in parser.parse_args().times:
        measure(times)


def measure(times: int) -> None:
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as name:
        file = Path(name) / "track.zip"
        os.environ |= {"RUBRIC_DATA_DIR": str(Path(name) / "var"), "RUBRIC_LOG_LEVEL": "ERROR"}
        os.environ |= {"DJANGO_SETTINGS_MODULE": "rubricweb.settings", "PYTHONPATH": str(ROOT)}
        manage("migrate", "-v0")
        run(sys.executable, "-c", MAKE.format(times=times))
        start = manage("archive", "--help").cpu
        for words, command in (
            ("archive", ("manage.py", "archive", "track", f"--out={file}")),
            ("restore", ("manage.py", "restore", str(file), "--slug=copy")),
            ("delete", ("-c", DELETE)),
        ):
            took = run(sys.executable, *command)
            print(f"{times} x {words}: {took.cpu - start:.1f} s, {took.peak:.0f} MB", flush=True)
        print(f"{times} x file: {file.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
