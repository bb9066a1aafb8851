"""Make a token for a person: `make_token USERNAME --name "nightly export" --scope read --days 90`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from rubricweb.accounts.models import User
from rubricweb.api.models import Token
from rubricweb.api.tokens import LONGEST_DAYS, make_token
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named


class Command(OperatorCommand):
    help = "Make a token with which a script acts as a person; it is printed this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", required=True, help="what it is for")
        parser.add_argument("--scope", action="append", choices=Token.Scope.values, dest="scopes")
        parser.add_argument("--days", type=int, default=90)
        parser.add_argument("--collection", metavar="SLUG", default="", help="the only one that it opens")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"], is_active=True).first()
        if user is None:
            raise CommandError(f"Nobody is called {options['username']}.")
        if not 1 <= options["days"] <= LONGEST_DAYS:
            raise CommandError(f"--days is {options['days']}, expected 1 to {LONGEST_DAYS}.")
        _, text = make_token(
            user,
            name=options["name"],
            scopes=options["scopes"] or [Token.Scope.READ],
            days=options["days"],
            collection=collection_named(slug) if (slug := options["collection"]) else None,
        )
        self.stdout.write(text)
