"""Have a run's answers graded as wholes, beside their sentences."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from grading.errors import BadFormat
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.models import Run
from rubricweb.grades.importers.whole_answers import SUFFIX, add_whole_answers


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
