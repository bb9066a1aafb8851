"""How long a leaderboard takes: cold from the database, warm, and after one item was retired.

Beside it, in the same run: Rubric-Cover by a plain loop over Grade rows read through the ORM, as one would
write it first.

    python bench/leaderboard.py [SLUG]     # default: demo
"""

# ruff: noqa: E402 - Django comes up before its models are imported
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")

import django

django.setup()
from rubricweb.core.reader import see_everything

see_everything()

from django.db import transaction

from grading.types import Purpose
from rubricweb.banks.actions import retire_item
from rubricweb.corpus.models import Collection, Ranking
from rubricweb.grades.models import Grade
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by, scored_graders
from rubricweb.leaderboards.board import lookup, selectors
from rubricweb.leaderboards.board.types import BoardSpec

COLD, REPEATS = "--cold", 9
COVER, QRELS = MeasureSpec(), MeasureSpec("ndcg_cut_10")


def main() -> None:
    slug = next((word for word in sys.argv[1:] if not word.startswith("-")), "demo")
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None:
        known = ", ".join(Collection.objects.values_list("slug", flat=True)) or "none"
        sys.exit(f"bench/leaderboard.py: no collection {slug}; there are {known}")
    cover, qrels = specs(collection)
    if COLD in sys.argv:
        print(seconds(lambda: both(cover, qrels)))
        return
    size = f"{collection.topics.count()} topics, {collection.runs.count()} runs"
    print(f"{slug}: {size}, {lookup.grader_name(cover.config)}")
    cold = [
        float(
            subprocess.run(
                [sys.executable, __file__, slug, COLD], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    both(cover, qrels)
    warm = [seconds(lambda: both(cover, qrels)) for _ in range(REPEATS)]
    retired = [after_retiring(cover, qrels) for _ in range(REPEATS)]
    plain, by_rows = timed(lambda: rows_by_loops(cover))
    ours = {row.run_tag: row.score for row in selectors.board(cover).rows}
    assert all(abs(ours[tag] - score) < 1e-9 for tag, score in by_rows.items()), "the loop disagrees"
    one = statistics.median(seconds(lambda: selectors.board(cover)) for _ in range(REPEATS))
    print(f"Rubric-Cover@20 and Rubric-Qrels ndcg_cut_10, with correlations; median of {REPEATS}, cold of 3")
    print(f"  cold, fresh process   {1000 * statistics.median(cold):8.1f} ms")
    print(f"  warm                  {1000 * statistics.median(warm):8.1f} ms")
    print(f"  one item retired      {1000 * statistics.median(retired):8.1f} ms")
    print("Rubric-Cover@20 alone, the same scores")
    print(f"  plain loop over rows  {1000 * plain:8.1f} ms")
    print(f"  warm board            {1000 * one:8.1f} ms, {plain / one:.0f} times as fast")


def specs(collection: Collection) -> tuple[BoardSpec, BoardSpec]:
    """The two boards of the grader of this collection that graded most."""
    rating = [row for row in scored_graders(collection) if row.config.purpose == Purpose.RATE]
    if not rating:
        sys.exit(f"bench/leaderboard.py: {collection.slug} has no ratings")
    config = max(rating, key=lambda row: row.grades).config
    banks = banks_graded_by(config, collection)
    kinds = lookup.find_kinds(config, "")
    made = [BoardSpec(collection, config, banks[0], kinds, measure) for measure in (COVER, QRELS)]
    return made[0], made[1]


def both(cover: BoardSpec, qrels: BoardSpec) -> None:
    selectors.board(cover)
    selectors.board(qrels)


def after_retiring(cover: BoardSpec, qrels: BoardSpec) -> float:
    """Seconds for both boards after an item is gone; the database is left as it was."""
    try:
        with transaction.atomic():
            item = cover.bank.items.active().of_kinds(cover.kinds).order_by("?").first()
            retire_item(item, seen=item.version, by=None)
            found = seconds(lambda: both(cover, qrels))
            raise _Undo
    except _Undo:
        return found


class _Undo(Exception):
    pass


def rows_by_loops(spec: BoardSpec) -> dict[str, float]:
    """Rubric-Cover@20 from Grade rows, one by one."""
    items = defaultdict(set)
    for item in spec.bank.items.active().of_kinds(spec.kinds):
        items[item.topic_id].add(item.revision_id)
    covers = defaultdict(set)
    for grade in (
        Grade.objects.by(spec.config)
        .select_related("passage")
        .only("topic_id", "revision_id", "rating", "passage__doc_id")
    ):
        if grade.rating is not None and grade.rating >= spec.measure.min_grade:
            covers[grade.topic_id, grade.passage.doc_id].add(grade.revision_id)
    totals = defaultdict(float)
    for ranking in Ranking.objects.filter(run__collection=spec.collection).select_related("run"):
        asked = items[ranking.topic_id]
        if asked:
            top = ranking.doc_ids[: spec.measure.cutoff]
            found = set().union(*(covers[ranking.topic_id, doc_id] for doc_id in top)) & asked
            totals[ranking.run.run_tag] += len(found) / len(asked)
    return {run_tag: total / len(items) for run_tag, total in totals.items()}


def seconds(work) -> float:
    return timed(work)[0]


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
