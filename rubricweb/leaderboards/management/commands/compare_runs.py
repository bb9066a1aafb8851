"""Say in one sentence how two runs of a leaderboard differ."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from rubricweb.core.reader import OperatorCommand
from rubricweb.leaderboards.board import BoardError
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.command_arguments import (
    add_board_arguments,
    add_json_argument,
    board_spec_of,
)
from rubricweb.leaderboards.comparison import UnknownRun, compare, document

FORMATS = ("sentence", "tex", "json")


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "Say in one sentence how two runs of a leaderboard differ: by how much, and how surely."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_board_arguments(parser)
        parser.add_argument("first", metavar="A", help="the name of a run")
        parser.add_argument("second", metavar="B", help="the name of another")
        parser.add_argument("--format", default=FORMATS[0], choices=FORMATS, help="%(default)s by default")
        add_json_argument(parser)

    def handle(self, *, first: str, second: str, **options: Any) -> None:  # Any: what argparse parsed
        try:
            match_ = compare(scored_board(board_spec_of(options)), first, second)
        except (BoardError, UnknownRun) as error:
            raise CommandError(str(error)) from error
        comparison_document = document(match_)
        text = (
            json.dumps(comparison_document, indent=1)
            if options["format"] == "json"
            else comparison_document[options["format"]]
        )
        self.stdout.write(str(text))
