"""Inter-annotator tables: labels of graders against human judgments, and against each other's."""

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
from rubricweb.leaderboards.board import BoardError, lookup
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
    help = (
        "Print graded and binarised inter-annotator tables with Cohen's kappa, of each grader with the human "
        "judgments and of graders with each other; as TSV the latter where there are no judgments."
    )

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
            pairs = _labellers(collection, options)
        except BoardError as error:
            raise CommandError(str(error)) from error
        level = first_relevant(collection, options)
        self.stdout.write(_written(pairs, options, level))


def _labellers(collection: Collection, options: dict[str, Any]) -> list[agreement.Labeller]:
    """Return whose labels to compare. Raises BoardError where there is nothing to compare them with."""
    configs, banks = graders_named(collection, options), banks_named(collection, options["bank"])
    for name, highest in (("min_grade", MAX_RATING), ("min_answers", agreement.MAX_ANSWERS)):
        if not 1 <= options[name] <= highest:
            raise BoardError(name, f"{name.replace('_', ' ')} is {options[name]}, expected 1 to {highest}")
    runs = lookup.find_runs(collection, options["task"], options["runs"])
    pairs = agreement.labellers(collection, configs, banks, runs)
    if not pairs:
        raise BoardError("grader", "no labels to compare: no such grader graded such a bank")
    if len(pairs) == 1 and not _has_judgments(collection):
        problem = "has no human judgments: import them with --qrels, or labels of another grader"
        raise BoardError("judgments", f"{collection.slug} {problem}")
    return pairs


def _has_judgments(collection: Collection) -> bool:
    return any(topic.judgments for topic in collection_pool(collection).topics)


def _written(pairs: list[agreement.Labeller], options: dict[str, Any], level: int) -> str:
    form, grade, needed = options["format"], options["min_grade"], options["min_answers"]
    is_judged = _has_judgments(pairs[0].collection)
    agreements = agreement.agreements(pairs, min_answers=needed) if is_judged else []
    between = agreement.between(pairs, min_grade=grade, min_answers=needed)
    levels = {"min_grade": grade, "min_relevant": level}
    if form == "json":
        document = agreement_tables.document(agreements, **levels, min_answers=needed)
        document["between_graders"] = agreement_tables.between_lines(between, min_grade=grade)
        return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    if form == "tsv":
        table = agreement_tables.table(agreements, **levels)
        return "\n".join(
            tsv_lines(table if is_judged else agreement_tables.between_table(between, min_grade=grade))
        )
    tables = [agreement_tables.binary(agreements, **levels)] if is_judged else []
    tables += [agreement_tables.graded(row, min_relevant=level) for row in agreements]
    tables += [agreement_tables.graders(between, min_grade=grade)] if between else []
    return "\n\n".join("\n".join(LINES[form](sheet)) for sheet in tables)
