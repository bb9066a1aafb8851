"""Bring the grades of a collection back from cold storage."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from rubricweb.archives.actions import thaw
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.grades.cold import CannotMove


class Command(OperatorCommand):
    help = "Bring the grades of the collection SLUG back from cold storage into the database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed
        try:
            brought = thaw(collection_named(slug, cold=True), by=None)
        except CannotMove as error:
            raise CommandError(str(error)) from error
        self.stderr.write(f"{slug}: {brought:,} grades are in the database again")
