#!/usr/bin/env python
"""A language model votes on the demo's battles: how often a verdict flips, and how far it agrees.

    RUBRIC_DATA_DIR=FOLDER python bench/judges.py [--llm NAME] [--backend NAME]

FOLDER is that of a demo that runs (`make demo`), whose worker does the job, on the pairs that have votes.
The demo's people are made up: they prefer runs by a fixed quality of each and some chance, so that agreement
with them says whether a model sees that quality, and nothing of real people. Beside it stands what a vote at
random would agree on with the same shares of verdicts, which is what kappa takes off.
"""

# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import django

django.setup()

from django.db.models import Sum

from grading.graders.hf_model import SMOLLM2
from rubricweb.arena import actions
from rubricweb.arena.actions import JudgeRequest, NothingToJudge
from rubricweb.arena.judges.views import JudgeRow, beside_people
from rubricweb.arena.models import JudgedPair, JudgeJob, Vote
from rubricweb.core.reader import everything
from rubricweb.corpus.models import Collection
from rubricweb.jobs.limits import Limits


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--llm", default=SMOLLM2)
    parser.add_argument("--backend", default="hf_causal")
    options = parser.parse_args()
    voted = Vote.objects.exclude(battle__topic=None).values("battle__collection")
    collection = Collection.objects.filter(pk__in=voted)[0]
    asking = JudgeRequest(options.backend, options.llm)
    with suppress(NothingToJudge):  # a job that began before is waited for, too
        actions.start_judging(collection, asking, limits=Limits(10_000), by=None)
    while left := asking.judge.pairs(collection).filter(state__in=JudgedPair.LIVE).count():
        print(f"{left} pairs are left", file=sys.stderr)
        time.sleep(20)
    jobs = JudgeJob.objects.filter(collection=collection, llm=options.llm)
    seconds = JudgedPair.objects.filter(job__in=jobs).aggregate(all=Sum("seconds"))["all"]
    calls = sum(job.calls for job in jobs)
    print(f"{calls} calls, {seconds / max(1, calls):.1f} s a call")
    with everything():
        beside = beside_people(collection)
    same = beside.board.agreement
    print(f"people: {beside.board.votes} votes; two on one pair agree {same.same:.0%} ({same.pairs} pairs)")
    for row in beside.judges:
        report(row)


def report(row: JudgeRow) -> None:
    votes = row.votes
    print(f"{votes.name}: {len(votes.votes)} votes, {votes.failed} failed")
    if votes.flip_rate is not None:
        print(f"  flipped {votes.flip_rate:.0%} of {votes.pairs}; the first won {votes.for_first} of these")
    if row.agreement:
        one, ends = row.agreement.same.value, row.agreement.same.interval
        chance = (one - row.agreement.kappa) / (1 - row.agreement.kappa)
        kappa, of_kappa = row.agreement.kappa, row.agreement.kappa_interval
        print(f"  people agree on {one:.0%} ({ends.low:.0%} to {ends.high:.0%}), chance {chance:.0%}")
        print(f"  kappa {kappa:.2f} ({of_kappa.low:.2f} to {of_kappa.high:.2f})")
    if row.tau.value is not None:
        print(f"  tau of the strengths {row.tau.value:.2f} over {row.tau.n} runs")
    if row.rubric and row.rubric.decided:
        share = row.rubric.same_side
        print(f"  the rubric agrees with {share.value:.0%} of {row.rubric.decided} decided votes")


if __name__ == "__main__":
    main()
