"""`manage.py sample_topics SLUG --size 12`: draw diverse topics."""

from __future__ import annotations

from argparse import ArgumentParser

import msgspec
from django.core.management import CommandError

from grading.errors import UnknownSlice
from grading.formats.tables import Value, from_mappings, tsv_lines
from grading.topic_attributes import DISTANCE, attributes, diverse_topics, find_slice
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named


class Command(OperatorCommand):
    help = "Draw topics that are as different by their attributes as can be, and print them as TSV or JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument("--size", type=int, required=True, metavar="N", help="how many topics")
        parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same topics (1)")
        parser.add_argument(
            "--topics",
            default="",
            metavar="A=V",
            help="only from topics with a value of an attribute: category=how-to, ambiguity=5..10",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, slug: str, size: int, seed: int, topics: str, **options: object) -> None:
        if size < 1 or seed < 0:
            raise CommandError("--size is at least 1 and --seed at least 0")
        collection = collection_named(slug)
        values = collection.topics.attribute_values()
        if not attributes(values):
            raise CommandError(f"The topics of {slug} have no attributes to tell them apart by.")
        try:
            kept = find_slice(values, topics).query_ids if topics else values.keys()
        except UnknownSlice as error:
            raise CommandError(str(error)) from error
        drawn = diverse_topics({name: values[name] for name in kept}, size, seed=seed)
        texts = dict(collection.topics.values_list("query_id", "text"))
        rows: list[dict[str, Value]] = [
            {"query_id": t.query_id, "distance": t.distance, "text": texts[t.query_id]} for t in drawn
        ]
        if options["json"]:
            self.stdout.write(msgspec.json.encode({"seed": seed, "topics": rows}).decode())
            return
        stated = [("seed", str(seed)), ("distance", f"to the nearest topic above; {DISTANCE}")]
        self.stdout.write("\n".join(tsv_lines(from_mappings(rows, stated))))
