"""How fast is an import, and in how much memory? Beside it: another reader of the same files.

    bench/import_collection.py [--workbench DIR] [--queries FILE] [--graded FILE]... [--bank FILE]...

takes the files of `manage.py import_collection`, by default those of the demo collection, which has no grades
of its own: 200 ratings a passage are written for it first. Each import is a process of its own on a new
SQLite database (or on DATABASE_URL where that is set: migrated, and without the collection). The ratio
leaves out the start of the process.

With --workbench, a checkout of the published Workbench, its parser reads the graded files in turn with ours,
which also checks them and stores them; compared are the medians of three times of the processor. Without it
the other is json.loads and a row at a time through the ORM.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import time
from argparse import ArgumentParser
from itertools import islice, pairwise
from pathlib import Path
from secrets import token_urlsafe
from statistics import median

from _measuring import ROOT, Took, manage, run

DEMO = ROOT / "fixtures" / "demo"
SAMPLE_ROWS = 2_000
RATED_ITEMS = 200
SLUG = "bench-import"
REPEATED = 3


def demo_arguments(folder: Path) -> list[str]:
    """The demo's files, with ratings of many items on every passage."""
    graded = folder / "graded.jsonl"
    with graded.open("w", encoding="utf-8") as out:
        for text in (DEMO / "passages.jsonl").read_text(encoding="utf-8").splitlines():
            query_id, passages = json.loads(text)
            for passage in passages:
                passage["exam_grades"] = [ratings(query_id, len(passage["text"]))]
            out.write(json.dumps([query_id, passages]) + "\n")
    banks = [f"--bank={DEMO / name}" for name in ("questions.jsonl", "nuggets.jsonl")]
    files = [f"--queries={DEMO / 'topics.jsonl'}", f"--qrels={DEMO / 'qrels.txt'}", f"--runs={DEMO / 'runs'}"]
    return [*files, *banks, f"--graded={graded}"]


def ratings(query_id: str, seed: int) -> dict[str, object]:
    rated = {f"{query_id}/item-{n}": (seed + n) % 6 for n in range(RATED_ITEMS)}
    return {
        "correctAnswered": [],
        "wrongAnswered": [],
        "answers": [[item, str(rating)] for item, rating in rated.items()],
        "llm": "bench",
        "llm_options": {},
        "exam_ratio": 0.0,
        "prompt_info": {"prompt_class": "Bench", "is_self_rated": True},
        "self_ratings": [{"question_id": item, "self_rating": rating} for item, rating in rated.items()],
    }


def ours(arguments: list[str]) -> Took:
    return manage("import_collection", SLUG, "--json", *arguments)


def alternative(graded: list[str], grades: int) -> tuple[float, float]:
    """(seconds to parse by json.loads, seconds to create `grades` rows one at a time, from a sample)."""
    start = time.perf_counter()
    for name in graded:
        raw = Path(name).read_bytes()
        text = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
        for line in text.decode().splitlines():
            json.loads(line)
    parsed = time.perf_counter() - start
    return parsed, rows_one_at_a_time() * grades


def rows_one_at_a_time() -> float:
    """Seconds a row of Grade.objects.create, in one transaction that is rolled back."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    sys.path.insert(0, str(ROOT))
    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from django.db import transaction

    from rubricweb.grades.models import Grade

    with transaction.atomic():
        fields = (
            "config_id",
            "topic_id",
            "revision_id",
            "passage_id",
            "rating",
            "outcome",
            "answer",
            "reply",
        )
        here = Grade.objects.filter(topic__collection__slug=SLUG).values(*fields)
        rows = list(islice(here, SAMPLE_ROWS))
        Grade.objects.filter(topic__collection__slug=SLUG).delete()
        start = time.perf_counter()
        for row in rows:
            Grade.objects.create(**row)
        seconds = time.perf_counter() - start
        transaction.set_rollback(True)
    return seconds / len(rows)


WORKBENCH = """
import gzip, sys, tempfile, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from exam_pp.data_model import parseQueryWithFullParagraphs
start, parsed = time.process_time(), []
for path in map(Path, sys.argv[2:]):
    if not path.read_bytes().startswith(b"\\x1f\\x8b"):
        packed = Path(tempfile.mkdtemp()) / "graded.jsonl.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        start, path = time.process_time(), packed
    parsed.append(parseQueryWithFullParagraphs(path))
print(time.process_time() - start)
"""


def beside_workbench(folder: str, arguments: list[str], data_dir: Path) -> None:
    """In turn, each time on a new database."""
    files = graded_of(arguments)
    theirs, own, starts = [], [], []
    for number in range(REPEATED):
        new_database(data_dir / str(number))
        starts.append(start_up().cpu)
        own.append(ours(arguments))
        theirs.append(run(sys.executable, "-c", WORKBENCH, folder, *files))
    parsing = median(float(one.output) for one in theirs)
    importing, peak = median(one.cpu for one in own) - median(starts), median(one.peak for one in own)
    their_peak = median(one.peak for one in theirs)
    print(f"Workbench's parser: {parsing:.1f} s, peak {their_peak:.0f} MB")
    print(f"import_collection: {importing:.1f} s without its start, peak {peak:.0f} MB")
    print(f"ratio: {importing / parsing:.2f} times its time, {peak / their_peak:.2f} of its memory")


def start_up() -> Took:
    return manage("import_collection", "--help")


def report(arguments: list[str]) -> None:
    started, first = start_up().seconds, ours(arguments)
    grades = json.loads(first.output)["counts"]["grades"]["new"]
    work = first.seconds - started
    print(
        f"import_collection: {first.seconds:.1f} s ({started:.1f} s of it to start), peak {first.peak:.0f} MB"
    )
    print(f"{grades:,} grades, {grades / work:,.0f} grades/s")
    print(f"the same files again (nothing changes): {ours(arguments).seconds:.1f} s")
    parsed, created = alternative(graded_of(arguments), grades)
    print(
        f"alternative: json.loads {parsed:.1f} s + Grade.objects.create one at a time {created:.1f} s "
        f"(scaled from {min(SAMPLE_ROWS, grades):,} rows), without passages, pools, runs and checks"
    )
    print(f"ratio: {(parsed + created) / work:.1f} times as fast")


def graded_of(arguments: list[str]) -> list[str]:
    return [value for option, value in pairwise(arguments) if option == "--graded"]


def new_database(folder: Path) -> None:
    if "DATABASE_URL" not in os.environ:
        os.environ["RUBRIC_DATA_DIR"] = str(folder)
        manage("migrate", "-v0")


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workbench", metavar="DIR")
    options, given = parser.parse_known_args()
    os.environ["RUBRIC_LOG_LEVEL"] = "ERROR"
    # As on a server: under DEBUG, Django keeps and formats every statement.
    os.environ |= {
        "RUBRIC_DEBUG": "false",
        "RUBRIC_SECRET_KEY": token_urlsafe(50),
        "RUBRIC_ALLOWED_HOSTS": "*",
    }
    with tempfile.TemporaryDirectory() as folder:
        listed = given or demo_arguments(Path(folder))
        arguments = [part for argument in listed for part in argument.split("=", 1)]
        if options.workbench:
            beside_workbench(options.workbench, arguments, Path(folder))
            return
        new_database(Path(folder) / "data")
        report(arguments)


if __name__ == "__main__":
    main()
