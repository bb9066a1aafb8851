"""`manage.py demo`: everything on the embedded default, with a collection to look at."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType

from django.core.management import CommandError, call_command
from django.db import transaction
from environs import Env

from grading.errors import GraderUnavailable
from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.core.database import database_of_this_version
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.models import Collection
from rubricweb.demo.loading import PASSWORD, SLUG, load_demo, make_run, publish, submit_runs
from rubricweb.demo.processes import CannotStart, check_port, running_redis, serve, web_server
from rubricweb.demo.reviewing import begin_review, revise_bank, vote_and_label
from rubricweb.demo.small_model import MODELS, check_model, grade_with_model, unpacked_meanwhile

STEPS: dict[str, Callable[[Collection], None]] = {
    "Two teams send in four runs of answers ...": submit_runs,
    "Making a run of the best sentences ...": make_run,
    "Rewording the rubric, and grading what is new ...": revise_bank,
    "Two assessors rate 150 pairs, and disagree on some ...": begin_review,
    "They vote on 60 pairs of answers, and label 100 citations ...": vote_and_label,
    "Publishing a leaderboard and a release ...": publish,
}
"""What is said, and what is done then; all on the collection as it was loaded."""


class Command(OperatorCommand):
    help = "Migrate, load the demo collection once, and run Redis, web and a worker until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=Env().int("PORT", 8000))
        parser.add_argument(
            "--model", choices=sorted(MODELS), help="grade it also with this very small language model"
        )
        parser.add_argument("--load-only", action="store_true", help="load the collection and stop")

    def handle(self, *, port: int, load_only: bool, model: str | None, **options: object) -> None:
        for ending in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(ending) is not signal.SIG_IGN:  # as nohup wants it
                signal.signal(ending, _interrupt)
        try:
            if not load_only:
                check_port(port)
            if model:
                check_model(model)
            with running_redis():
                self._migrate()
                with nullcontext() if load_only else web_server(port) as web:
                    with unpacked_meanwhile(model) if model else nullcontext():
                        self._load()
                    if model:
                        self._grade(model)
                    if web:
                        self._say_where(port)
                        sys.exit(serve(web, port))
        except (CannotStart, GraderUnavailable) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stderr.write("Stopped.")

    def _migrate(self) -> None:
        self._say("Bringing the database up to date ...")
        for refusal in database_of_this_version(["default"]):
            raise CommandError(f"{refusal.msg} {refusal.hint}")
        call_command("migrate", verbosity=0)

    def _load(self) -> None:
        if not Collection.objects.filter(slug=SLUG).exists():
            with transaction.atomic():
                self._say("Loading 18 topics with their passages, questions and runs, and grading them ...")
                collection = load_demo()
                for line, step in STEPS.items():
                    self._say(line)
                    step(collection)

    def _say(self, step: str) -> None:
        self.stdout.write(step)
        self.stdout.flush()

    def _grade(self, model: str) -> None:
        jobs = grade_with_model(Collection.objects.get(slug=SLUG), model)
        if jobs:
            self.stdout.write(
                f"{MODELS[model]} grades {sum(job.total for job in jobs)} pairs in the background. It is a "
                "very small model: it shows the way from prompt to board, and its ratings mean little."
            )

    def _say_where(self, port: int) -> None:
        self.stdout.write(
            f"\nRubricWeb runs at http://127.0.0.1:{port}/  (Ctrl-C stops it)\n"
            f"\nDemo accounts, all with the password {PASSWORD}:"
        )
        members = Membership.objects.filter(collection__slug=SLUG).select_related("user").order_by("pk")
        for member in members:
            of_team = f" of team {member.team}" if member.team else ""
            self.stdout.write(f"  {member.user.username:<10} {Role(member.role).label}{of_team}")
        self.stdout.write("")
        self.stdout.flush()


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
