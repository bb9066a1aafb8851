"""Write the pools of a collection with judgments and grades as the Workbench's graded file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from grading.formats.graded import encoded, write_graded
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing
from rubricweb.exports.workbench import LOSSES, graded_lines
from rubricweb.grades.visibility import hidden_count, reading_for_everybody


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write the passages of the collection SLUG with judgments and the grades of active items, a topic "
        "a line, as the RUBRIC Workbench reads them. Ratings that an assessor may not see yet are left out. "
        "What the file cannot say is listed on standard error."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--rankings", action="store_true", help="with the rankings of the runs")
        help_text = "default: standard output; .gz compresses"
        parser.add_argument("--out", type=Path, metavar="FILE", help=help_text)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        with reading_for_everybody():
            lines = graded_lines(collection, has_rankings=options["rankings"])
            if options["out"]:
                with writing(options["out"]):
                    write_graded(options["out"], lines)
            else:
                for line in lines:
                    self.stdout.write(encoded(line).decode())
            hidden = hidden_count(collection.pk)
        for loss in LOSSES if options["rankings"] else (*LOSSES, "the rankings of the runs"):
            self.stderr.write(f"lost: {loss}")
        if hidden:
            self.stderr.write(f"left out: {hidden:,} cells of open campaigns that people have still to rate")
