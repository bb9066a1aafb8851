"""Server time of the grid page of a collection's largest pool, beside the same page made from rows of grades.

    python bench/grid_page.py [FOLDER]

FOLDER holds graded.jsonl.gz, queries.json, qrels.txt and runs/; without it the demo collection is taken. It
is loaded into a database of its own, removed afterwards. The alternative is the same page, compared
byte for byte, with the ratings read the obvious way: each request loads the topic's grades as ORM rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from rubricweb.banks.models import Bank
    from rubricweb.corpus.pools import CollectionPool
    from rubricweb.grades.matrices import TopicGrades
    from rubricweb.grades.models import GraderConfig

ROOT = Path(__file__).resolve().parents[1]
TIMES = 15
TARGET_MS = 150


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    folder: Path | None = parser.parse_args().folder
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as var:
        os.environ |= {
            "RUBRIC_DATA_DIR": var,
            "DATABASE_URL": f"sqlite:///{var}/bench.sqlite3",
            "RUBRIC_LOG_LEVEL": "ERROR",
        }
        os.environ |= {
            "RUBRIC_DEBUG": "false",
            "RUBRIC_SECRET_KEY": "bench",
            "RUBRIC_ALLOWED_HOSTS": "testserver",
        }
        os.environ |= {"RUBRIC_SSL_REDIRECT": "false", "DJANGO_SETTINGS_MODULE": "rubricweb.settings"}
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        measure(load(folder))
    return 0


def load(folder: Path | None) -> Bank:
    """The bank whose grid is measured: that of the graded file, or the demo's."""
    from django.core.management import call_command

    from rubricweb.banks.models import Bank
    from rubricweb.demo.loading import load_demo

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    if folder is None:
        return load_demo().banks.get()
    files = {"queries": folder / "queries.json", "graded": [folder / "graded.jsonl.gz"]}
    files |= {"runs": folder / "runs", "qrels": folder / "qrels.txt"}
    with Path(os.devnull).open("w") as nowhere:
        call_command("import_collection", "bench", name="Bench", stdout=nowhere, stderr=nowhere, **files)
    return Bank.objects.get(collection__slug="bench", name="imported")


def measure(bank: Bank) -> None:
    from django.db import connection
    from django.db.models import Count
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from rubricweb.accounts.models import User

    topic = bank.collection.topics.annotate(size=Count("pool")).order_by("-size")[0]
    items = bank.items.for_topic(topic).count()
    client = Client()
    client.force_login(
        User.objects.create_superuser("bench"), backend="django.contrib.auth.backends.ModelBackend"
    )
    address = f"/review/banks/{bank.pk}/topics/{topic.pk}/grid/"
    print(f"topic {topic.query_id}: {topic.size} passages x {items} items")

    started = time.perf_counter()
    page = client.get(address).content
    print(f"first request: {1000 * (time.perf_counter() - started):.0f} ms, {len(page):,} bytes")
    with CaptureQueriesContext(connection) as captured:
        client.get(address)
    queries = len(captured)
    median, best, html = timed(lambda: client.get(address).content)
    print(f"warm: {median:.0f} ms (target {TARGET_MS}), best {best:.0f} ms, {queries} queries")

    with mock.patch("rubricweb.review.selectors.grid.topic_grades", by_rows):
        slow, least, same = timed(lambda: client.get(address).content)
    assert table(same) == table(html), "the alternative made another table"
    print(f"from rows of grades: {slow:.0f} ms, best {least:.0f} ms")
    print(f"ratio: {median / slow:.2f} ({slow / median:.1f} times faster; medians of {TIMES})")


def by_rows(config: GraderConfig, pool: CollectionPool, topic_id: int) -> TopicGrades:
    """What `topic_grades` returns, from one model instance a cell."""
    import numpy as np

    from grading.types import FAILED, MISSING, GradeMatrix
    from rubricweb.grades.matrices import TopicGrades
    from rubricweb.grades.models import Grade

    topic = pool.by_topic[topic_id]
    cells = {}
    for grade in Grade.objects.filter(config=config, topic=topic_id).select_related("revision", "passage"):
        cells[grade.passage.doc_id, grade.revision.uid] = FAILED if grade.rating is None else grade.rating
    uids = tuple(dict.fromkeys(uid for _, uid in cells))
    ratings = [[cells.get((doc_id, uid), MISSING) for uid in uids] for doc_id in topic.doc_ids]
    return TopicGrades(
        topic, GradeMatrix(topic.query_id, topic.doc_ids, uids, np.array(ratings, dtype=np.int8))
    )


def timed(work: Callable[[], bytes]) -> tuple[float, float, bytes]:
    """Median and least milliseconds, and what came out."""
    took = []
    for _ in range(TIMES):
        started = time.perf_counter()
        made = work()
        took.append(1000 * (time.perf_counter() - started))
    return statistics.median(took), min(took), made


def table(html: bytes) -> bytes:
    return html[html.index(b'<table id="grid"') : html.index(b"</table>")]


if __name__ == "__main__":
    sys.exit(main())
