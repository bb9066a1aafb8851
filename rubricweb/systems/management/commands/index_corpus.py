"""Build a corpus on disk, or bring it up to date."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from grading.near_duplicates import THRESHOLD
from grading.segmentation import STRIDE, WINDOW
from rubricweb.core.reader import OperatorCommand
from rubricweb.systems import retrieval


class Command(OperatorCommand):
    help = (
        "Index passages on this machine's disk, for runs that search more than a collection holds. To add "
        "passages, run it again with the same name and all files: what is in it already is not indexed anew."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        help_text = "passages as JSON lines or TSV, .gz too: all that the corpus shall have"
        parser.add_argument(
            "--segment",
            action="store_true",
            help=f"cut documents into windows of {WINDOW} sentences, {STRIDE} apart, with their places",
        )
        parser.add_argument(
            "--deduplicated",
            action="store_true",
            help=f"of documents that are near-duplicates (from {THRESHOLD:g} on) only the first by id",
        )
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=help_text)

    def handle(self, *, name: str, files: list[Path], **options: Any) -> None:  # Any: parsed, by name
        if missing := [str(path) for path in files if not path.is_file()]:
            raise CommandError(f"there is no file {missing[0]}")
        try:
            count, left_out = retrieval.index_corpus(
                name, files, is_segmenting=options["segment"], is_deduplicating=options["deduplicated"]
            )
        except (BadFormat, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{name}: {count:,} passages in {retrieval.corpus_folder(name)}")
        for line in left_out:
            self.stderr.write(line)
