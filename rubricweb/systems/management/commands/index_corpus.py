"""Build a corpus on disk, or bring it up to date."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from grading.errors import BadFormat
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
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=help_text)

    def handle(self, *, name: str, files: list[Path], **options: object) -> None:
        if missing := [str(path) for path in files if not path.is_file()]:
            raise CommandError(f"there is no file {missing[0]}")
        try:
            count = retrieval.index_corpus(name, files)
        except (BadFormat, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{name}: {count:,} passages in {retrieval.corpus_folder(name)}")
