"""Move long replies out of the rows of their grades, into blocks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection
from rubricweb.grades.replies import pack_some

ON_THEIR_WAY = timedelta(hours=1)
"""Age up to which grades with lower keys may not be committed yet: they are left for the next time."""


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Move the long replies of earlier versions, archives and slow graders into compressed blocks, in the "
        "collections SLUG (all without one). People can work meanwhile; stopped, it goes on where it ended."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slugs", nargs="*", metavar="SLUG")

    def handle(self, *, slugs: list[str], **options: Any) -> None:  # Any: what argparse parsed, by name
        collections = [collection_named(slug) for slug in slugs] or list(Collection.objects.order_by("slug"))
        before = timezone.now() - ON_THEIR_WAY
        for collection in collections:
            moved = 0
            while (step := pack_some(collection, before=before)).looked_at:
                moved += step.moved
            self.stdout.write(f"{collection.slug}: {moved:,} replies moved")
