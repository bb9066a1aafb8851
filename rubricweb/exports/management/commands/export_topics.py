"""Write a collection's topics in any format."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from grading.formats.topics import FORMATS
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing
from rubricweb.exports.corpus import topic_export


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write the topics of the collection SLUG. What the format cannot say is listed on standard error, "
        "topic by topic."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        names = [topic_format.name for topic_format in FORMATS]
        help_text = "default: the format in which the topics came"
        parser.add_argument("--format", default="", choices=names, help=help_text)
        help_text = "default: standard output; .gz compresses"
        parser.add_argument("--out", type=Path, metavar="FILE", help=help_text)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        export = topic_export(collection, options["format"])
        try:
            if options["out"]:
                with writing(options["out"]):
                    export.write(options["out"])
            else:
                self.stdout.write(export.content().decode(), ending="")
        except BadFormat as error:
            raise CommandError(error.problem) from error
        for loss in export.losses:
            self.stderr.write(f"lost: {loss}")
        counted = f"{len(export.topics):,} topics as {export.format_name}, {len(export.losses):,} losses"
        self.stderr.write(counted)
