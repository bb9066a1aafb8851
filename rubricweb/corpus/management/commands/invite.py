"""`rubricweb invite SLUG ROLE [--team TEAM]`: print a link with which people join a collection."""

from __future__ import annotations

from argparse import ArgumentParser

from rubricweb.accounts import invitations, roles
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import add_server_argument, collection_named, link, require_valid
from rubricweb.corpus.people import EACH_THEIR_OWN, MOST_DAYS, MOST_USES, LinkForm


class Command(OperatorCommand):
    help = "Print a link with which people join a collection; whoever has no account makes one there."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("role", choices=roles.Role.values)
        parser.add_argument(
            "--team",
            default="",
            help="of a participant; without it each names a new one",
        )
        help_text = f"after which the link expires, at most {MOST_DAYS} (%(default)s)"
        parser.add_argument("--days", type=int, default=7, metavar="N", help=help_text)
        help_text = (
            f"who can join with it, at most {MOST_USES} (1, or {EACH_THEIR_OWN} where each names a team)"
        )
        parser.add_argument("--people", dest="max_uses", type=int, metavar="N", help=help_text)
        add_server_argument(parser)

    def handle(self, *, slug: str, server: str, **options: object) -> None:
        collection = collection_named(slug)
        form = LinkForm(options)
        require_valid(form, {"max_uses": "people"})
        offer = form.offer
        invitation, path = invitations.invite(collection, offer, by=None)
        self.stdout.write(link(server, path))
        until = f"{invitation.expires_at:%Y-%m-%d %H:%M %Z}"
        self.stderr.write(f"{offer.role.label} of {slug}, for {offer.max_uses} people, until {until}.")
