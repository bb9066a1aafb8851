"""How fast is an import, and in how much memory? Beside it: json.loads, and a row at a time through the ORM.

    bench/import_collection.py [--queries FILE] [--graded FILE]... [--bank FILE]... [--runs DIR] ...

takes the files of `manage.py import_collection`, by default those of the demo collection, which has no grades
of its own: 200 ratings a passage are written for it first. Each import is a process of its own on a new
SQLite database (or on DATABASE_URL where that is set: migrated, and without the collection). The ratio
leaves out the start of the process, which the alternative does not have.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "fixtures" / "demo"
SAMPLE_ROWS = 2_000
RATED_ITEMS = 200
SLUG = "bench-import"


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
    files = [f"--queries={DEMO / 'queries.json'}", f"--qrels={DEMO / 'qrels.txt'}", f"--runs={DEMO / 'runs'}"]
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


def ours(arguments: list[str]) -> tuple[float, float, dict[str, dict[str, int]]]:
    """(seconds, peak MB, counts) of the whole command, its start included."""
    command = [sys.executable, "manage.py", "import_collection", SLUG, "--json", *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return seconds, peak, json.loads(done.stdout)["counts"]


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


def start_up() -> float:
    start = time.perf_counter()
    command = [sys.executable, "manage.py", "import_collection", "--help"]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def report(arguments: list[str]) -> None:
    started = start_up()
    seconds, peak, counts = ours(arguments)
    grades, work = counts["grades"]["new"], seconds - started
    print(f"import_collection: {seconds:.1f} s ({started:.1f} s of it to start), peak {peak:.0f} MB")
    print(f"{grades:,} grades, {grades / work:,.0f} grades/s")
    again, _, _ = ours(arguments)
    print(f"the same files again (nothing changes): {again:.1f} s")
    graded = [value for option, value in pairwise(arguments) if option == "--graded"]
    parsed, created = alternative(graded, grades)
    print(
        f"alternative: json.loads {parsed:.1f} s + Grade.objects.create one at a time {created:.1f} s "
        f"(scaled from {min(SAMPLE_ROWS, grades):,} rows), without passages, pools, runs and checks"
    )
    print(f"ratio: {(parsed + created) / work:.1f} times as fast")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "DATABASE_URL" not in os.environ:
            os.environ["RUBRIC_DATA_DIR"] = folder
            subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
        os.environ["RUBRIC_LOG_LEVEL"] = "ERROR"
        given = sys.argv[1:] or demo_arguments(Path(folder))
        report([part for argument in given for part in argument.split("=", 1)])


if __name__ == "__main__":
    main()
