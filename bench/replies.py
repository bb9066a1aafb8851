"""What do replies cost: in the rows of their grades, and in compressed blocks beside them?

    bench/replies.py --queries FILE --graded FILE [--chars N] [--database sqlite|postgres] [--repeated N]

imports the files of `manage.py import_collection` into new databases: as they are, and with every rating
explained by about N characters of its passage (300), as chat models do. Each in both ways, in turn, N times
(3); a process a time. Printed are medians: seconds of the processor that the import took, and that it takes a
new process to read all ratings from rows; bytes a grade of the tables with their indexes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _measuring import cpu_seconds
from grading_path import servers

SLUG = "bench-replies"
WAYS = ("rows", "blocks")
EVERY_REPLY = 10**9
"""More than a batch ever has: all replies stay in their rows."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", required=True)
    parser.add_argument("--graded", required=True)
    parser.add_argument("--chars", type=int, default=300)
    parser.add_argument("--database", choices=["sqlite", "postgres"])
    parser.add_argument("--repeated", type=int, default=3)
    parser.add_argument("--only", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--read", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.read:
        print(json.dumps(read()))
    elif wanted.only:
        with servers(wanted.database):
            print(json.dumps(measure(wanted)))
    else:
        report(wanted)
    return 0


def report(wanted: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as folder:
        explained = Path(folder) / "explained.jsonl"
        explain(Path(wanted.graded), explained, chars=wanted.chars)
        for database in [wanted.database] if wanted.database else ["sqlite", "postgres"]:
            for name, path in (("as they are", wanted.graded), ("explained", str(explained))):
                compare(database, name, path, wanted)


def compare(database: str, name: str, graded: str, wanted: argparse.Namespace) -> None:
    took: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(wanted.repeated):
        for way in WAYS:
            given = ["--queries", wanted.queries, "--graded", graded, "--database", database, "--only", way]
            took[way].append(process(*given))
    middle = {way: {key: median(one[key] for one in each) for key in each[0]} for way, each in took.items()}
    print(f"{database}, replies {name}: {middle['rows']['grades']:,.0f} grades")
    for way, found in middle.items():
        print(f"  in {way:<7}" + "".join(f"  {key} {found[key]:,.2f}" for key in found if key != "grades"))
    rows, in_blocks = (middle[way] for way in WAYS)
    print(
        "  rows / blocks "
        + "".join(f"  {key} {rows[key] / in_blocks[key]:.2f}" for key in ("import", "read", "bytes"))
    )


def process(*arguments: str) -> Any:  # whatever it prints as JSON
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def measure(wanted: argparse.Namespace) -> dict[str, float]:
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from django.core.management import call_command

    from rubricweb.grades import store
    from rubricweb.grades.import_collection import ImportFiles, import_collection
    from rubricweb.grades.models import Grade

    call_command("migrate", verbosity=0)
    if wanted.only == "rows":
        store.TOGETHER = EVERY_REPLY
    files = ImportFiles(queries=Path(wanted.queries), graded=(Path(wanted.graded),))
    seconds = cpu_seconds(lambda: import_collection(SLUG, files=files, by=None))
    grades = Grade.objects.count()
    sizes = {name: size_of(table) / grades for name, table in TABLES.items()}
    sizes["bytes"] = sum(sizes.values())
    given = ("--queries", wanted.queries, "--graded", wanted.graded, "--read")
    return {"grades": grades, "import": seconds, "read": process(*given), **sizes}


TABLES = {"table of grades": "grades_grade", "table of blocks": "grades_replyblock"}


def size_of(table: str) -> int:
    """Bytes on disk, with indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_total_relation_size(%s)", [table])
        else:
            cursor.execute(
                "SELECT SUM(pgsize) FROM dbstat WHERE name IN"
                " (SELECT name FROM sqlite_master WHERE tbl_name = %s)",
                [table],
            )
        return int(cursor.fetchone()[0])


def read() -> float:
    """Seconds to read all ratings from rows of grades, as a first board without snapshots does."""
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from rubricweb.grades.matrices import from_rows
    from rubricweb.grades.models import GraderConfig, MatrixStamp

    def boards() -> None:
        for config in GraderConfig.objects.all():
            topics = (
                MatrixStamp.objects.filter(config=config).order_by("topic").values_list("topic", flat=True)
            )
            from_rows(config, list(topics))

    return cpu_seconds(boards)


def explain(source: Path, target: Path, *, chars: int) -> None:
    """The graded file with longer replies to prompts that rate: the rating, then words of the passage."""
    with (
        (gzip.open if source.suffix == ".gz" else open)(source, "rt") as lines,
        target.open("w", encoding="utf-8") as out,
    ):
        for line in lines:
            query_id, passages = json.loads(line)
            for passage in passages:
                for graded in passage.get("exam_grades") or []:
                    if graded["prompt_info"].get("is_self_rated"):
                        graded["answers"] = [
                            [item, explained(reply, item, passage["text"], chars)]
                            for item, reply in graded["answers"]
                        ]
            out.write(json.dumps([query_id, passages]) + "\n")


def explained(reply: str, item: str, text: str, chars: int) -> str:
    """Each item looks at another part of the passage."""
    start = int(item[-8:], 16) % max(len(text) - chars, 1)
    return f"{reply}: The passage says: {text[start : start + chars]}"


if __name__ == "__main__":
    sys.exit(main())
