"""`rubricweb submit SLUG FILE --team TEAM`: send a run in for a team, by the rules of its call."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from django.core.management import CommandError

from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Run
from rubricweb.jobs.worker import work_on
from rubricweb.submissions import actions, files
from rubricweb.submissions.models import Call, Submission

CHUNK_BYTES = 1_048_576


class Command(OperatorCommand):
    help = (
        "Send a run in for a team, as its participants do in the browser. The exit status is 1 where the "
        "file is refused; after the deadline it is, unless --late lets it in."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("file", type=Path)
        parser.add_argument("--team", required=True)
        parser.add_argument("--task", default="", help="the call, where the collection has several")
        parser.add_argument("--type", default="", choices=Run.Type.values)
        parser.add_argument("--priority", type=int)
        parser.add_argument("--description", default="")
        parser.add_argument("--late", action="store_true", help="let it in after the deadline, on the record")

    def handle(self, *, slug: str, file: Path, team: str, task: str, **options: object) -> None:
        collection = collection_named(slug)
        calls = collection.calls.select_related("collection")
        chosen: list[Call] = list(calls.filter(task=task) if task else calls)
        if len(chosen) != 1:
            tasks = ", ".join(call.task for call in calls) or "none"
            raise CommandError(f"Name the call with --task; {slug} has: {tasks}.")
        call = chosen[0]
        described = actions.Described(
            str(options["type"] or ""),
            options["priority"],  # type: ignore[arg-type]
            str(options["description"]),
        )
        if not file.is_file():
            raise CommandError(f"{file} is no file.")
        try:
            with file.open("rb") as stream:
                chunks = iter(lambda: stream.read(CHUNK_BYTES), b"")
                submission = actions.receive(
                    call, actions.Sent(file.name, chunks), team=team, by=None, described=described
                )
        except actions.NotTaken as reason:
            raise CommandError(str(reason)) from reason
        if submission.outcome == Submission.Outcome.LATE and options["late"]:
            submission = actions.let_in(submission, by=None)
        if submission.is_live:
            work_on("submission", submission.pk)
            submission.refresh_from_db()
        self._report(submission)

    def _report(self, submission: Submission) -> None:
        for group in files.findings_from_json(submission.findings):
            for place in group.places:
                line = f":{place.line}" if place.line is not None else ""
                topic = f" topic {place.query_id}:" if place.query_id else ""
                expected = f", expected {place.expected}" if place.expected else ""
                text = f"{group.severity} {group.category}:{topic} {place.problem}{expected}"
                self.stdout.write(f"{submission.name}{line}: {text}")
        counts = f"{_counted(submission.errors, 'error')}, {_counted(submission.warnings, 'warning')}"
        self.stderr.write(
            f"{submission.name} of {submission.team} for {submission.call}: "
            f"{submission.state_words}, {counts}."
        )
        if submission.outcome != Submission.Outcome.TAKEN:
            sys.exit(1)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
