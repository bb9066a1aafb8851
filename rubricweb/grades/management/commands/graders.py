"""List the graders of a collection."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.grades import selectors


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "List the graders that have grades in the collection SLUG."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        rows = [
            {
                "id": row.config.pk,
                "llm": row.config.llm,
                "prompt_class": row.config.prompt_class,
                "purpose": row.config.purpose,
                "answers_by": row.config.answers_by,
                "options": row.config.settings,
                "grades": row.grades,
            }
            for row in selectors.graders(collection)
        ]
        self.stdout.write(json.dumps({"graders": rows}) if options["json"] else _table(rows))


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "No grades yet."
    line = "{id:>5}  {llm}  {prompt_class}  {purpose}  {grades:,} grades"
    return "\n".join(
        line.format_map(row)
        + (f"  of the answers of {row['answers_by']}" if row["answers_by"] else "")
        + "".join(f"  {name} {value}" for name, value in row["options"].items())
        for row in rows
    )
