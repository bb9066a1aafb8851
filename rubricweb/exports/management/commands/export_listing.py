"""Write a review screen as a listing of the published Workbench."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from rubricweb.banks.access import named_bank
from rubricweb.banks.models import Bank
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import writing
from rubricweb.corpus.models import Topic
from rubricweb.exports.workbench import LISTINGS, ListingQuery
from rubricweb.grades.raters import Rater, raters
from rubricweb.grades.visibility import hidden_count, reading_for_everybody
from rubricweb.review.problems import EvidenceQuery, RelevanceSource


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write what a review screen of the bank BANK of SLUG shows as the RUBRIC Workbench prints it: "
        "extracted answers beside their ratings (verify), spurious items, uncovered passages, or the grid "
        "as CSV. Ratings that an assessor may not see yet are left out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("bank", metavar="BANK")
        parser.add_argument("listing", choices=list(LISTINGS))
        parser.add_argument("--topic", metavar="ID", help="only this one (default: all)")
        parser.add_argument("--llm", metavar="NAME", help="the grader's model (default: the collection's)")
        help_text = "from which rating an item is covered (default: the grader's threshold)"
        parser.add_argument("--min-grade", type=int, choices=range(1, 6), metavar="N", help=help_text)
        help_text = "from which judgment a passage is relevant (default: the collection's)"
        parser.add_argument("--min-relevant", type=int, metavar="N", help=help_text)
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")

    def handle(self, *, slug: str, bank: str, listing: str, **options: Any) -> None:  # Any: by argparse
        chosen = named_bank(slug, bank)
        lines, *_ = LISTINGS[listing]
        with reading_for_everybody():
            rater, collection = _rater(chosen, options["llm"]), chosen.collection
            least = options["min_relevant"]
            evidence = EvidenceQuery(
                RelevanceSource.JUDGMENTS,
                collection.min_relevant if least is None else least,
                options["min_grade"] or rater.min_grade,
            )
            topic = _topic(chosen, options["topic"]) if options["topic"] else None
            text = "".join(lines(ListingQuery(chosen, rater, evidence, None, topic.pk if topic else None)))
            hidden = hidden_count(chosen.collection_id)
        if hidden:
            self.stderr.write(f"left out: {hidden:,} cells of open campaigns that people have still to rate")
        if options["out"] is None:
            self.stdout.write(text, ending="")
            return
        with writing(options["out"]):
            options["out"].write_bytes(text.encode())


def _rater(bank: Bank, llm: str | None) -> Rater:
    choices = raters(bank)
    for rater in choices:
        if llm is None or llm in {config.llm for config in rater.configs}:
            return rater
    names = ", ".join(dict.fromkeys(config.llm for rater in choices for config in rater.configs))
    raise CommandError(f"no grader {llm} of the bank {bank.name}; its graders are {names}")


def _topic(bank: Bank, query_id: str) -> Topic:
    topic: Topic | None = bank.collection.topics.filter(query_id=query_id).first()
    if topic is None:
        raise CommandError(f"{bank.collection.slug} has no topic {query_id}")
    return topic
