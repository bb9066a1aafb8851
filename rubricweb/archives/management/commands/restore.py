"""Make a collection of an archive."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from grading.errors import BadFormat
from rubricweb.archives import reading
from rubricweb.archives.restoring import Restored, Terms, restore_archive
from rubricweb.core.reader import OperatorCommand

SHOWN = ("corpus.Topic", "corpus.Passage", "corpus.Run", "banks.Item", "grades.Grade", "grades.HumanGrade")


class Command(OperatorCommand):
    help = (
        "Make the collection of an archive again, all or nothing. People are known by their user names: "
        "check that the names of an archive from another server mean the same people here. They are invited."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("archive", type=Path, metavar="F.zip")
        parser.add_argument("--slug", default="", help="the slug it gets (default: the one it had)")
        parser.add_argument(
            "--trust",
            action="store_true",
            help="restore it although no known server signed it: as if its maker wrote to the database",
        )
        parser.add_argument(
            "--members", action="store_true", help="make its people members at once, instead of inviting them"
        )

    def handle(self, *, archive: Path, slug: str, **options: Any) -> None:  # Any: what argparse parsed
        terms = Terms(slug, is_trusted=options["trust"], joins=options["members"])
        try:
            restored = restore_archive(archive, terms)
        except reading.NotSigned as error:
            raise CommandError(f"{error}; or trust whoever made it and had it since, with --trust") from error
        except BadFormat as error:
            raise CommandError(str(error)) from error
        self._report(restored, joins=terms.joins)

    def _report(self, restored: Restored, *, joins: bool) -> None:
        counts = [f"{restored.rows[label]:,} {_plural(label)}" for label in SHOWN if restored.rows.get(label)]
        self.stderr.write(f"{restored.slug}: {', '.join(counts) or 'an empty collection'}")
        if restored.members:
            done = "Members" if joins else "Invited"
            self.stderr.write(f"{done}, by user name: {', '.join(restored.members)}")
        if restored.strangers:
            names = ", ".join(restored.strangers)
            self.stderr.write(
                f"Unknown here. They have accounts now, which an administrator must activate "
                f"before they can sign in: {names}"
            )
        if not joins:
            role = f"{settings.COMMAND} set_role {restored.slug} USERNAME organizer"
            self.stderr.write(f"Nobody is a member yet: people accept at Home, or {role}")


def _plural(label: str) -> str:
    from django.apps import apps

    return str(apps.get_model(label)._meta.verbose_name_plural)
