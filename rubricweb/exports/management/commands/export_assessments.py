"""Write assessments of reports by the short answers of a rubric, as DRAGUN's `score.py` reads them."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from rubricweb.banks.access import named_bank
from rubricweb.banks.convert import BankScope
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import writing
from rubricweb.exports.assignments import assessment_lines, assessment_losses
from rubricweb.exports.management.commands.export_bank import named_author


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Write what one author found in whole answers of each item of the bank BANK of the collection SLUG, "
        "as CSV: topic_id, run_tag, answer_id, and supports, partial, contradicts or none. The rubric is "
        "export_bank --dialect dragun."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("bank", metavar="BANK")
        parser.add_argument(
            "--by", required=True, metavar="NAME", help="whose ratings: people, or a grader by its model"
        )
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")

    def handle(self, *, slug: str, bank: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        row = named_bank(slug, bank)
        lines = list(assessment_lines(BankScope(row), named_author(row, options["by"])))
        if options["out"]:
            with writing(options["out"]), options["out"].open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        else:
            for line in lines:
                self.stdout.write(line)
        for loss in assessment_losses(BankScope(row), named_author(row, options["by"])):
            self.stderr.write(f"lost: {loss}")
        self.stderr.write(f"{len(lines) - 1:,} assessments")
