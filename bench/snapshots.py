"""A board in a fresh process, from rows of grades and from snapshots, side by side.

    python bench/snapshots.py [--times 1,10,100]

Collections as `bench/leaderboard_full.py` makes them: once 227,720 grades, 60 runs. Hundred times as many
(540 topics with pools of 2,109 passages, 22.8 million cells) have snapshots only, made directly, since rows
would take an hour. Reading and board are seconds of the processor beyond the start of a web process, memory
is the peak of that process in MB.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _measuring import peak_memory

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection
    from rubricweb.corpus.topic_pools import TopicPool

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

REPEATS = 3
DIRECTLY = 100
"""So many times as many cells get no rows."""
TOPICS, PASSAGES, RUNS, ITEMS, DEPTH = 540, 2_109, 60, 20, 100
STEPS = ("reading", "board", "wall", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", default="1,10,100")
    parser.add_argument("--only", choices=("make", "fill", "keep", "measure"), help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.only:
        up()
        print(json.dumps(globals()[wanted.only](int(wanted.times))))
        return
    for times in map(int, wanted.times.split(",")):
        with tempfile.TemporaryDirectory(prefix="rubricweb-bench-") as folder:
            compare(times, folder)


def compare(times: int, folder: str) -> None:
    found = {}
    if times < DIRECTLY:
        fresh("make", times, folder)
        found["rows"] = measured(times, folder)
        kept = fresh("keep", times, folder)
    else:
        kept = fresh("fill", times, folder)
    found["snapshots"] = measured(times, folder)
    size = f"{kept['cells']:,} cells, snapshots of {kept['bytes'] / 1e6:.1f} MB"
    print(f"{times} x: {size}, made: {kept['made']}")
    print(f"  {'':<12}" + "".join(f"{step:>12}" for step in STEPS))
    for source, numbers in found.items():
        print(f"  {source:<12}" + "".join(f"{numbers[step]:>12.3f}" for step in STEPS))


def measured(times: int, folder: str) -> dict[str, float]:
    """The medians of fresh processes."""
    took = [fresh("measure", times, folder) for _ in range(REPEATS)]
    return {step: statistics.median(one[step] for one in took) for step in STEPS}


def fresh(work: str, times: int, folder: str) -> Any:  # whatever the part prints as JSON
    command = [sys.executable, __file__, "--only", work, "--times", str(times)]
    env = {**os.environ, "RUBRIC_DATA_DIR": folder, "RUBRIC_DEBUG": "false", "RUBRIC_SECRET_KEY": "bench"}
    env.pop("DATABASE_URL", None)
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    import django
    from django.core.management import call_command

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    call_command("migrate", verbosity=0)


def make(times: int) -> None:
    from _collection import make as made

    made(times)


def keep(times: int) -> dict[str, Any]:
    """As workers do, until nothing is left."""
    from rubricweb.corpus import pools
    from rubricweb.grades import matrices

    started = time.process_time()
    pools.keep_snapshots()
    pools.keep_snapshots()
    while matrices.out_of_date():
        matrices.keep_snapshots()
    return {"made": f"{time.process_time() - started:.2f} s of a worker", **sizes()}


def sizes() -> dict[str, int]:
    from django.db.models import Sum
    from django.db.models.functions import Length

    from rubricweb.corpus.derived_models import PoolSnapshot
    from rubricweb.grades.models import MatrixSnapshot, MatrixStamp

    bytes_of = [
        model.objects.aggregate(sum=Sum(Length("content")))["sum"] for model in (PoolSnapshot, MatrixSnapshot)
    ]
    return {"bytes": sum(bytes_of), "cells": MatrixStamp.objects.aggregate(sum=Sum("grades"))["sum"]}


def measure(times: int) -> dict[str, float]:
    """The first board of a web process that has started, and how much of it is reading."""
    from grading.types import ItemKind
    from rubricweb.banks.models import Bank
    from rubricweb.corpus.pools import collection_pool
    from rubricweb.grades.configs import config_for
    from rubricweb.grades.matrices import matrices
    from rubricweb.grades.scoring import MeasureSpec
    from rubricweb.leaderboards.board import selectors
    from rubricweb.leaderboards.board.types import BoardSpec

    import_module("rubricweb.asgi")
    bank = Bank.objects.select_related("collection").get()
    config = config_for("lexical", "lexical", "LexicalBaseline")
    board = BoardSpec(bank.collection, config, bank, frozenset({ItemKind.QUESTION}), MeasureSpec())
    began, started = time.perf_counter(), time.process_time()
    matrices(board.config, collection_pool(board.collection))
    reading = time.process_time() - started
    selectors.board(board)
    wall = time.perf_counter() - began
    return {
        "reading": reading,
        "board": time.process_time() - started,
        "wall": wall,
        "memory": peak_memory(),
    }


def fill(times: int) -> dict[str, Any]:
    """Topics, items, runs and stamps, and of all else the snapshots only."""
    import numpy as np

    from rubricweb.banks.models import Bank
    from rubricweb.corpus import pool_snapshots
    from rubricweb.corpus.models import Collection, Run
    from rubricweb.corpus.topic_pools import CollectionPool
    from rubricweb.grades.configs import config_for

    random = np.random.default_rng(7)
    collection = Collection.objects.create(slug="track", name="Track")
    bank = Bank.objects.create(collection=collection, name="questions")
    config = config_for("lexical", "lexical", "LexicalBaseline")
    runs = Run.objects.bulk_create(Run(collection=collection, run_tag=f"run{n:02}") for n in range(RUNS))
    pools = [filled(collection, bank, config, number, random) for number in range(TOPICS)]
    tags, pks = tuple(run.run_tag for run in runs), tuple(run.pk for run in runs)
    pool = CollectionPool(collection.pk, collection.stamp, tags, pks, tuple(pools))
    pool_snapshots.keep(pool, dict.fromkeys(pool.by_topic, 0))
    return {"made": "directly", **sizes()}


def filled(collection: Collection, bank: Any, config: Any, number: int, random: Any) -> TopicPool:
    """One topic with its items and ratings; its passages have keys, but no rows."""
    import numpy as np

    from grading.formats.ids import item_id
    from rubricweb.banks.models import Item, ItemRevision
    from rubricweb.corpus.topic_pools import TopicJudgments, TopicPool, TopicRankings
    from rubricweb.grades import matrices
    from rubricweb.grades.models import MatrixStamp

    topic = collection.topics.create(query_id=f"q{number}", text=f"need {number}", position=number)
    texts = [f"Question {place} of need {number}?" for place in range(ITEMS)]
    wordings = ItemRevision.objects.bulk_create(
        ItemRevision(topic=topic, uid=item_id(topic.query_id, text), text=text) for text in texts
    )
    Item.objects.bulk_create(
        Item(bank=bank, topic=topic, kind="question", revision=wording, position=place)
        for place, wording in enumerate(wordings)
    )
    worth = random.beta(1, 4, PASSAGES)
    ratings = random.binomial(5, worth[:, np.newaxis] * random.uniform(0.2, 1, ITEMS)).astype(np.int8)
    stamp = MatrixStamp.objects.create(config=config, topic=topic, grades=ratings.size)
    pks = np.arange(PASSAGES) + 1 + number * PASSAGES
    revisions = np.array([wording.pk for wording in wordings])
    known = matrices.TopicRatings(revisions, pks, ratings)
    matrices.keep(config.pk, [(topic.pk, stamp.number, known)])
    guesses = worth * (1 - np.arange(RUNS) / RUNS)[:, np.newaxis] + random.normal(0, 0.15, (RUNS, PASSAGES))
    rows = np.argsort(-guesses, axis=1)[:, :DEPTH].astype(np.int32)
    scores = np.take_along_axis(guesses, rows, axis=1).round(6)
    doc_ids = tuple(f"q{number}-d{place}" for place in range(PASSAGES))
    judged = TopicJudgments(np.arange(PASSAGES, dtype=np.int32), (3 * worth).astype(np.int32), ())
    rankings = TopicRankings(rows, (), np.full(RUNS, DEPTH, dtype=np.int32), scores)
    return TopicPool(topic.pk, topic.query_id, tuple(pks.tolist()), doc_ids, rankings, judged)


if __name__ == "__main__":
    main()
