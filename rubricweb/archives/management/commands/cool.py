"""Put the grades of a collection into cold storage."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from rubricweb.archives.actions import cool
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.grades.cold import CannotMove, folder_of


class Command(OperatorCommand):
    help = (
        "Move the grades of the collection SLUG to Parquet files in the data folder. Its leaderboards stay, "
        "and comparisons; everything else of it is closed until `thaw` brings the grades back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed
        collection = collection_named(slug, cold=True)
        try:
            moved = cool(collection, by=None)
        except CannotMove as error:
            raise CommandError(str(error)) from error
        folder = folder_of(collection.pk)
        size = sum(file.stat().st_size for file in folder.glob("*.parquet"))
        self.stderr.write(f"{slug}: {moved:,} grades in {folder}, {size:,} bytes")
