"""Drop replies that are older than the settings of their collections allow, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.grades import replies


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Drop the replies that are older than the settings of the collections SLUG say (of all that keep "
        "replies for a number of days, without one). Workers do the same by themselves, a little at a time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slugs", nargs="*", metavar="SLUG")

    def handle(self, *, slugs: list[str], **options: Any) -> None:  # Any: what argparse parsed, by name
        collection_ids = [collection_named(slug).pk for slug in slugs]
        policies = replies.with_an_end()
        if slugs:
            policies = [policy for policy in policies if policy.collection_id in collection_ids]
        dropping = {policy.collection_id for policy in policies}
        if for_ever := [slug for slug, pk in zip(slugs, collection_ids, strict=True) if pk not in dropping]:
            raise CommandError(f"{', '.join(for_ever)}: replies are kept for ever, see Settings, Replies")
        for policy in policies:
            dropped = 0
            while (step := replies.drop_some(policy)).steps:
                dropped += step.replies
            self.stdout.write(f"{policy.collection.slug}: {dropped:,} replies dropped")
