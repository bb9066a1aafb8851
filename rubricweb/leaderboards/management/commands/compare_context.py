"""Say how runs score alone and in the context of their answers, and grade what that takes."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.formats.tables import tsv_lines
from grading.in_context import WORDS
from rubricweb.core.reader import OperatorCommand
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.price import price
from rubricweb.grades.in_context import CannotGradeInContext
from rubricweb.leaderboards.board import BoardError
from rubricweb.leaderboards.command_arguments import (
    LINES,
    add_board_arguments,
    board_spec_of,
)
from rubricweb.leaderboards.comparison.in_context import Contexts, start_job


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "Compare scores by passages alone with those in the context of their answers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_board_arguments(parser)
        parser.add_argument(
            "--max-words", type=int, default=WORDS, help=f"most words before a passage; 0: all ({WORDS})"
        )
        parser.add_argument("--start", action="store_true", help="grade what lacks; workers do it")
        parser.add_argument("--most-calls", type=int, metavar="N", help="start nothing that takes more calls")
        parser.add_argument("--most-dollars", type=float, metavar="X", help="or costs more")
        parser.add_argument(
            "--format", default="table", choices=("tsv", *LINES), help="%(default)s by default"
        )

    def handle(self, *, max_words: int, **options: Any) -> None:  # Any: what argparse parsed
        try:
            spec = board_spec_of(options)
            contexts = Contexts.of(spec, max_words)
            cost = price(spec.collection, contexts.plan.all, monitor.workers().beats)
            refusal = start_job(spec, max_words, by=None, limits=options) if options["start"] else ""
        except (BoardError, CannotGradeInContext) as error:
            raise CommandError(str(error)) from error
        if refusal and cost.cells:
            raise CommandError(f"Not started. {refusal}")
        graded, total = contexts.pairs
        began = "are being graded" if options["start"] else "are missing"
        self.stderr.write(f"{graded} of {total} pairs have a grade on both sides.")
        if cost.cells:
            self.stderr.write(f"{cost.cells} pairs {began}: {cost.text}.")
        table = contexts.run_table()
        lines = tsv_lines(table.data) if options["format"] == "tsv" else LINES[options["format"]](table)
        for line in lines:
            self.stdout.write(line)
