"""`rubricweb set_role SLUG USERNAME ROLE [--team TEAM]`: let an account into a collection, unasked."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management import CommandError

from rubricweb.accounts.actions import LastOrganizer, set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named


class Command(OperatorCommand):
    help = "Make an account a member of a collection, or change its role."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("username")
        parser.add_argument("role", choices=Role.values)
        parser.add_argument("--team", default="", help="whose runs a participant hands in")

    def handle(self, *, slug: str, username: str, role: str, team: str, **options: object) -> None:
        collection = collection_named(slug)
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(
                f"There is no account {username!r}; make one at /admin/ or by createsuperuser."
            )
        if (role == Role.PARTICIPANT) != bool(team):
            raise CommandError("A participant needs --team, and nobody else has one.")
        try:
            set_role(user, collection, role=Role(role), team=team, by=None)
        except LastOrganizer as reason:
            raise CommandError(str(reason)) from reason
        self.stderr.write(f"{username} is now {Role(role).label} of {slug}.")
