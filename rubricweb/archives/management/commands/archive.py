"""Write a whole collection to one file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from rubricweb.archives import layout
from rubricweb.core import audit
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named, writing


class Command(OperatorCommand):
    help = (
        "Write the collection SLUG with everything that belongs to it to a file, from which `restore` makes "
        "it again, here or on another server. People keep working meanwhile; the file has one moment's state."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", nargs="?")
        parser.add_argument("--out", type=Path, metavar="F.zip")
        parser.add_argument(
            "--show-key",
            action="store_true",
            help="only print the key that signs archives, a secret for RUBRIC_ARCHIVE_KEYS of another server",
        )

    def handle(  # Any: what argparse parsed
        self, *, slug: str | None, out: Path | None, show_key: bool, **options: Any
    ) -> None:
        if show_key:
            self.stdout.write(layout.own_key())
            return
        if slug is None or out is None:
            raise CommandError("Name a collection, and --out F.zip.")
        collection = collection_named(slug)
        try:
            with writing(out):
                manifest = layout.write_archive(collection, out)
        except layout.CannotArchive as error:
            raise CommandError(str(error)) from error
        audit.record("collection archived", collection, by=None, detail=out.name)
        rows = sum(part.rows for part in manifest.tables.values())
        files = f" and {len(manifest.files):,} uploaded files" if manifest.files else ""
        self.stderr.write(f"{out}: {rows:,} rows{files}, {out.stat().st_size:,} bytes")
