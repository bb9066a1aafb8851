"""Write labels of support by answer, or the scores of runs by them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.formats.tables import tsv_lines
from grading.support import SupportRule
from grading.types import MISSING
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing
from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import RunSlice, UnknownRuns, find_runs
from rubricweb.exports.support import (
    agreement_table,
    answer_line,
    board_table,
    labelled_answers,
    lost_contradictions,
    score_rows,
)
from rubricweb.leaderboards.board.files import PER_TOPIC
from rubricweb.leaderboards.command_arguments import add_run_arguments
from rubricweb.support.board import Counting
from rubricweb.support.labels import SupportRater, raters

LABELS, BOARD, AGREEMENT = "labels", "board", "agreement"


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write the labels of support of one author in the collection SLUG, answer by answer, as NIST and "
        "RAGDoll have them (-1: not judged); or the weighted precision and recall of runs by these labels."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        text = "whose labels: people, or a model by its name or as in the board's address (judge-7)"
        parser.add_argument("--by", required=True, metavar="NAME", help=text)
        text = (
            "labels; the board with intervals and ranks; agreement of people with the model, or with each "
            "one; or the scores by topic in one of the others (%(default)s)"
        )
        choices = [LABELS, BOARD, AGREEMENT, *PER_TOPIC]
        parser.add_argument("--format", default=LABELS, choices=choices, help=text)
        text = (
            "scores: of the first citation of a sentence (official), the mean of all, or another rule (first)"
        )
        parser.add_argument(
            "--citations", type=SupportRule, default=SupportRule.FIRST, choices=list(SupportRule), help=text
        )
        text = "scores: leave out answers of which nothing is judged (default: they count 0, as officially)"
        parser.add_argument("--skip-unjudged", action="store_true", help=text)
        text = "scores: leave out of a run's mean the topics that it lacks (default: they count 0)"
        parser.add_argument("--skip-missing", action="store_true", help=text)
        add_run_arguments(parser)
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")

    def handle(self, *, slug: str, by: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        rater = _rater(collection, by)
        if options["format"] == LABELS:
            self._write(self._labels(collection, rater), options["out"])
            return
        if options["format"] == AGREEMENT:
            self._write(tsv_lines(agreement_table(collection, rater)), options["out"])
            return
        counting = Counting(
            options["citations"],
            unjudged_is_zero=not options["skip_unjudged"],
            lacking_is_zero=not options["skip_missing"],
            runs=_runs(collection, options),
        )
        if options["format"] == BOARD:
            self._write(tsv_lines(board_table(collection, rater, counting)), options["out"])
            return
        self._write(PER_TOPIC[options["format"]](score_rows(collection, rater, counting)), options["out"])

    def _labels(self, collection: Collection, rater: SupportRater) -> Iterator[str]:
        """Yield the lines, and then say on standard error what they hold."""
        for lost in lost_contradictions(labelled_answers(collection, rater)):
            self.stderr.write(f"The file does not say {lost}")
        answers = sentences = 0
        labels: Counter[int] = Counter()
        for answer in labelled_answers(collection, rater):
            answers, sentences = answers + 1, sentences + len(answer.sentences)
            labels.update(label for row in answer.labels for label in row)
            yield answer_line(answer)
        self.stderr.write(
            f"{answers:,} answers labelled by {rater.name}: {sentences:,} sentences, {labels.total():,} "
            f"citations, {labels[MISSING]:,} of them without a label (-1)"
        )

    def _write(self, lines: Iterable[str], path: Path | None) -> None:
        if path is None:
            for line in lines:
                self.stdout.write(line)
            return
        with writing(path), path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def _runs(collection: Collection, options: dict[str, Any]) -> RunSlice | None:
    try:
        return find_runs(collection, options["task"], options["runs"])
    except UnknownRuns as error:
        raise CommandError(str(error)) from error


def _rater(collection: Collection, name: str) -> SupportRater:
    """Return the author of that name. Raises CommandError, which lists the known ones."""
    every = raters(collection)
    for rater in every:
        if name in (rater.key, rater.name, rater.judge.llm if rater.judge else ""):
            return rater
    known_raters = ", ".join(f"{rater.key} ({rater.name})" for rater in every)
    raise CommandError(f"no labels by {name} in {collection.slug}; there are {known_raters}")
