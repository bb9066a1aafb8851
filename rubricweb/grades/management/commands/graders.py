"""List the graders of a collection, or make a panel of some."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from grading.graders.panel import MOST_MEMBERS
from grading.statistics.panel import PanelRule
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection
from rubricweb.grades import selectors
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.panel_making import form_panel
from rubricweb.grades.panels import CannotForm, PanelChoice, is_panel, panel_members


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "List the graders that have grades in the collection SLUG, or make a panel of some of them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        parser.add_argument(
            "--panel", nargs="+", metavar="ID", help="make a panel of these graders, and combine their grades"
        )
        rules = [rule.value for rule in PanelRule]
        parser.add_argument("--rule", choices=rules, default=PanelRule.MAJORITY.value, help="of the panel")
        parser.add_argument(
            "--quorum",
            type=int,
            choices=range(1, MOST_MEMBERS + 1),
            metavar="N",
            help="votes that a grade of the panel needs (default: more than half)",
        )
        parser.add_argument("--name", default="", help="of the panel (default: the names of its members)")

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        collection = collection_named(slug)
        if options["panel"]:
            choice = PanelChoice(PanelRule(options["rule"]), options["name"], options["quorum"] or 0)
            self._form_panel(collection, options["panel"], choice)
            return
        rows = [
            {
                "id": row.config.pk,
                "llm": row.config.llm,
                "prompt_class": row.config.prompt_class,
                "purpose": row.config.purpose,
                "answers_by": row.config.answers_by,
                "options": row.config.settings,
                **({"members": _ids(row.config)} if is_panel(row.config) else {}),
                "grades": row.grades,
            }
            for row in selectors.graders(collection)
        ]
        self.stdout.write(json.dumps({"graders": rows}) if options["json"] else _table(rows))

    def _form_panel(self, collection: Collection, ids: list[str], choice: PanelChoice) -> None:
        configs = {str(row.config.pk): row.config for row in selectors.graders(collection)}
        if unknown := [pk for pk in ids if pk not in configs]:
            listed = ", ".join(f"{pk} ({config})" for pk, config in configs.items()) or "none"
            raise CommandError(f"no grader {', '.join(unknown)} in {collection.slug}; there are: {listed}")
        try:
            jobs = form_panel(collection, [[configs[pk]] for pk in ids], choice, by=None)
        except CannotForm as refusal:
            raise CommandError(str(refusal)) from refusal
        for job in jobs:
            self.stdout.write(
                f"Panel {job.config.pk} ({job.config}): job {job.pk} combines {job.total:,} cells."
            )
        if not jobs:
            self.stdout.write("The panel has combined all that its members have graded.")


def _ids(config: GraderConfig) -> list[int]:
    return [member.pk for member in panel_members(config)]


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
