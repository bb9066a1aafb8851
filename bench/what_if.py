"""How long a what-if of the bank takes on the server: an item disabled, alone, or weighed otherwise.

Beside it, in the same run: the board computed anew without any cache of scores, as a program would that keeps
nothing between two questions. Both give the same scores, which is checked.

    python bench/what_if.py [SLUG]     # default: demo
"""

# ruff: noqa: E402 - Django comes up before its models are imported
import logging
import os
import statistics
import sys
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")

import django

django.setup()
from rubricweb.core.reader import see_everything

see_everything()

import numpy as np
from django.db import transaction
from django.test import Client

from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.editor.figures import FiguresForm, board_graders, rating_graders
from rubricweb.editor.trial import Setting, trial_of
from rubricweb.grades import scoring
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.matrices import matrices
from rubricweb.grades.selectors import banks_graded_by, items_by_topic

REPEATS = 40
BUDGET_MS = 30


def main() -> None:
    slug = sys.argv[1] if len(sys.argv) > 1 else "demo"
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None:
        known = ", ".join(Collection.objects.values_list("slug", flat=True)) or "none"
        sys.exit(f"bench/what_if.py: no collection {slug}; there are {known}")
    figures = FiguresForm({}, rating_graders(collection))
    config = board_graders(figures, collection)[0]
    bank = banks_graded_by(config, collection)[0]
    topic = collection.topics.filter(items__bank=bank).first()
    items = list(bank.items.active().for_topic(topic).of_kinds(kinds_of(config)))
    measure = figures.measure_by(config)
    print(f"{collection}: {collection.topics.count()} topics, {collection.runs.count()} runs, bank {bank}")
    off = {items[0].pk: Setting(is_on=False, weight=1.0)}
    check(bank, topic, config, measure, off)
    ours = [milliseconds(lambda: trial_of(bank, topic, config, measure, off)) for _ in range(REPEATS)]
    anew = [milliseconds(lambda: whole_board(bank, topic, config, measure, items[0])) for _ in range(9)]
    page = requests(bank, topic, items)
    show("what-if, one item disabled", ours)
    show("the same board computed anew", anew)
    show("the whole request, as the browser sends it", page)
    print(f"ratio: {statistics.median(anew) / statistics.median(ours):.1f} times quicker than anew")
    within = sorted(page)[int(0.95 * len(page))]
    verdict = "kept" if within < BUDGET_MS else "MISSED"
    print(f"95 % of requests take at most {within:.1f} ms; the budget of {BUDGET_MS} ms is {verdict}")


def whole_board(bank: Bank, topic, config, measure, without) -> np.ndarray:
    """Every topic scored again, nothing remembered; pools and matrices stay in memory, as in ours."""
    scoring.topic_scores.cache_clear()
    pool = collection_pool(bank.collection)
    uids = items_by_topic(bank, kinds_of(config))
    rest = bank.items.active().for_topic(topic).of_kinds(kinds_of(config)).exclude(pk=without.pk)
    uids[topic.pk] = tuple(dict.fromkeys(rest.values_list("revision__uid", flat=True)))
    return scoring.score_table(pool, matrices(config, pool), uids, measure).means()


def check(bank: Bank, topic, config, measure, off) -> None:
    item = bank.items.get(pk=next(iter(off)))
    expected = whole_board(bank, topic, config, measure, item)
    by_tag = {row.run_tag: row.score for row in trial_of(bank, topic, config, measure, off).rows}
    found = [by_tag[tag] for tag in collection_pool(bank.collection).run_tags]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def requests(bank: Bank, topic, items) -> list[float]:
    """Disable, solo and weigh each item in turn, through views, templates and middleware."""
    logging.disable(logging.INFO)
    with transaction.atomic():
        client = Client(headers={"hx-request": "true", "host": "localhost"})
        client.force_login(User.objects.create(username="what-if-bench", is_superuser=True), BACKEND)
        address = f"/editor/banks/{bank.pk}/topics/{topic.pk}/trial/"
        pks = [item.pk for item in items]
        everything = {"tried": 1, "on": pks} | {f"weight-{pk}": 1 for pk in pks}
        client.get(address, everything)
        changes = [
            change
            for pk in pks
            for change in (
                {"on": [other for other in pks if other != pk]},
                {"solo": pk},
                {"measure": "weighted_cover", f"weight-{pk}": 0.3},
            )
        ]
        times = [milliseconds(partial(client.get, address, everything | change)) for change in changes]
        transaction.set_rollback(True)
    return times


BACKEND = "django.contrib.auth.backends.ModelBackend"


def milliseconds(work) -> float:
    """Of this process's processor: what else a busy machine does is not counted."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def show(name: str, times: list[float]) -> None:
    print(
        f"{name:44} median {statistics.median(times):6.1f} ms   worst {max(times):6.1f} ms   n = {len(times)}"
    )


if __name__ == "__main__":
    main()
