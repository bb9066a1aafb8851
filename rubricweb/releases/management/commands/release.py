"""Write a release of a collection."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.formats.reading import write_lines
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing
from rubricweb.grades.visibility import Refused
from rubricweb.home.checklist import checklist_of
from rubricweb.releases.bundle import ChangedWhileWritten, write_release
from rubricweb.releases.parts import Names, ReleaseOptions, contents_of


class Command(OperatorCommand):
    help = (
        "Write what a track publishes of the collection SLUG as one zip: topics, banks, prompts, graded "
        "passages, qrels, leaderboards, agreement, figures and provenance. Equal data makes equal bytes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--out", type=Path, required=True, metavar="F.zip")
        parser.add_argument("--title", default="", help="default: the collection's name")
        parser.add_argument("--license", default="", metavar="L", help="of the data: CC BY 4.0")
        parser.add_argument("--citation", default="", metavar="C")
        parser.add_argument("--contact", default="", metavar="C")
        parser.add_argument("--runs", action="store_true", help="with rankings and responses of the runs")
        help_text = "runs and teams go by made-up names; the mapping is written to F, which is yours to keep"
        parser.add_argument("--anonymous", type=Path, metavar="F", help=help_text)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        fields = {name: options[name] for name in ("title", "license", "citation", "contact")}
        chosen = ReleaseOptions(**fields, has_runs=options["runs"], is_anonymous=bool(options["anonymous"]))
        contents = contents_of(collection, chosen)
        try:
            with writing(options["out"]):
                written = write_release(contents, options["out"])
        except (Refused, ChangedWhileWritten) as error:
            raise CommandError(str(error)) from error
        if options["anonymous"]:
            _keep(options["anonymous"], written.names)
        named = [f"still named: {line}" for line in written.still_named]
        still_open = [f"{step.name}: {step.detail}" for step in checklist_of(collection).before_release]
        for problem in (*written.not_written, *named, *still_open):
            self.stderr.write(problem)
        self.stdout.write(f"{len(written.files)} files, {written.size:,} bytes, SHA-256 {written.sha256}")


def _keep(path: Path, names: Names) -> None:
    with writing(path):
        write_lines(path, (line.encode() for line in names.lines()))
