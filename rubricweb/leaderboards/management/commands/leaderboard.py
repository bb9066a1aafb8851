"""Print the leaderboard of a collection."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from rubricweb.core.reader import OperatorCommand
from rubricweb.leaderboards.board import BoardError, files
from rubricweb.leaderboards.board.files import WRITERS
from rubricweb.leaderboards.command_arguments import (
    add_board_arguments,
    add_label_arguments,
    add_measure_argument,
    board_spec_of,
)


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "Print the leaderboard of a collection: a row a run, best first, and what the board stands on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_label_arguments(parser)
        add_measure_argument(parser)
        add_board_arguments(parser)
        by_topic = ", ".join((*files.PER_TOPIC, f"and their {files.MEASURES}"))
        text = f"json (default), tsv, tex; with a row for each topic {by_topic}"
        parser.add_argument("--format", default="json", help=text)
        parser.add_argument(
            "--json", dest="format", action="store_const", const="json", help="as --format json"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        form = options["format"]
        if form not in WRITERS:
            raise CommandError(f"no format {form!r}; known are {', '.join(WRITERS)}")
        try:
            lines = WRITERS[form].lines(board_spec_of(options))
        except BoardError as error:
            raise CommandError(str(error)) from error
        except BadFormat as error:
            raise CommandError(error.problem) from error
        self.stdout.write("\n".join(lines))
