"""Write a bank in any dialect."""

from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.formats.banks import BY_NAME, OF_ANSWERS, write_bank
from rubricweb.banks.access import named_bank, named_version
from rubricweb.banks.convert import BankScope
from rubricweb.banks.models import Bank
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import writing
from rubricweb.exports.assignments import authors
from rubricweb.exports.banks import BankExport, bank_export
from rubricweb.exports.files import replacing
from rubricweb.grades.models import GraderConfig


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write the bank BANK of the collection SLUG in a dialect. What the dialect cannot say is listed on "
        "standard error, item by item."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("bank", metavar="BANK")
        help_text = "default: %(default)s, AutoJudge's"
        parser.add_argument("--dialect", choices=list(BY_NAME), default="v3", help=help_text)
        help_text = "of dialects of answers: whose ratings to write, a grader by its model or people"
        parser.add_argument("--by", metavar="NAME", default="", help=help_text)
        help_text = "a version, by number or name; default: the bank as it is now"
        parser.add_argument("--as-of", metavar="VERSION", default="", help=help_text)
        help_text = "write secret items too, which are left out otherwise"
        parser.add_argument("--with-secret", action="store_true", help=help_text)
        help_text = "default: standard output; .gz compresses; a folder for dialects with a file a topic"
        parser.add_argument("--out", type=Path, metavar="F", help=help_text)
        help_text = "only list what the file would lack"
        parser.add_argument("--dry-run", action="store_true", help=help_text)

    def handle(self, *, slug: str, bank: str, **options: Any) -> None:  # Any: what argparse parsed
        row = named_bank(slug, bank)
        scope = BankScope(row, named_version(row, options["as_of"]), has_secrets=options["with_secret"])
        dialect = BY_NAME[options["dialect"]]
        by = named_author(row, options["by"]) if options["by"] else None
        if by and dialect.name not in OF_ANSWERS:
            raise CommandError(
                f"--by goes with --dialect {' or '.join(OF_ANSWERS)}: other dialects say nothing of answers"
            )
        export = bank_export(scope, dialect, by=by)
        if export.refusals:
            reasons = map(str, export.refusals)
            raise CommandError("\n".join([f"{export.dialect.label} cannot say this bank:", *reasons]))
        for sentence in export.report():
            self.stderr.write(sentence)
        if options["dry_run"]:
            return
        if options["out"]:
            _write(options["out"], export)
        elif export.dialect.file_name:
            raise CommandError(f"{export.dialect.label} has a file a topic: name a folder with --out")
        else:
            self.stdout.write(export.content().decode(), ending="")
        count = sum(len(line.items) for line in export.lines)
        self.stderr.write(f"{count:,} items in {len(export.lines):,} lines, {len(export.losses):,} losses")


def named_author(bank: Bank, name: str) -> GraderConfig:
    """Return the grader of that model. Raises CommandError, which says whom there is."""
    listed = authors(bank)
    named = [config for config in listed if name in (config.llm, str(config))]
    if len(named) != 1:
        names = ", ".join(map(str, listed)) or "nobody"
        raise CommandError(
            f"{len(named)} graders {name} rated nuggets of {bank.name}, expected one of: {names}"
        )
    return named[0]


def _write(path: Path, export: BankExport) -> None:
    """Write the file whole; folders get their files in place."""
    with writing(path), nullcontext(path) if export.dialect.file_name else replacing(path) as written:
        write_bank(written, export.lines, export.dialect)
