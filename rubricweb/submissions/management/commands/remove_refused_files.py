"""`rubricweb remove_refused_files`: delete the files of refused submissions, long after their deadline."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta

from django.utils import timezone

from rubricweb.core.reader import OperatorCommand
from rubricweb.submissions import actions

KEPT_DAYS = 30


class Command(OperatorCommand):
    help = (
        "Delete the files of refused submissions, and of late ones that nobody let in, some time after the "
        "deadline. Their reports stay, and so do the files of runs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        help_text = f"days after the deadline; default: {KEPT_DAYS}"
        parser.add_argument("--days", type=int, default=KEPT_DAYS, metavar="N", help=help_text)

    def handle(self, *, days: int, **options: object) -> None:
        number = actions.forget_refused(timezone.now() - timedelta(days=days))
        self.stdout.write(f"{number} file{'' if number == 1 else 's'} deleted.")
