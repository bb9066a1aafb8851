"""Print the leaderboard of a collection."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rubricweb.leaderboards import selectors, stating
from rubricweb.leaderboards.arguments import add_label_arguments, spec_of
from rubricweb.leaderboards.errors import BoardError

FORMATS = ("json", "tsv")


class Command(BaseCommand):
    help = "Print the leaderboard of a collection: a row a run, best first, and what the board stands on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_label_arguments(parser)
        parser.add_argument(
            "--measure", default="rubric_cover", metavar="M", help="rubric_cover or a trec_eval measure"
        )
        parser.add_argument(
            "--cutoff", type=int, default=20, help="passages of a run that Rubric-Cover looks at (20)"
        )
        parser.add_argument("--format", default="json", help="json (default) or tsv")
        parser.add_argument("--json", action="store_true", help="the same as --format json")

    def handle(self, *args: Any, **options: Any) -> None:
        form = "json" if options["json"] else options["format"]
        if form not in FORMATS:
            raise CommandError(f"no format {form!r}; known are {', '.join(FORMATS)}")
        try:
            board = selectors.board(spec_of(options, measure=options["measure"], cutoff=options["cutoff"]))
        except BoardError as error:
            raise CommandError(str(error)) from error
        text = json.dumps(stating.document(board), indent=1, allow_nan=False, ensure_ascii=False)
        self.stdout.write(text if form == "json" else "\n".join(stating.tsv_lines(board)))
