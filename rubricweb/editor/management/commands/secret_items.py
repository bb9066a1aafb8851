"""`rubricweb secret_items SLUG BANK`: list the secret items of a bank, keep more secret, make some public."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import CommandError

from grading.errors import BadFormat
from grading.formats.reading import lines
from rubricweb.banks import access, changes
from rubricweb.banks.models import Bank, Item
from rubricweb.core.reader import OperatorCommand

ALL = "all"


class Command(OperatorCommand):
    help = (
        "List the ids of the secret items of the bank BANK, after the changes asked for. Of whatever has the "
        "same words all becomes secret or public together."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("bank", metavar="BANK")
        change = parser.add_mutually_exclusive_group()
        help_text = f"item ids, a file with one a line (@FILE), or {ALL}"
        change.add_argument("--hide", nargs="+", metavar="ID", help=f"keep these secret: {help_text}")
        change.add_argument("--show", nargs="+", metavar="ID", help="make these public, likewise")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, slug: str, bank: str, **options: Any) -> None:
        rubric = access.named_bank(slug, bank)
        for option, change in (("hide", changes.hide_items), ("show", changes.show_items)):
            if options[option]:
                self._change(option, change, _items(rubric, _ids(options[option])))
        secret = rubric.items.active().filter(revision__is_secret=True).order_by("topic", "position")
        uids = list(secret.values_list("revision__uid", flat=True))
        self.stdout.write(json.dumps({"secret": uids}) if options["json"] else "\n".join(uids))
        self.stderr.write(
            f"{len(secret):,} of {rubric.items.active().count():,} items of {rubric} are secret."
        )

    def _change(self, option: str, change: Any, items: list[Item]) -> None:
        try:
            count = change(items, by=None)
        except changes.StaysSecret as error:
            raise CommandError(str(error)) from error
        self.stderr.write(f"--{option}: {count:,} of {len(items):,} items changed.")


def _ids(named: list[str]) -> list[str]:
    ids = []
    for name in named:
        ids += _lines(Path(name[1:])) if name.startswith("@") else [name]
    return ids


def _lines(path: Path) -> list[str]:
    try:
        return [text.strip() for _, text in lines(path) if text.strip()]
    except BadFormat as error:
        raise CommandError(str(error)) from error


def _items(bank: Bank, ids: list[str]) -> list[Item]:
    """Return the items with these ids. Raises CommandError for an id that no item has."""
    rows = bank.items.active().select_related("revision")
    if ids == [ALL]:
        return list(rows)
    items = {item.revision.uid: item for item in rows.filter(revision__uid__in=ids)}
    if unknown := [uid for uid in ids if uid not in items]:
        raise CommandError(f"{bank} has no item {', '.join(unknown[:5])}; `export_bank` lists them.")
    return list(items.values())
