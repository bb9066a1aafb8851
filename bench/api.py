"""How fast does a script list a pool of 50,000 passages page by page, and read a page of 10,000 grades?

    python bench/api.py [--rows 50000] [--page 1000]

makes a collection with one topic, one item and so many passages and grades in a new SQLite database (or one
at DATABASE_URL, which must be empty), and asks the API in this process, middlewares, token and JSON included.
Beside it: a plain loop over the same rows as Django has them, one object a row, with `json.dumps`. Bars: the
list in 5 s, the page in 1 s. Exits with 1 where one is missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
AS_A_SERVER = {
    "RUBRIC_DEBUG": "false",
    "RUBRIC_SECRET_KEY": "only-for-the-rows-of-this-bench-0123456789",
    "RUBRIC_ALLOWED_HOSTS": "localhost",
    "RUBRIC_SSL_REDIRECT": "false",
}
"""With RUBRIC_DEBUG Django keeps every statement."""
LIST_BAR, PAGE_BAR = 5.0, 1.0
MOST = 10_000
ROUNDS = 3
AT = "/api/v1/collections/track/"


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--page", type=int, default=1_000)
    parser.add_argument("--only", action="store_true", help="measure in this process")
    options = parser.parse_args()
    if options.only:
        sys.exit(measure(options))
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as folder:
        env = os.environ | {"RUBRIC_DATA_DIR": folder, "RUBRIC_LOG_LEVEL": "ERROR"} | AS_A_SERVER
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=env, check=True)
        given = ["--only", f"--rows={options.rows}", f"--page={options.page}"]
        sys.exit(
            subprocess.run([sys.executable, __file__, *given], cwd=ROOT, env=env, check=False).returncode
        )


def measure(options: Namespace) -> int:
    """Print both, and return 1 where a bar is missed."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    sys.path.insert(0, str(ROOT))
    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    topic, client = make(options.rows)
    pool = f"{AT}topics/{topic.pk}/pool/"
    listed, plain_list = best(lambda: pages(client, pool, options)), best(lambda: plain_pool(topic))
    asked = {"limit": MOST}
    page, plain_page = best(lambda: read(client, f"{AT}grades/", asked)), best(plain_grades)
    print(
        f"{options.rows:,} passages in pages of {options.page:,}: {listed:.2f} s (bar {LIST_BAR:g}); "
        f"a plain loop without pages {plain_list:.2f} s\n"
        f"a page of {MOST:,} grades: {page:.2f} s (bar {PAGE_BAR:g}); a plain loop {plain_page:.2f} s"
    )
    return int(listed > LIST_BAR or page > PAGE_BAR)


def best(work: Callable[[], int]) -> float:
    """Of some rounds: the wall's seconds, as somebody waits for them."""
    from bench._measuring import seconds

    return min(seconds(work) for _ in range(ROUNDS))


def read(client: Any, address: str, asked: dict[str, Any]) -> int:
    answer = client.get(address, asked)
    if answer.status_code != 200:
        raise SystemExit(f"{address} answered {answer.status_code}: {answer.content[:300]!r}")
    return len(json.loads(answer.content)["items"])


def pages(client: Any, address: str, options: Namespace) -> int:
    """Read all pages, one after the other, and return the number of rows."""
    cursor, rows = "", 0
    while cursor is not None:
        page = json.loads(client.get(address, {"limit": options.page, "cursor": cursor}).content)
        cursor, rows = page["next_cursor"], rows + len(page["items"])
    if rows != options.rows:
        raise SystemExit(f"{rows:,} of {options.rows:,} rows were listed")
    return rows


def plain_pool(topic: Any) -> int:
    rows = topic.pool.select_related("passage").order_by("pk")
    return len(
        json.dumps(
            [
                {
                    "id": row.pk,
                    "passage": row.passage_id,
                    "doc_id": row.passage.doc_id,
                    "position": row.position,
                }
                for row in rows
            ]
        )
    )


def plain_grades() -> int:
    from rubricweb.grades.models import Grade

    rows = Grade.objects.select_related("config", "topic", "passage", "revision").order_by("pk")[:MOST]
    return len(
        json.dumps(
            [
                {"id": row.pk, "grader": row.config.fingerprint, "topic": row.topic.query_id}
                | {"doc_id": row.passage.doc_id, "item": row.revision.uid, "rating": row.rating}
                | {"outcome": row.outcome, "answer": row.answer, "confidence": row.confidence}
                | {"expectation": row.expectation, "at": row.at.isoformat()}
                for row in rows
            ]
        )
    )


def make(rows: int) -> tuple[Any, Any]:
    """Return the topic, and a client with the token of an organizer."""
    from rest_framework.test import APIClient

    from grading.formats.ids import item_id
    from rubricweb.accounts.models import User
    from rubricweb.api.base import Rate
    from rubricweb.api.tokens import make_token
    from rubricweb.banks.models import Bank, Item, ItemRevision
    from rubricweb.corpus.models import Collection, Passage, Pooled
    from rubricweb.grades.configs import config_for
    from rubricweb.grades.store import GradeRow, save_grades

    Rate.rate = None
    collection = Collection.objects.create(slug="track", name="Track")
    topic = collection.topics.create(query_id="q0", text="need", position=0)
    passages = Passage.objects.bulk_create(
        (Passage(collection=collection, doc_id=f"q0-d{n}", text="A passage.") for n in range(rows)),
        batch_size=5_000,
    )
    Pooled.objects.bulk_create(
        (Pooled(topic=topic, passage=one, position=place) for place, one in enumerate(passages)),
        batch_size=5_000,
    )
    bank = Bank.objects.create(collection=collection, name="questions")
    wording = ItemRevision.objects.create(topic=topic, uid=item_id("q0", "Which?"), text="Which?")
    Item.objects.create(bank=bank, topic=topic, kind="question", revision=wording, position=0)
    grades = [GradeRow(topic.pk, wording.pk, one.pk, one.pk % 6, "numeric") for one in passages]
    save_grades(config_for("lexical", "lexical", "LexicalBaseline"), grades)
    person = User.objects.create_user("organizer")
    collection.memberships.create(user=person, role="organizer")
    _, text = make_token(person, name="bench", scopes=["read"], days=1)
    return topic, APIClient(headers={"Authorization": f"Bearer {text}"}, SERVER_NAME="localhost")


if __name__ == "__main__":
    main()
