"""Write a collection's passages as JSON lines."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.formats.passages import passage_lines, write_passages
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing
from rubricweb.exports.corpus import NotSearched, passages_of


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write the passages of the collection SLUG, a JSON object a line, with title, address, headings and "
        "their places in documents, as `import_collection --passages` and `index_corpus` read them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument(
            "--deduplicated",
            action="store_true",
            help="of near-duplicates that find_near_duplicates has marked only the first by id",
        )
        help_text = "default: standard output; .gz compresses"
        parser.add_argument("--out", type=Path, metavar="FILE", help=help_text)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        try:
            entries = passages_of(collection, has_duplicates=not options["deduplicated"])
        except NotSearched as error:
            raise CommandError(f"{error} Run find_near_duplicates {slug} first.") from error
        if options["out"]:
            with writing(options["out"]):
                write_passages(options["out"], entries)
        else:
            for line in passage_lines(entries):
                self.stdout.write(line.decode(), ending="")
