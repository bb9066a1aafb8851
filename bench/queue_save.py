"""Server time and queries of saving a rating in the queue, with the next cells in the answer.

    python bench/queue_save.py [--cells N]

A collection of its own with N cells (20,000 unless told otherwise), graded, in a campaign of two assessors a
cell ordered by the expected change of the leaderboard; removed afterwards. DATABASE_URL chooses another
database, which must be empty.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from rubricweb.campaigns.models import Campaign

ROOT = Path(__file__).resolve().parents[1]
TARGET_MS = 100
SAVES = 200
PASSAGES, ITEMS, RUNS = 200, 20, 30


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=20_000)
    cells: int = parser.parse_args().cells
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as var:
        os.environ |= {
            "RUBRIC_DATA_DIR": var,
            "DATABASE_URL": os.environ.get("DATABASE_URL", f"sqlite:///{var}/bench.sqlite3"),
            "RUBRIC_LOG_LEVEL": "ERROR",
            "RUBRIC_DEBUG": "false",
            "RUBRIC_SECRET_KEY": "bench",
            "RUBRIC_ALLOWED_HOSTS": "testserver",
            "RUBRIC_SSL_REDIRECT": "false",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        from rubricweb.core.reader import see_everything

        see_everything()
        return measure(campaign_of(cells))


def campaign_of(cells: int) -> Campaign:
    """Topics of 200 passages and 20 items each, every cell graded at random."""
    from django.core.management import call_command

    from rubricweb.accounts.models import User
    from rubricweb.campaigns.actions import CampaignPlan, open_campaign
    from rubricweb.campaigns.models import Campaign
    from rubricweb.campaigns.population import Choice
    from rubricweb.grades.raters import KINDS, raters
    from tests.factories import CollectionFactory, lexical_config

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    collection = CollectionFactory(slug="bench")
    bank = fill(collection, lexical_config(), topics=max(1, cells // (PASSAGES * ITEMS)))
    choice = Choice(
        bank,
        tuple(collection.topics.all()),
        frozenset(KINDS),
        raters(bank)[0],
        order=Campaign.Order.LEADERBOARD,
    )
    by = User.objects.create_superuser("bench")
    started = time.perf_counter()
    campaign = open_campaign(choice, CampaignPlan("bench", Campaign.Mode.BLIND, 2), by=by, seed=1)
    took = time.perf_counter() - started
    sizes = f"{campaign.cells.count():,} cells and {campaign.turns.count():,} turns"
    print(f"opened a campaign of {sizes} in {took:.1f} s")
    return campaign


def fill(collection, config, *, topics: int):  # type: ignore[no-untyped-def]
    from rubricweb.grades.models import Grade
    from rubricweb.grades.store import save_grades
    from tests.factories import RankingFactory, RunFactory, gradable

    rng = random.Random(1)
    bank = gradable(collection, topics=topics, passages=PASSAGES, items=ITEMS)
    runs = RunFactory.create_batch(RUNS, collection=collection)
    for topic in collection.topics.all():
        passages = [pooled.passage for pooled in topic.pool.select_related("passage")]
        for run in runs:
            doc_ids = [passage.doc_id for passage in rng.sample(passages, 100)]
            RankingFactory(run=run, topic=topic, doc_ids=doc_ids)
        items = bank.items.filter(topic=topic).select_related("revision")
        rows = [
            Grade(
                config=config,
                topic=topic,
                revision=item.revision,
                passage=passage,
                rating=rng.choice((0, 0, 1, 3, 4, 5)),
                outcome="numeric",
            )
            for item in items
            for passage in passages
        ]
        save_grades(config, rows)
    return bank


def measure(campaign: Campaign) -> int:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext
    from django.urls import reverse

    from rubricweb.campaigns.models import Turn
    from tests.factories import MembershipFactory

    person = MembershipFactory(collection=campaign.collection, role="assessor").user
    client = Client()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    client.post(reverse("campaigns:queue-next", args=[campaign.collection.slug, campaign.pk]))
    took, worked, queries = [], [], []
    for _ in range(SAVES):
        turn = (
            campaign.turns.filter(person=person, state=Turn.State.LEASED).order_by("taken_at", "pk").first()
        )
        address = reverse("campaigns:queue-cell", args=[campaign.collection.slug, campaign.pk, turn.cell_id])
        body = {"rating": 3, "seen": 0, "uid": uuid4(), "comment": ""}
        with CaptureQueriesContext(connection) as captured:
            started, begun = time.perf_counter(), time.process_time()
            answer = client.post(address, body, headers={"HX-Request": "true"})
            took.append(1000 * (time.perf_counter() - started))
            worked.append(1000 * (time.process_time() - begun))
        queries.append(len(captured))
        connection.queries_log.clear()
        assert answer.status_code == 200, answer.status_code
    assert campaign.turns.filter(person=person, state=Turn.State.SUBMITTED).count() == SAVES
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    print(f"save, and the next cells: p50 {p50:.0f} ms, p95 {p95:.0f} ms (target {TARGET_MS}); {SAVES} saves")
    cpu = statistics.quantiles(worked, n=20)[-1]
    print(f"of it CPU of this process: p50 {statistics.median(worked):.0f} ms, p95 {cpu:.0f} ms")
    print(f"queries: {min(queries)} to {max(queries)} a save")
    return 0 if p95 < TARGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
