"""Print the leaderboard of a collection."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from rubricweb.core.reader import OperatorCommand
from rubricweb.leaderboards.board import files, selectors, values
from rubricweb.leaderboards.board.types import BoardError, BoardSpec
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
        by_topic = ", ".join((*values.FORMATS, f"and their {values.MEASURES}"))
        words = f"json (default), tsv, tex; with a row for each topic {by_topic}"
        parser.add_argument("--format", default="json", help=words)
        parser.add_argument("--json", action="store_true", help="the same as --format json")

    def handle(self, *args: Any, **options: Any) -> None:
        form = "json" if options["json"] else options["format"]
        known = (*files.FORMATS, *values.FORMATS, values.MEASURES)
        if form not in known:
            raise CommandError(f"no format {form!r}; known are {', '.join(known)}")
        try:
            lines = _lines(board_spec_of(options), form)
        except BoardError as error:
            raise CommandError(str(error)) from error
        except BadFormat as error:
            raise CommandError(error.problem) from error
        self.stdout.write("\n".join(lines))


def _lines(spec: BoardSpec, form: str) -> list[str]:
    if form == values.MEASURES:
        return values.measures_lines(spec)
    if form in values.FORMATS:
        return values.lines(spec, form)
    lines = {"json": files.json_lines, "tsv": files.tsv_lines, "tex": files.tex_lines}[form]
    return lines(selectors.board(spec))
