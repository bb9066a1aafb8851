"""Server time of the grid page of a collection's largest pool, beside the same page made from rows of grades.

    python bench/grid_page.py [FOLDER | --made]

FOLDER holds graded.jsonl.gz, queries.json, qrels.txt and runs/; --made makes a topic of 1,000 passages and 30
items, of which people rated a tenth; without either the demo collection is taken. It is loaded into a
database of its own, removed afterwards. The alternative is the same page, compared byte for byte, with the
ratings read the obvious way: each request loads the topic's grades as ORM rows. Saving is timed, too.
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
    from django.test import Client

    from rubricweb.banks.models import Bank, ItemRevision
    from rubricweb.corpus.models import Passage, Topic
    from rubricweb.corpus.pools import CollectionPool
    from rubricweb.grades.matrices import TopicGrades
    from rubricweb.grades.models import GraderConfig

ROOT = Path(__file__).resolve().parents[1]
TIMES = 15
TARGET_MS = 150
SAVE_TARGET_MS = 100
PASSAGES, ITEMS = 1_000, 30


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--made", action="store_true", help="1,000 passages x 30 items")
    said = parser.parse_args()
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
        from rubricweb.core.reader import see_everything

        see_everything()
        measure(made() if said.made else load(said.folder))
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


def made() -> Bank:
    """One topic of 1,000 passages and 30 questions, all graded; people rated a tenth of the cells."""
    from django.core.management import call_command

    from rubricweb.banks.models import Bank
    from rubricweb.corpus.models import Collection

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    collection = Collection.objects.create(slug="bench", name="Bench", min_relevant=2)
    topic = collection.topics.create(query_id="t1", text="why do leaves turn red", position=0)
    bank = Bank.objects.create(collection=collection, name="imported")
    passages, revisions = judged_pool(topic), questions(bank, topic)
    grade_cells(topic, passages, revisions)
    rate_cells(topic, passages, revisions)
    return bank


def judged_pool(topic: Topic) -> list[Passage]:
    from rubricweb.corpus.models import Judgment, Passage, Pooled

    names = [f"msmarco_passage_{number:02}_{number * 7919:09}" for number in range(PASSAGES)]
    passages = Passage.objects.bulk_create(
        Passage(collection=topic.collection, doc_id=name, text=f"Leaves {name} turn red.") for name in names
    )
    Pooled.objects.bulk_create(Pooled(topic=topic, passage=p, position=n) for n, p in enumerate(passages))
    Judgment.objects.bulk_create(Judgment(topic=topic, doc_id=p.doc_id, relevance=p.pk % 4) for p in passages)
    return passages


def questions(bank: Bank, topic: Topic) -> list[ItemRevision]:
    from grading.formats.ids import item_id
    from rubricweb.banks.models import Item, ItemRevision

    texts = [
        f"Which pigment makes the leaves of tree {number} turn red in autumn?" for number in range(ITEMS)
    ]
    revisions = [
        ItemRevision.objects.create(topic=topic, uid=item_id("t1", text), text=text) for text in texts
    ]
    for position, revision in enumerate(revisions):
        Item.objects.create(bank=bank, topic=topic, kind="question", revision=revision, position=position)
    return revisions


def grade_cells(topic: Topic, passages: list[Passage], revisions: list[ItemRevision]) -> None:
    import numpy as np

    from rubricweb.grades.configs import config_for
    from rubricweb.grades.store import GradeRow, save_grades

    ratings = np.random.default_rng(1).integers(0, 6, (PASSAGES, ITEMS))
    rows = (
        GradeRow(topic.pk, revision.pk, passage.pk, int(ratings[n, m]), "numeric", confidence=n % 10 / 10)
        for n, passage in enumerate(passages)
        for m, revision in enumerate(revisions)
    )
    save_grades(config_for("lexical", "lexical", "LexicalBaseline"), rows)


def rate_cells(topic: Topic, passages: list[Passage], revisions: list[ItemRevision]) -> None:
    """Every tenth cell, by one person."""
    from rubricweb.accounts.models import User
    from rubricweb.grades.human_models import HumanGrade, HumanStamp

    ana = User.objects.create_superuser("ana")
    cells = [(passage, revision) for passage in passages for revision in revisions]
    HumanGrade.objects.bulk_create(
        HumanGrade(topic=topic, revision=revision, passage=passage, by=ana, number=1, rating=4, how="grid")
        for passage, revision in cells[::10]
    )
    HumanStamp.objects.create(topic=topic)


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
    address = f"/banks/{bank.pk}/topics/{topic.pk}/?view=grid"
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
    saving(bank, topic.pk, client)


def saving(bank: Bank, topic_id: int, client: Client) -> None:
    """Rate cell after cell as the grid does, with its answer."""
    item = bank.items.filter(topic=topic_id).select_related("revision").first()
    assert item is not None
    passages = list(item.topic.pool.values_list("passage_id", flat=True)[1 : TIMES + 1])
    took = []
    for passage in passages:
        address = f"/review/banks/{bank.pk}/topics/{topic_id}/cells/{passage}/{item.pk}/rate/"
        sent = {"rating": 3, "seen": 0, "revision": item.revision_id, "part": "cell"}
        started = time.perf_counter()
        status = client.post(address, sent, headers={"HX-Request": "true"}).status_code
        took.append(1000 * (time.perf_counter() - started))
        assert status == 200, status
    median, longest = statistics.median(took), max(took)
    print(f"save a rating: {median:.0f} ms (target {SAVE_TARGET_MS}), longest {longest:.0f} ms")


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
