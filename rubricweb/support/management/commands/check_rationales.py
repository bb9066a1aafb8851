"""Say how often passages do not hold what graders claim, or ask a model about one grader's claims."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.statistics.calibration import Estimate
from grading.support import LONGEST_REPLY, JudgedCitations
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection
from rubricweb.corpus.writers import first_writer
from rubricweb.jobs.limits import add_limit_arguments, limits_named
from rubricweb.jobs.progress import Price
from rubricweb.support import actions
from rubricweb.support.actions import Asking, NothingToAsk
from rubricweb.support.kind import price
from rubricweb.support.rationales import (
    MOST_SAMPLED,
    SAMPLE,
    CheckedRationales,
    SampledRationales,
    checked_rationales,
    graders_with_rationales,
)


class Command(OperatorCommand):
    help = (
        "Say how often passages of the collection SLUG do not hold what graders' reasons claim;"
        " with --grader, have a model check the reasons of one."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        parser.add_argument("--grader", metavar="ID", help="whose reasons to check, by its id in `graders`")
        parser.add_argument("--sample", type=int, default=SAMPLE, help=f"at random (default: {SAMPLE})")
        parser.add_argument("--backend", default="", help="such as openai_compatible")
        parser.add_argument("--llm", default="", help="the model that checks them")
        parser.add_argument("--longest-reply", type=int, default=LONGEST_REPLY, help="in tokens")
        add_limit_arguments(parser)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        if options["grader"]:
            self._check(collection, options)
            return
        rows = checked_rationales(collection)
        if options["json"]:
            self.stdout.write(json.dumps({"rationales": [row.as_json for row in rows]}))
        else:
            self.stdout.write("\n".join(map(_line, rows)) or "No rationale has been checked.")

    def _check(self, collection: Collection, options: dict[str, Any]) -> None:  # Any: as argparse parsed it
        asking = _asking(collection, options)
        expected = price(collection, asking)
        self.stdout.write(_in_words(asking, expected))
        if options["price_only"]:
            return
        limits = limits_named(options, expected)
        try:
            job = actions.start(collection, asking, limits=limits, by=None)
        except NothingToAsk:
            self.stdout.write("Nothing to ask: this model has labelled all of these claims.")
            return
        self.stdout.write(f"started: {job}, at most {job.most_calls:,} calls")


def _asking(collection: Collection, options: dict[str, Any]) -> Asking:  # Any: as argparse parsed it
    graders = {str(config.pk): config for config in graders_with_rationales(collection)}
    grader = graders.get(options["grader"])
    if grader is None:
        listed = ", ".join(f"{pk} ({config})" for pk, config in graders.items()) or "none"
        raise CommandError(f"no grader {options['grader']} that gave reasons; there are: {listed}")
    if not 1 <= options["sample"] <= MOST_SAMPLED:
        raise CommandError(f"--sample is 1 to {MOST_SAMPLED}, not {options['sample']}")
    own = first_writer(collection)
    return Asking(
        options["backend"] or own.backend,
        options["llm"] or own.llm,
        JudgedCitations.ALL,
        options["longest_reply"],
        SampledRationales(grader, options["sample"]),
    )


def _in_words(asking: Asking, expected: Price) -> str:
    money = "price unknown" if expected.dollars is None else expected.dollars_words
    tokens = f"about {expected.tokens:,} tokens"
    return f"{expected.cells:,} claims to ask {asking.llm} about, {tokens}, {money}"


def _line(row: CheckedRationales) -> str:
    restate = f"{_share(row.restates)} of {row.sample} reasons restate the question"
    checked = f"of the others {row.checked} of {row.asked_about} are checked by {row.judge.llm}"
    shares = f"{_share(row.unsupported)} have a claim not in the passage, {_share(row.partial)} one in part"
    return f"{row.grader}: {restate}; {checked}: {shares}"


def _share(estimate: Estimate) -> str:
    ends = estimate.interval
    return f"{estimate.value:.0%} ({ends.low:.0%} to {ends.high:.0%})" if ends.is_defined else "-"
