"""`rubricweb manage remove_second_factor`: for who has lost the phone and the recovery codes."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rubricweb.accounts.models import User
from rubricweb.sso.actions import remove_factor


class Command(BaseCommand):
    help = "Remove somebody's second factor: the password alone signs in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *, username: str, **options: object) -> None:
        person = User.objects.filter(username=username).first()
        if person is None:
            raise CommandError(f"There is no account {username}.")
        removed = remove_factor(person, by=None)
        self.stdout.write(f"{username}: {'removed' if removed else 'there was none'}")
