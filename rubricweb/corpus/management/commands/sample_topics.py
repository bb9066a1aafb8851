"""`rubricweb sample_topics SLUG --size 12`: draw diverse topics, or count topics by their attributes."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

import msgspec
from django.core.management import CommandError

from grading.errors import UnknownSlice
from grading.formats.tables import Value, from_mappings, tsv_lines
from grading.topic_attributes import (
    DISTANCE,
    PLAIN_DISTANCE,
    DrawnTopic,
    TopicAttributes,
    attributes,
    diverse_topics,
    find_slice,
    topic_statistics,
)
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named


class Command(OperatorCommand):
    help = "Draw topics that are as different by their attributes as can be, and print them as TSV or JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument("--size", type=int, metavar="N", help="how many topics")
        parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same topics (1)")
        parser.add_argument(
            "--plain", action="store_true", help="differences of scores as they are, not by their range"
        )
        parser.add_argument(
            "--topics",
            default="",
            metavar="A=V",
            help="only from topics with a value of an attribute: category=how-to, ambiguity=5..10",
        )
        parser.add_argument(
            "--unconfirmed",
            action="store_true",
            help="with what a model says of a topic where no file or person says anything",
        )
        parser.add_argument(
            "--statistics",
            action="store_true",
            help="print shares of categories, scores above 5 and first words, of all topics or those drawn",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, slug: str, **options: Any) -> None:
        size, is_of_statistics = options["size"], options["statistics"]
        if (size is not None and size < 1) or options["seed"] < 0:
            raise CommandError("--size is at least 1 and --seed at least 0")
        if size is None and not is_of_statistics:
            raise CommandError("--size says how many topics to draw")
        collection = collection_named(slug)
        topics = collection.topics
        values: TopicAttributes = (
            topics.attribute_values_with_model() if options["unconfirmed"] else topics.attribute_values()
        )
        if not attributes(values) and not (is_of_statistics and size is None):
            raise CommandError(f"The topics of {slug} have no attributes to tell them apart by.")
        try:
            kept = find_slice(values, options["topics"]).query_ids if options["topics"] else values.keys()
        except UnknownSlice as error:
            raise CommandError(str(error)) from error
        values = {name: values[name] for name in kept}
        texts = dict(collection.topics.values_list("query_id", "text"))
        drawn = diverse_topics(values, size, seed=options["seed"], is_plain=options["plain"]) if size else []
        if is_of_statistics:
            chosen = [topic.query_id for topic in drawn] or list(values)
            self._print_statistics({name: values[name] for name in chosen}, texts, is_json=options["json"])
        else:
            self._print_topics(drawn, texts, options)

    def _print_topics(self, drawn: list[DrawnTopic], texts: dict[str, str], options: dict[str, Any]) -> None:
        rows: list[dict[str, Value]] = [
            {"query_id": t.query_id, "distance": t.distance, "text": texts[t.query_id]} for t in drawn
        ]
        if options["json"]:
            self.stdout.write(msgspec.json.encode({"seed": options["seed"], "topics": rows}).decode())
            return
        distance = PLAIN_DISTANCE if options["plain"] else DISTANCE
        stated = [("seed", str(options["seed"])), ("distance", f"to the nearest topic above; {distance}")]
        self.stdout.write("\n".join(tsv_lines(from_mappings(rows, stated))))

    def _print_statistics(self, topics: TopicAttributes, texts: dict[str, str], *, is_json: bool) -> None:
        rows: list[dict[str, Value]] = [
            asdict(share) for share in topic_statistics(topics, {name: texts[name] for name in topics})
        ]
        if is_json:
            self.stdout.write(msgspec.json.encode({"topics": len(topics), "statistics": rows}).decode())
            return
        self.stdout.write("\n".join(tsv_lines(from_mappings(rows, [("topics", str(len(topics)))]))))
