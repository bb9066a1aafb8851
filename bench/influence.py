"""Influence at a track's size: the board without each of its 1,080 items, and the other views of the page.

    python bench/influence.py [--profile]

Makes a collection of 60 runs, 54 topics, 11,386 passages and 20 items a topic, and measures each view of the
page in a fresh process: cold (grades from the database, nothing scored yet) and again. Beside it, in the same
run, what one would write first: the whole board computed anew for each item, of which some are timed and the
rest multiplied. Both give the same means, which is checked.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _measuring import peak_memory, seconds

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

REPEATS = 5
ANEW = 12
"""Items of which the whole board is computed anew."""
MEASURES = ("rubric_cover", "alpha_ndcg", "ndcg_cut_10", "map", "bpref")
OF_TREC_EVAL = "infAP"
"""One that trec_eval's own code computes, run by run, as it does what is not in `ranked_labels`."""
BUDGET = 1.0
"""Of our own measures, in seconds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", action="store_true", help="show where the time of the items goes")
    parser.add_argument("--only", choices=("make", *VIEWS, "anew"), help=argparse.SUPPRESS)
    parser.add_argument("--measure", default=MEASURES[0], help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.only == "make":
        make()
    elif wanted.only:
        work = anew if wanted.only == "anew" else view
        print(json.dumps(work(wanted.only, wanted.measure, is_profiled=wanted.profile)))
    else:
        with tempfile.TemporaryDirectory(prefix="rubricweb-bench-") as folder:
            tell(folder, ["--profile"] if wanted.profile else [])


def tell(folder: str, options: list[str]) -> None:
    fresh(folder, "make")
    print("60 runs, 54 topics, 11,386 passages, 1,080 items; seconds")
    slowest = 0.0
    for measure in (*MEASURES, OF_TREC_EVAL):
        for name in VIEWS if measure != OF_TREC_EVAL else ("items",):
            found = fresh(folder, name, "--measure", measure, *options)
            slowest = max(slowest, found["first"] if measure in MEASURES else 0)
            print(
                f"  {measure:<13}{name:<8} reading {found['reading']:6.3f}   then {found['first']:6.3f}"
                f"   again {found['again']:6.3f}   {found['memory']:4.0f} MB"
            )
        if measure == MEASURES[0]:
            plain = fresh(folder, "anew", "--measure", measure)
            ratio = plain["seconds"] / fresh(folder, "items", "--measure", measure)["first"]
            print(
                f"  {measure:<13}board anew for each item {plain['seconds']:.1f}: "
                f"ours is {ratio:.0f} times as fast"
            )
    verdict = "kept" if slowest < BUDGET else "MISSED"
    print(f"the slowest view takes {slowest:.2f} s; the budget of {BUDGET:g} s is {verdict}")


def fresh(folder: str, *arguments: str) -> Any:
    """One part in a process of its own, so that nothing is warm and memory is its own."""
    command = [sys.executable, __file__, "--only", *arguments]
    env = {**os.environ, "RUBRIC_DATA_DIR": folder, "RUBRIC_DEBUG": "false", "RUBRIC_SECRET_KEY": "bench"}
    env.pop("DATABASE_URL", None)
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    print(done.stderr, end="", file=sys.stderr)
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


def up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()


def make() -> None:
    up()
    from _collection import make as made
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    made()


def items(made: Any) -> None:
    from rubricweb.leaderboards.influence.items import item_influences

    item_influences(made)


def pairs(made: Any) -> None:
    from rubricweb.leaderboards.influence.items import pairs

    pairs(made)


def holes(made: Any) -> None:
    from rubricweb.leaderboards.influence.pool import holes

    holes(made)


def teams(made: Any) -> None:
    """Fifteen teams of four runs."""
    from rubricweb.leaderboards.influence.pool import teams_left_out

    tags = made.run_tags
    teams_left_out(made, {tags[start]: tags[start : start + 4] for start in range(0, len(tags), 4)}, depth=20)


VIEWS: dict[str, Callable[[Any], None]] = {"items": items, "pairs": pairs, "holes": holes, "teams": teams}


def view(name: str, measure: str, *, is_profiled: bool) -> dict[str, float]:
    up()
    from _collection import spec

    from rubricweb.corpus.pools import collection_pool
    from rubricweb.grades.matrices import matrices
    from rubricweb.leaderboards.board.certainty import scored_board

    asked = spec(measure)
    reading = seconds(lambda: matrices(asked.config, collection_pool(asked.collection)))
    profile = cProfile.Profile(builtins=True)
    if is_profiled:
        profile.enable()
    first = seconds(lambda: VIEWS[name](scored_board(asked)))
    if is_profiled:
        profile.disable()
        pstats.Stats(profile, stream=sys.stderr).sort_stats("cumulative").print_stats(18)
    again = statistics.median(seconds(lambda: VIEWS[name](scored_board(asked))) for _ in range(REPEATS))
    return {"reading": reading, "first": first, "again": again, "memory": peak_memory()}


def anew(_: str, measure: str, *, is_profiled: bool) -> dict[str, float]:
    """The board without an item, nothing remembered; its means are those that influence stands on."""
    up()
    import numpy as np
    from _collection import spec

    from rubricweb.grades import scoring
    from rubricweb.leaderboards.board.certainty import scored_board
    from rubricweb.leaderboards.influence.items import item_influences

    made = scored_board(spec(measure))
    effects = {row.uid: row.influence for row in item_influences(made).rows}
    every = [(topic, uid) for topic, uids in made.base.items.items() for uid in uids]
    chosen = every[:: len(every) // ANEW][:ANEW]
    times = []
    for topic, left_out in chosen:
        kept = {**made.base.items, topic: [uid for uid in made.base.items[topic] if uid != left_out]}
        scoring.topic_scores.cache_clear()
        start = time.perf_counter()
        means = made.with_items(kept).means
        times.append(time.perf_counter() - start)
        np.testing.assert_allclose((means - made.means).mean(), effects[left_out].mean_change, atol=1e-9)
    return {"seconds": statistics.median(times) * len(every)}


if __name__ == "__main__":
    main()
