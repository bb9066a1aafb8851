"""Ask a language model for votes on pairs of answers, beside people's."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.pairwise import LONGEST_REPLY
from rubricweb.arena import actions
from rubricweb.arena.judges.kind import price
from rubricweb.arena.models import JudgeJob
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.writers import first_writer
from rubricweb.jobs.limits import add_limit_arguments, limits_named


class Command(OperatorCommand):
    help = (
        "Have workers ask a language model which of two answers is better, each pair in both orders. It is "
        "asked only about pairs that it has not judged."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--backend", default="", help="such as openai_compatible; default: the grader's")
        parser.add_argument("--llm", default="", metavar="NAME", help="the model; default: the grader's")
        pairs = "; ".join(f"{pairs.value}: {pairs.label}" for pairs in JudgeJob.Pairs)
        parser.add_argument(
            "--pairs",
            type=JudgeJob.Pairs,
            choices=[*JudgeJob.Pairs],
            default=JudgeJob.Pairs.VOTED,
            help=f"{pairs} (default: %(default)s)",
        )
        text = "most tokens of a reply; more for a model that reasons first (default: %(default)s)"
        parser.add_argument("--longest-reply", type=int, default=LONGEST_REPLY, metavar="N", help=text)
        add_limit_arguments(parser)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        writer = first_writer(collection)
        asking = actions.JudgeRequest(
            options["backend"] or writer.backend,
            options["llm"] or writer.llm,
            options["pairs"],
            options["longest_reply"],
        )
        expected = price(collection, asking)
        money = "price unknown" if expected.dollars is None else expected.dollars_words
        calls = f"about {expected.cells:,} calls, {expected.tokens or 0:,} tokens, {money}"
        self.stdout.write(f"{asking.judge.name}: {expected.cells // 2:,} pairs, {calls}")
        if options["price_only"]:
            return
        limits = limits_named(options, expected)
        try:
            job = actions.start_judging(collection, asking, limits=limits, by=None)
        except actions.NothingToJudge as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"started: {job}, at most {job.most_calls:,} calls")
