"""`rubricweb open_call SLUG TASK --deadline TIME`: ask teams for runs, by the rules of a track."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError
from django.http import QueryDict
from django.urls import reverse

from grading.errors import BadFormat
from grading.submissions import named_rules, track_names
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import add_server_argument, collection_named, link, require_valid
from rubricweb.corpus.models import Response
from rubricweb.submissions import actions, calls
from rubricweb.submissions.models import Call

OPTIONS = {"opens_at": "opens", "checks_documents": "check_documents"}
"""Form field -> the option, where that has another name."""


class Command(OperatorCommand):
    help = "Open a call for submissions, and print the address of its rules, which organizers edit there."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("task", metavar="TASK", help="the name that participants know")
        help_text = "such as 2026-12-01T23:59:59, in --time-zone"
        parser.add_argument("--deadline", required=True, metavar="TIME", help=help_text)
        parser.add_argument("--opens", default="", metavar="TIME", help="default: now")
        parser.add_argument("--time-zone", default="UTC", metavar="ZONE", help="such as Europe/Rome (UTC)")
        help_text = f"whose rules hold: {', '.join(track_names())}, or a TOML file of rules of your own"
        parser.add_argument("--track", required=True, metavar="T", help=help_text)
        help_text = "what a submission is a file of (%(default)s)"
        parser.add_argument("--takes", default="responses", choices=Call.Takes.values, help=help_text)
        help_text = "at most so many of each team"
        parser.add_argument("--runs-per-team", default="", metavar="N", help=help_text)
        help_text = "ask for the priority of each run"
        parser.add_argument("--asks-priority", action="store_true", help=help_text)
        help_text = "show each team the scores of its own runs"
        parser.add_argument("--shows-scores", action="store_true", help=help_text)
        help_text, units = "what of a response is graded (%(default)s)", Response.PassagesOf.values
        parser.add_argument("--passages-of", default="sentence", choices=units, help=help_text)
        help_text = "document ids must be passages of the collection"
        parser.add_argument("--check-documents", action="store_true", help=help_text)
        help_text = "what participants read above the upload"
        parser.add_argument("--text", default="", help=help_text)
        add_server_argument(parser)

    def handle(self, *, slug: str, server: str, track: str, **options: Any) -> None:
        collection = collection_named(slug)
        try:
            rules = named_rules(track)
        except BadFormat as error:
            raise CommandError(str(error)) from error
        fields = QueryDict(mutable=True)
        fields.update({name: value for name, value in options.items() if value not in (False, None)})
        fields.update({field: options[option] for field, option in OPTIONS.items() if options[option]})
        fields.update({"track": track_names()[0], "seen": "0"})  # the rules are given apart from the form
        form = calls.new_call_form(collection, fields)
        require_valid(form, OPTIONS)
        call = actions.open_call(collection, form.terms(), rules, by=None)
        self.stdout.write(link(server, reverse("submissions:call", args=[slug, call.pk])))
        until = f"{call.deadline.astimezone(call.zone):%Y-%m-%d %H:%M:%S %Z}"
        self.stderr.write(f"{call} of {slug} takes {call.get_takes_display()} until {until}.")
