"""A full board of a track's size: every number that the page shows, with 10,000 bootstrap resamples.

    python bench/leaderboard_full.py [--times 1,10]

Makes a collection of 60 runs, 54 topics, 11,386 passages and 20 items a topic (--times: as many times the
topics and passages), and measures in fresh processes: cold from the database, warm, after one item was
retired, what retiring an item would change, and memory. The board has the seven RAG'24 measures. Beside it,
in the same run, what one would write first: dictionaries of grades, sets, and a loop for each resample.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _measuring import peak_memory, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rubricweb.corpus.models import Collection
    from rubricweb.leaderboards.board.types import BoardSpec

    ItemsByTopic = Mapping[int, tuple[str, ...]]

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

REPEATS = 7
BUDGETS = {"cold": 1.0, "warm": 0.150, "what_if": 0.050, "memory": 300.0}
PLAIN_RESAMPLES = 500
"""The plain loop would take too long for all 10,000; its time is multiplied."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", default="1,10")
    parser.add_argument("--only", choices=("make", "ours", "plain"), help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.only:
        print(json.dumps(WORK[wanted.only](int(wanted.times))))
        return
    found = {}
    for times in map(int, wanted.times.split(",")):
        with tempfile.TemporaryDirectory(prefix="rubricweb-bench-") as folder:
            fresh("make", times, folder)
            found[times] = fresh("ours", times, folder)
            tell(times, found[times], fresh("plain", times, folder) if times == 1 else None)
    if {1, 10} <= set(found):
        names = ("cold", "processor", "warm", "what_if", "memory")
        growth = {name: found[10][name] / found[1][name] for name in names}
        print("growth from 1 to 10: " + ", ".join(f"{name} {ratio:.1f}" for name, ratio in growth.items()))


def fresh(work: str, times: int, folder: str) -> Any:
    """One part in a process of its own, so that nothing is warm and memory is its own."""
    command = [sys.executable, __file__, "--only", work, "--times", str(times)]
    env = {**os.environ, "RUBRIC_DATA_DIR": folder, "RUBRIC_DEBUG": "false", "RUBRIC_SECRET_KEY": "bench"}
    env.pop("DATABASE_URL", None)
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def tell(times: int, ours: dict[str, float], plain: dict[str, float] | None) -> None:
    print(f"{times} x: {ours['size']}; median of {REPEATS}")
    units = {"cold": "s", "warm": "s", "what_if": "s", "memory": "MB"}
    for name, unit in units.items():
        budget = f"  budget {BUDGETS[name]:g} {unit}" if times == 1 else ""
        print(f"  {name.replace('_', '-'):<24}{ours[name]:9.3f} {unit}{budget}")
    print(f"  {'after retiring an item':<24}{ours['retired']:9.3f} s")
    print(f"  {'of cold: reading rows':<24}{ours['reading']:9.3f} s")
    print(f"  {'cold, processor time':<24}{ours['processor']:9.3f} s (the machine may be busy)")
    if plain:
        whole = plain["read"] + plain["score"] + plain["bootstrap"]
        print(f"  plain loops, {plain['memory']:.0f} MB: reading {plain['read']:.2f} s, Rubric-Cover")
        print(f"    {plain['score']:.2f} s, its bootstrap {plain['bootstrap']:.1f} s")
        print(f"  ours is {whole / ours['cold']:.0f} times as fast cold, with seven measures instead of one")


def make(times: int) -> dict[str, int]:
    from _collection import make as made
    from django.core.management import call_command

    up()
    call_command("migrate", verbosity=0)
    return {"collection": made(times).pk}


def up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()


def ours(times: int) -> dict[str, Any]:
    up()
    from rubricweb.corpus.models import Collection
    from rubricweb.leaderboards.board import scores, selectors

    collection = Collection.objects.get()
    spec = board_spec()
    found: dict[str, Any] = cold(spec)
    found["warm"] = statistics.median(seconds(lambda: selectors.board(spec)) for _ in range(REPEATS))
    items = scores.basis(spec).items
    topics = list(items)[:REPEATS]
    found["what_if"] = statistics.median(
        seconds(lambda at=at: retired_only(spec, items, at)) for at in topics
    )
    found["retired"] = statistics.median(after_retiring(spec) for _ in range(REPEATS))
    return found | {"memory": peak_memory(), "size": size_of(collection, sum(map(len, items.values())))}


def board_spec() -> BoardSpec:
    from _collection import spec

    from grading.measures.registry import RAG24
    from rubricweb.leaderboards.board import lookup

    return lookup.with_columns(spec("rubric_cover"), ",".join(RAG24.measures))


def cold(spec: BoardSpec) -> dict[str, float]:
    """The first board of this process, and how much of it is reading."""
    from rubricweb.corpus.pools import collection_pool
    from rubricweb.grades.matrices import matrices
    from rubricweb.leaderboards.board import selectors

    started = time.process_time()
    reading = seconds(lambda: matrices(spec.config, collection_pool(spec.collection)))
    whole = reading + seconds(lambda: selectors.board(spec))
    return {"reading": reading, "cold": whole, "processor": time.process_time() - started}


def retired_only(spec: BoardSpec, items: ItemsByTopic, topic: int) -> None:
    """The ranks without the topic's first item; nothing is written."""
    from grading.statistics.influence import ranks
    from rubricweb.corpus.pools import collection_pool
    from rubricweb.grades.matrices import matrices
    from rubricweb.grades.scoring import score_table

    pool = collection_pool(spec.collection)
    changed = {**items, topic: items[topic][1:]}
    ranks(score_table(pool, matrices(spec.config, pool), changed, spec.measure).means())


def after_retiring(spec: BoardSpec) -> float:
    """The board after some item was retired, which is taken back."""
    from django.db import transaction

    from rubricweb.banks.actions import retire_item
    from rubricweb.leaderboards.board import selectors

    with transaction.atomic():
        item = spec.bank.items.active().order_by("?").first()
        retire_item(item, seen=item.version, by=None)
        found = seconds(lambda: selectors.board(spec))
        transaction.set_rollback(True)
    return found


def size_of(collection: Collection, items: int) -> str:
    return (
        f"{collection.runs.count()} runs, {collection.topics.count()} topics, "
        f"{collection.passages.count():,} passages, {items:,} items"
    )


def plain(times: int) -> dict[str, float]:
    """Rubric-Cover@20 and its bootstrap intervals from rows in dictionaries."""
    up()
    from rubricweb.banks.models import Item
    from rubricweb.corpus.models import Ranking
    from rubricweb.grades.models import Grade

    covers: dict[tuple[int, str], set[int]] = defaultdict(set)
    asked: dict[int, set[int]] = defaultdict(set)

    def read() -> None:
        for topic, revision in Item.objects.values_list("topic_id", "revision_id"):
            asked[topic].add(revision)
        rows = Grade.objects.values_list("topic_id", "passage__doc_id", "revision_id", "rating")
        for topic, doc_id, revision, rating in rows:
            if rating >= 4:
                covers[topic, doc_id].add(revision)

    scores: dict[str, list[float]] = defaultdict(list)

    def score() -> None:
        for ranking in Ranking.objects.select_related("run"):
            found = set().union(*(covers[ranking.topic_id, doc_id] for doc_id in ranking.doc_ids[:20]))
            scores[ranking.run.run_tag].append(len(found) / len(asked[ranking.topic_id]))

    def bootstrap() -> None:
        for values in scores.values():
            means = sorted(
                sum(random.choices(values, k=len(values))) / len(values) for _ in range(PLAIN_RESAMPLES)
            )
            means[len(means) // 40], means[-len(means) // 40]

    return {
        "read": seconds(read),
        "score": seconds(score),
        "bootstrap": seconds(bootstrap) * 10_000 / PLAIN_RESAMPLES,
        "memory": peak_memory(),
    }


WORK: dict[str, Callable[[int], Any]] = {"make": make, "ours": ours, "plain": plain}


if __name__ == "__main__":
    main()
