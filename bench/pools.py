"""How fast is a pool of a track's runs previewed and built, in how much memory, and how do both grow?

    python bench/pools.py [--runs 60] [--topics 54] [--ranks 1000] [--depth 100]

makes collections with a tenth of the topics and with all, each by a process of its own in a new SQLite
database (or one at DATABASE_URL, which must be empty). Beside it: the same union of first ranks over lists in
memory, which any pooling has to make at least. Times are of the processor; memory is what pooling took beyond
the making of the rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEED = 7
AS_A_SERVER = {"RUBRIC_DEBUG": "false", "RUBRIC_SECRET_KEY": "only-for-the-rows-of-this-bench-0123456789"}
"""With RUBRIC_DEBUG Django keeps every statement."""


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default in (("runs", 60), ("topics", 54), ("ranks", 1000), ("depth", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", action="store_true", help="measure these topics in this process")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options)))
        return
    small, large = (apart(options, topics) for topics in (max(options.topics // 10, 1), options.topics))
    times, memory = large["seconds"] / small["seconds"], large["peak"] / small["peak"]
    more = options.topics / max(options.topics // 10, 1)
    print(f"{more:.1f} times the topics: {times:.1f} times the time, {memory:.1f} the memory")


def apart(options: Namespace, topics: int) -> dict[str, float]:
    """In a process and a database of its own."""
    given = [f"--{name}={getattr(options, name)}" for name in ("runs", "ranks", "depth")]
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as folder:
        env = os.environ | {"RUBRIC_DATA_DIR": folder, "RUBRIC_LOG_LEVEL": "ERROR"} | AS_A_SERVER
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=env, check=True)
        command = [sys.executable, __file__, "--only", f"--topics={topics}", *given]
        done = subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{topics} topics, {options.runs} runs of {options.ranks:,} ranks, top {options.depth}: "
        f"{result['added']:,.0f} pooled in {result['seconds']:.2f} s, previewed in {result['preview']:.2f}, "
        f"{result['peak']:.0f} MB; the union alone {result['union']:.2f} s"
    )
    return result


def measure(options: Namespace) -> dict[str, float]:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    sys.path.insert(0, str(ROOT))
    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    from bench._measuring import cpu_seconds, peak_memory
    from rubricweb.corpus.models import Collection
    from rubricweb.corpus.pooling import PoolRule, apply_pool, plan_pool

    lists = make(options)
    made, rule, collection = peak_memory(), PoolRule(options.depth), Collection.objects.get()
    preview = cpu_seconds(lambda: plan_pool(collection, rule))
    built = cpu_seconds(lambda: apply_pool(Collection.objects.get(), rule, by=None))
    least = cpu_seconds(lambda: [{doc for run in runs for doc in run[: options.depth]} for runs in lists])
    from rubricweb.corpus.models import Pooled

    added = Pooled.objects.count()
    peak = peak_memory() - made
    return {"seconds": built, "preview": preview, "union": least, "added": added, "peak": max(peak, 1.0)}


def make(options: Namespace) -> list[list[list[str]]]:
    """The rankings by topic and run, each a random order of the same passages."""
    from random import Random

    from rubricweb.corpus.models import Collection, Passage, Ranking, Run, Topic

    dice = Random(SEED)
    collection = Collection.objects.create(slug="track", name="Track")
    tags = [f"run{number:02}" for number in range(options.runs)]
    runs = Run.objects.bulk_create(Run(collection=collection, run_tag=tag) for tag in tags)
    lists = []
    for number in range(options.topics):
        topic = Topic.objects.create(
            collection=collection, query_id=f"q{number}", text="need", position=number
        )
        ids = [f"q{number}-d{n}" for n in range(3 * options.ranks)]
        Passage.objects.bulk_create(Passage(collection=collection, doc_id=one, text="A text.") for one in ids)
        ranked = [sorted(ids, key=lambda _: dice.random())[: options.ranks] for _ in runs]
        scores = [float(options.ranks - place) for place in range(options.ranks)]
        Ranking.objects.bulk_create(
            Ranking(run=run, topic=topic, doc_ids=doc_ids, scores=scores)
            for run, doc_ids in zip(runs, ranked, strict=True)
        )
        lists.append(ranked)
    return lists


if __name__ == "__main__":
    main()
