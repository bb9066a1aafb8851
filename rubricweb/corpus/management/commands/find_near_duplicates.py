"""`rubricweb find_near_duplicates SLUG`: mark the near-duplicates among a collection's passages."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management import CommandError
from django.template.defaultfilters import pluralize

from grading.near_duplicates import THRESHOLD
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus import command_arguments, duplicates


class Command(OperatorCommand):
    help = "Mark near-duplicates among the passages, by MinHash LSH over shingles of nine words."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument(
            "--threshold",
            type=float,
            default=THRESHOLD,
            metavar="J",
            help=f"Jaccard similarity of shingles from which on passages are near-duplicates ({THRESHOLD:g})",
        )

    def handle(self, *, slug: str, threshold: float, **options: object) -> None:
        if not 0 < threshold <= 1:
            raise CommandError(f"--threshold is {threshold:g}, expected above 0 and at most 1")
        collection = command_arguments.collection_named(slug)
        search = duplicates.search_now(collection, threshold=threshold, by=None)
        marked, groups = search.members.count(), f"{search.groups:,} group{pluralize(search.groups)}"
        self.stdout.write(f"{marked:,} of {search.passages:,} passages have near-duplicates, in {groups}.")
