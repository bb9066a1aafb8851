"""Print the leaderboard of a collection."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from rubricweb.core.reader import OperatorCommand
from rubricweb.leaderboards.board import BoardError
from rubricweb.leaderboards.board.files import FORMATS, OF_RUNS, OF_TOPICS
from rubricweb.leaderboards.command_arguments import (
    add_board_arguments,
    add_json_argument,
    board_spec_of,
)


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "Print the leaderboard of a collection: a row a run, best first, and what the board stands on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_board_arguments(parser)
        of_runs, by_topic = (", ".join(form.name for form in part) for part in (OF_RUNS, OF_TOPICS))
        text = f"{of_runs} (%(default)s); with a row for each topic, or the list of measures: {by_topic}"
        parser.add_argument("--format", default="json", help=text)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["format"] not in FORMATS:
            raise CommandError(f"no format {options['format']!r}; known are {', '.join(FORMATS)}")
        try:
            lines = FORMATS[options["format"]].lines(board_spec_of(options))
        except BoardError as error:
            raise CommandError(str(error)) from error
        except BadFormat as error:
            raise CommandError(error.problem) from error
        self.stdout.write("\n".join(lines))
