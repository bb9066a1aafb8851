"""Inter-annotator tables: labels of graders against the human judgments of a collection."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from grading.formats.tables import tsv_lines
from grading.types import MAX_RATING, USUAL_MIN_GRADE
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.leaderboards import agreement, agreement_tables
from rubricweb.leaderboards.board import BoardError
from rubricweb.leaderboards.command_arguments import (
    LINES,
    add_comparing_arguments,
    banks_named,
    check_format,
    first_relevant,
    graders_named,
)


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "Print graded and binarised inter-annotator tables with Cohen's kappa."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_comparing_arguments(parser)
        text = f"lowest label that counts ({USUAL_MIN_GRADE}; graders that label passages count from 1)"
        parser.add_argument("--min-grade", type=int, default=USUAL_MIN_GRADE, metavar="N", help=text)
        text = "the label is the best rating that M items reach (1)"
        parser.add_argument("--min-answers", type=int, default=1, metavar="M", help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            check_format(options)
            collection = collection_named(options["slug"])
            agreements = _agreements(collection, options)
        except BoardError as error:
            raise CommandError(str(error)) from error
        level = first_relevant(collection, options)
        self.stdout.write(_written(agreements, options, level))


def _agreements(collection: Collection, options: dict[str, Any]) -> list[agreement.Agreement]:
    configs, banks = graders_named(collection, options), banks_named(collection, options["bank"])
    if not any(topic.judgments for topic in collection_pool(collection).topics):
        raise BoardError("judgments", f"{collection.slug} has no human judgments: import them with --qrels")
    for name, highest in (("min_grade", MAX_RATING), ("min_answers", agreement.MAX_ANSWERS)):
        if not 1 <= options[name] <= highest:
            raise BoardError(name, f"{name.replace('_', ' ')} is {options[name]}, expected 1 to {highest}")
    pairs = agreement.labellers(collection, configs, banks)
    if not pairs:
        raise BoardError("grader", "no labels to compare: no such grader graded such a bank")
    return agreement.agreements(pairs, min_answers=options["min_answers"])


def _written(agreements: list[agreement.Agreement], options: dict[str, Any], level: int) -> str:
    form, grade = options["format"], options["min_grade"]
    if form == "json":
        needed = options["min_answers"]
        document = agreement_tables.document(
            agreements, min_grade=grade, min_relevant=level, min_answers=needed
        )
        return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    if form == "tsv":
        return "\n".join(tsv_lines(agreement_tables.table(agreements, min_grade=grade, min_relevant=level)))
    binary = agreement_tables.binary(agreements, min_grade=grade, min_relevant=level)
    tables = [binary, *(agreement_tables.graded(row, min_relevant=level) for row in agreements)]
    return "\n\n".join("\n".join(LINES[form](sheet)) for sheet in tables)
