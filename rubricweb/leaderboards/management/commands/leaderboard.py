"""Print the leaderboard of a collection."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from grading.measures import registry
from rubricweb.leaderboards.board import files, selectors
from rubricweb.leaderboards.board.types import Board, BoardError
from rubricweb.leaderboards.command_arguments import add_board_arguments, add_label_arguments, board_spec_of


class Command(BaseCommand):
    help = "Print the leaderboard of a collection: a row a run, best first, and what the board stands on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_label_arguments(parser)
        parser.add_argument(
            "--measure",
            default=registry.DEFAULT,
            metavar="M",
            help=f"what ranks the runs: cover-4, P_20:5, or any of {registry.known()}",
        )
        add_board_arguments(parser)
        parser.add_argument("--format", default="json", help="json (default), tsv or tex")
        parser.add_argument("--json", action="store_true", help="the same as --format json")

    def handle(self, *args: Any, **options: Any) -> None:
        form = "json" if options["json"] else options["format"]
        if form not in files.FORMATS:
            raise CommandError(f"no format {form!r}; known are {', '.join(files.FORMATS)}")
        try:
            board = selectors.board(board_spec_of(options))
        except BoardError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(_text(board, form))


def _text(board: Board, form: str) -> str:
    lines = {"json": files.json_lines, "tsv": files.tsv_lines, "tex": files.tex_lines}[form]
    return "\n".join(lines(board))
