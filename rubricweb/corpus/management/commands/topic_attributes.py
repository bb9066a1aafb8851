"""`manage.py topic_attributes SLUG --backend B --llm M`: have a model score what the topics are like."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError

from rubricweb.core.formatting import counted
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus import topic_attributes
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.writers import Writer, first_writer, writer_choices
from rubricweb.jobs.limits import add_limit_arguments, limits_named


class Command(OperatorCommand):
    help = (
        "Have workers ask a model about each topic that it has not scored: eight attributes from 0 to 10. "
        "People confirm or correct them under Topics, Attributes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        names = [name for name, _ in writer_choices()]
        parser.add_argument("--backend", choices=names, help="default: the collection's own model")
        parser.add_argument("--llm", default="", help="the model")
        add_limit_arguments(parser)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        own = first_writer(collection)
        writer = Writer(options["backend"] or own.backend, options["llm"] or own.llm)
        expected = topic_attributes.price(collection, writer)
        self.stdout.write(f"{writer.llm}: {counted(expected.cells, 'call')}, {expected.text}")
        if options["price_only"]:
            return
        limits = limits_named(options, expected)
        try:
            job = topic_attributes.start(collection, writer, limits=limits, by=None)
        except topic_attributes.AllTopicsScored as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"started: {job}, at most {counted(job.most_calls, 'call')}")
