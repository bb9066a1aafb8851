"""`rubricweb open_campaign SLUG NAME --grader ID`: choose which cells people rate, and how."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError
from django.urls import reverse

from grading.types import MAX_RATING
from rubricweb.campaigns import actions, new_campaign
from rubricweb.campaigns.actions import UnfitCampaign
from rubricweb.campaigns.forms import UnknownNames, members_who_rate, named_form
from rubricweb.campaigns.models import Campaign
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import add_server_argument, collection_named, link, require_valid
from rubricweb.grades.raters import KINDS

OPTIONS = {"kinds": "kind", "topics": "topic", "assignees": "assignee"}
"""The option of each field of the form that has another name."""


class Command(OperatorCommand):
    help = "Open a campaign: choose pairs for people to rate, and print the address of its progress."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("name", metavar="NAME")
        text = "whose ratings are checked: its id in the command `graders`"
        parser.add_argument("--grader", required=True, metavar="ID", help=text)
        parser.add_argument("--bank", default="main", metavar="BANK", help="default: %(default)s")
        text, kinds = "of items; repeat it for several (all)", [str(kind) for kind in KINDS]
        parser.add_argument("--kind", action="append", choices=kinds, help=text)
        text = "repeat it for several (all)"
        parser.add_argument("--topic", action="append", default=[], metavar="QUERY_ID", help=text)
        text = "which pairs (%(default)s)"
        parser.add_argument("--cells", default=Campaign.Cells.ALL, choices=Campaign.Cells.values, help=text)
        text = f"lowest rating that covers an item, at most {MAX_RATING} (the grader's own)"
        parser.add_argument("--min-grade", default="", metavar="N", help=text)
        parser.add_argument("--cutoff", default=20, metavar="K", help="rank cutoff (%(default)s)")
        parser.add_argument("--size", default="", metavar="N", help="at most so many pairs")
        text, orders = "which pairs are drawn first (%(default)s)", Campaign.Order.values
        parser.add_argument("--order", default=Campaign.DEFAULT_ORDER, choices=orders, help=text)
        text = "percent of the pairs that are drawn at random (%(default)s)"
        parser.add_argument("--random-percent", default=20, metavar="P", help=text)
        text = "independent assessors per pair (%(default)s)"
        parser.add_argument("--assessors", default=1, metavar="N", help=text)
        text, modes = "what assessors see (%(default)s)", Campaign.Mode.values
        parser.add_argument("--mode", default=Campaign.Mode.BLIND, choices=modes, help=text)
        text = "who rates; repeat it for several (every assessor)"
        parser.add_argument("--assignee", action="append", default=[], metavar="USERNAME", help=text)
        parser.add_argument("--dry-run", action="store_true", help="only say what it would ask of people")
        add_server_argument(parser)

    def handle(self, *, slug: str, server: str, **options: Any) -> None:
        collection = collection_named(slug)
        bank = collection.banks.filter(name=options["bank"]).first()
        if bank is None:
            names = ", ".join(collection.banks.values_list("name", flat=True)) or "none"
            raise CommandError(f"{collection.slug} has no rubric {options['bank']}; its rubrics are {names}")
        fields = {**options, **{field: options[option] for field, option in OPTIONS.items()}}
        try:
            form = named_form(
                collection,
                {**fields, "bank": str(bank.pk), "kinds": fields["kinds"] or list(map(str, KINDS))},
            )
        except UnknownNames as error:
            raise CommandError(f"--{OPTIONS[error.field]}: {error}") from error
        require_valid(form, OPTIONS)
        everybody = members_who_rate(collection).count()
        plan = new_campaign.preview_of(form.choice, form.plan, everybody=everybody, seconds=None)
        pace = "measured here" if plan.is_measured else "a guess"
        width = (
            f" Scores would be estimated to within about {plan.half_width:z.2f}." if plan.half_width else ""
        )
        summary = (
            f"{plan.ratings:,} ratings of {plan.cells:,} pairs ({plan.population:,} match), "
            f"{plan.passages:,} passages, {plan.items:,} items, by {plan.raters:,} people: "
            f"{plan.hours:,.1f} hours at {plan.seconds:.0f} s each ({pace}); "
            f"{plan.likely:,} of {len(plan.pairs):,} close pairs of runs would probably be settled.{width}"
        )
        self.stderr.write(summary)
        if plan.textless:
            self.stderr.write(
                f"{plan.textless:,} pairs left out: their passages have no text, which import_collection "
                "--passages supplies"
            )
        if options["dry_run"]:
            return
        try:
            campaign = actions.open_campaign(form.choice, form.plan, by=None)
        except UnfitCampaign as error:
            raise CommandError(str(error)) from error
        self.stdout.write(link(server, reverse("campaigns:campaign", args=[slug, campaign.pk])))
