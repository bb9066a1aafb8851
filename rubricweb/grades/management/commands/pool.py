"""Show what a pool would hold and cost, or build it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pooling import PoolPlan, PoolRule, RunHoles, apply_pool, stored_rule
from rubricweb.grades.engine import monitor
from rubricweb.grades.pool import PoolPreview, preview_pool


class Command(OperatorCommand):
    help = (
        "Pool judged passages and the first ranks of the accepted runs of SLUG. The rule is kept: runs that "
        "are imported later extend the pool by it. Grades stay; only the new passages are to be graded."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument(
            "--top",
            type=int,
            metavar="K",
            help="how many passages of each run and topic (default: as before)",
        )
        help_text = "another depth for a type of run, such as manual=50; repeatable"
        parser.add_argument("--top-of", action="append", default=[], metavar="TYPE=K", help=help_text)
        parser.add_argument("--runs", nargs="+", default=[], metavar="TAG", help="only of these runs")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what it would add, and change nothing"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        rule = _rule(collection, options["top"], options["top_of"], options["runs"])
        preview = preview_pool(collection, rule, monitor.workers().beats)
        plan = preview.plan if options["dry_run"] else apply_pool(collection, rule, by=None)
        if options["json"]:
            document = {
                "rule": asdict(plan.rule),
                "built": not options["dry_run"],
                "passages": plan.added,
                "topics": plan.growing,
                "without_text": plan.textless,
                "cost": asdict(preview.price),
                "runs": [asdict(run) for run in plan.runs],
            }
            self.stdout.write(json.dumps(document))
        else:
            self.stdout.write("\n".join(_lines(plan, preview, is_built=not options["dry_run"])))


def _rule(collection: Collection, top: int | None, top_of: list[str], runs: list[str]) -> PoolRule:
    if top is None:
        rule = stored_rule(collection)
        if rule is None or top_of or runs:
            raise CommandError("how deep? Give --top K")
        return rule
    depths = dict(_depth(given) for given in top_of)
    if top < 0 or not (top or depths):
        raise CommandError(f"--top is {top}, expected at least 1")
    run_tags = set(collection.runs.accepted().values_list("run_tag", flat=True))
    if unknown := [tag for tag in runs if tag not in run_tags]:
        raise CommandError(f"no accepted run {', '.join(unknown)}")
    return PoolRule(top, depths, tuple(runs))


def _depth(given: str) -> tuple[str, int]:
    name, _, depth = given.partition("=")
    if name not in filter(None, Run.Type.values) or not depth.isdecimal():
        types = " or ".join(filter(None, Run.Type.values))
        raise CommandError(f"--top-of {given}: expected {types}, = and a depth")
    return name, int(depth)


def _lines(plan: PoolPlan, preview: PoolPreview, *, is_built: bool) -> list[str]:
    cost, verb = preview.price, "Added" if is_built else "Would add"
    lines = [f"{verb} {plan.added:,} passages to the pools of {plan.growing:,} topics ({plan.rule.text})."]
    if plan.textless:
        lines.append(f"{plan.textless:,} more have no text: import them with import_collection --passages.")
    money = "" if cost.dollars is None else f", about ${cost.dollars:,.2f}"
    tokens = "" if cost.tokens is None else f", about {cost.tokens:,} input tokens"
    time = cost.seconds_words or "unknown, this grader has not been measured yet"
    lines.append(f"{cost.cells:,} new cells to grade{tokens}{money}. Time: {time}.")
    return [*lines, *map(_holes, plan.runs)]


def _holes(run: RunHoles) -> str:
    first = f"{run.run_tag}: {run.ranked:,} passages in its top {run.depth}"
    return f"{first}; in no pool: {run.before:,} before, {run.after:,} after"
