"""Write a run: its answers in any dialect, or its ranking."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from grading.formats.responses import ResponseDialect
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing
from rubricweb.corpus.models import Run
from rubricweb.exports.corpus import TREC_RUN, run_export


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write the run RUN of the collection SLUG: its answers, or its ranking as trec_eval reads it. What "
        "the format cannot say is listed on standard error, item by item."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("run", metavar="RUN", help="its run tag")
        help_text = "default: the format in which the answers came; of a ranking: trec-run"
        parser.add_argument("--format", default="", choices=[*ResponseDialect, TREC_RUN], help=help_text)
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")

    def handle(self, *, slug: str, run: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        row = _run(slug, run)
        try:
            export = run_export(row, options["format"])
            content = export.content()
        except BadFormat as error:
            raise CommandError(error.problem) from error
        if options["out"]:
            with writing(options["out"]):
                options["out"].write_bytes(content)
        else:
            self.stdout.write(content.decode(), ending="")
        for loss in export.losses:
            self.stderr.write(f"lost: {loss}")
        self.stderr.write(f"{row} as {export.format_name}, {len(export.losses):,} losses")


def _run(slug: str, run_tag: str) -> Run:
    collection = collection_named(slug)
    run: Run | None = collection.runs.filter(run_tag=run_tag).first()
    if run is None:
        tags = ", ".join(collection.runs.values_list("run_tag", flat=True)) or "none"
        raise CommandError(f"{slug} has no run {run_tag}; its runs are {tags}")
    return run
