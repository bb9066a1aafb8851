"""Add the answers of a run once more as a run of its own, each as one passage."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.management.base import CommandError

from grading.errors import BadFormat
from grading.formats.responses import ResponseDialect, write_responses
from grading.segmentation import PassagesOf
from rubricweb.accounts.models import User
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus import convert
from rubricweb.corpus.models import Run
from rubricweb.grades.import_collection import ImportFiles, ImportSummary, import_collection

SUFFIX = "-whole"


def add_whole_answers(run: Run, *, by: User | None) -> ImportSummary:
    """Import the run's answers as the run `TAG-whole`, whose passages are its whole answers.

    Sentences of `run` stay passages, so that a bank grades both. Doing it twice changes nothing. Raises
    ValueError for a run without answers, and what imports raise.
    """
    rows = list(run.responses.select_related("run", "topic").order_by("topic__position"))
    if not rows:
        raise ValueError(f"the run {run.run_tag} has no generated answers")
    answers = [
        replace(convert.response(row), run_tag=run.run_tag + SUFFIX, foreign={"topic": row.topic.text})
        for row in rows
    ]
    with TemporaryDirectory(prefix="rubricweb-whole-") as folder:
        path = Path(folder) / "answers.jsonl"
        write_responses(path, answers, ResponseDialect.RAG24)
        files = ImportFiles(responses=(path,), passages_of=PassagesOf.WHOLE, topics_are_closed=True)
        return import_collection(run.collection.slug, files=files, by=by)


class Command(OperatorCommand):
    help = "Add a run whose passages are the whole answers of another run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument("run_tag", help="the run with generated answers")

    def handle(self, *, slug: str, run_tag: str, **options: object) -> None:
        run = Run.objects.select_related("collection").filter(collection__slug=slug, run_tag=run_tag).first()
        if run is None:
            raise CommandError(f"no run {run_tag} in a collection {slug}")
        try:
            add_whole_answers(run, by=None)
        except (BadFormat, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"added {run_tag}{SUFFIX}: its passages are the whole answers of {run_tag}")
