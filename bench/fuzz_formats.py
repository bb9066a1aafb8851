"""Does every reader refuse damaged files with file and line?

    bench/fuzz_formats.py [--mutations 10000] [--seed 1] [FORMAT ...]

damages the files of fixtures/formats that the registry recognises as a format, at random, in their bytes and
in the values of their JSON, and reads them. Any exception but `BadFormat`, and a `BadFormat` without file,
line and problem, is printed with the damaged content and makes the exit status 1. What is read after all is
written, which may refuse it, too.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grading.errors import BadFormat  # noqa: E402
from grading.formats import registry  # noqa: E402
from grading.formats.base import Format  # noqa: E402
from tests.grading.formats.mutations import damaged  # noqa: E402
from tests.grading.formats.samples import SAMPLES  # noqa: E402


def outcome(one: Format, file: Path) -> str:
    """What became of a damaged file: read, refused, or what is wrong with the refusal."""
    try:
        rows = list(one.read(file))
    except BadFormat as error:
        has_place = error.file == file.name and error.line is not None and bool(error.problem)
        return "refused" if has_place else f"refused without a place: {error}"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    try:
        if one.write:
            one.write(file.with_name("written"), rows)
    except BadFormat:
        pass
    except Exception as error:  # noqa: BLE001
        return f"written: {type(error).__name__}: {error}"
    return "read"


def fuzz(one: Format, mutations: int, seed: int, folder: Path) -> Counter[str]:
    paths = [path for path, name in SAMPLES if name == one.name]
    counts: Counter[str] = Counter()
    for number, path in enumerate(paths):
        share = mutations // len(paths) + (number < mutations % len(paths))
        for content in islice(damaged(path, random.Random(f"{seed} {path.name}")), share):
            file = folder / "damaged"
            file.write_bytes(content)
            result = outcome(one, file)
            if result not in ("read", "refused"):
                print(f"{one.name}: {result}\n  {content[:2000]!r}")
            counts[result] += 1
    return counts


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="names of the registry; default: all")
    parser.add_argument("--mutations", type=int, default=10_000, help="for each reader")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = [registry.find(name) for name in options.formats] or [
        one for one in registry.FORMATS if one.is_read
    ]
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in chosen:
            start = time.perf_counter()
            own = Path(folder) / one.name  # banks of several files are written to a folder
            own.mkdir()
            counts = fuzz(one, options.mutations, options.seed, own)
            wrong = sum(counts.values()) - counts["read"] - counts["refused"]
            problems += wrong
            print(
                f"{one.name}: {sum(counts.values()):,} mutations, {counts['refused']:,} refused with file and"
                f" line, {counts['read']:,} read, {wrong:,} wrong ({time.perf_counter() - start:.0f} s)"
            )
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
