"""`rubricweb publish_board SLUG --llm L --prompt-class C`: a leaderboard that anybody with the link reads."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.statistics.max_t import PairedTest
from grading.types import TrecEval
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import add_server_argument, link
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.scoring import Definition
from rubricweb.leaderboards import actions
from rubricweb.leaderboards.board import BoardError, BoardSpec, MissingTopic
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.command_arguments import (
    Options,
    add_board_arguments,
    board_spec_of,
)
from rubricweb.leaderboards.forms import BoardForm

NAMED_ALIKE = (
    *("kind", "measure", "min_grade", "mode", "min_answers", "cutoff", "columns", "relevant"),
    *("trec_eval", "definition", "missing", "test", "topics", "topic", "task", "runs"),
)
OPTIONS = {**{name: name for name in NAMED_ALIKE}, "source": "ratings", "facet": "subtopic"}
"""By the name of a control in a board's address: the option."""
DEFAULTS = {
    "source": RatingSource.GRADER,
    "trec_eval": TrecEval.NINE,
    "definition": Definition.PAPERS,
    "missing": MissingTopic.ZERO,
    "test": PairedTest.SIGN_FLIPS,
}
"""Choices that an address leaves empty."""


class Command(OperatorCommand):
    help = "Publish a leaderboard of the collection, and print the link with which anybody can read it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_board_arguments(parser)
        parser.add_argument(
            "--title", default="", help="shown above the board (Leaderboard of the collection)"
        )
        text = "the board as it is now, unchanged for ever; default: the current board, whenever it is read"
        parser.add_argument("--frozen", action="store_true", help=text)
        text = "hide the names of runs: each gets a pseudonym that stays the same"
        parser.add_argument("--anonymous", action="store_true", help=text)
        add_server_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        publish = actions.freeze_board if options["frozen"] else actions.publish_board
        try:
            spec = board_spec_of(options)
            board = publish(
                spec.collection,
                title=options["title"] or f"Leaderboard of {spec.collection}",
                query=_query(spec, options),
                is_anonymous=options["anonymous"],
                by=None,
            )
        except BoardError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(link(options["server"], board.get_absolute_url()))


def _query(spec: BoardSpec, options: Options) -> str:
    """Return the board as the tail of an address. Raises BoardError for what the form of the page refuses."""
    values = {field: options[option] for field, option in OPTIONS.items()}
    values |= {field: "" for field, default in DEFAULTS.items() if values[field] == default}
    values |= {
        "grader": spec.config.pk,
        "bank": spec.bank and spec.bank.pk,
        "version": spec.version and spec.version.pk,
        "units": "subtopics" if spec.by_subtopic else "",
    }
    form = BoardForm(values, collection=spec.collection)
    if not form.is_valid():
        problems = [f"{name}: {problem}" for name, listed in form.errors.items() for problem in listed]
        raise BoardError("board", " ".join(problems))
    return query_of(form)
