"""Fields of bank files that we do not model, kept by dialect as they were read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grading.formats.banks import BankLine, Dialect
from grading.formats.banks.importance import Weighed, is_known
from rubricweb.banks.models import Bank, BankTopic, Item
from rubricweb.corpus.importers.base import Tally, some
from rubricweb.corpus.models import Topic


class UnmodelledFields:
    """The foreign parts of one file. What the bank has already stays, with a note where the file differs."""

    def __init__(self, path: Path, dialect: Dialect, tally: Tally) -> None:
        self._file, self._dialect, self._tally = path.name, dialect, tally
        self._changed: list[Item] = []
        self._differing: list[str] = []
        self._weighed_otherwise: list[str] = []

    def set_on(self, item: Item, foreign: dict[str, Any] | None) -> None:
        """Set the fields of an item that is about to be saved."""
        if foreign is not None:
            item.foreign = {**(item.foreign or {}), self._dialect.foreign_name: foreign}

    def add_to(self, item: Item, foreign: dict[str, Any] | None, weight: Weighed | None) -> bool:
        """Return whether they were added to an item that the bank has.

        Its importance stays, since people may have chosen it.
        """
        if weight is not None and (item.importance, item.weight) != weight:
            self._weighed_otherwise.append(item.revision.uid)
        before = (item.foreign or {}).get(self._dialect.foreign_name)
        if foreign is not None and before is None:
            self.set_on(item, foreign)
            self._changed.append(item)
            return True
        if foreign not in (None, before):
            self._differing.append(item.revision.uid)
        return False

    def save(self, bank: Bank, lines: list[BankLine], topics: Mapping[str, Topic]) -> bool:
        """Save them, and return whether the file says of a topic what the bank did not have."""
        Item.objects.bulk_update(self._changed, ["foreign"])
        is_changed = self._save_heads(bank, lines, topics)
        self._note(lines)
        return is_changed

    def _save_heads(self, bank: Bank, lines: list[BankLine], topics: Mapping[str, Topic]) -> bool:
        held = {row.topic_id: row for row in bank.bank_topics.all()}
        stored, changed = set(held), dict[int, BankTopic]()
        for line in lines:
            topic = topics[line.query_id]
            row = held.setdefault(topic.pk, BankTopic(bank=bank, topic=topic))
            if line.foreign is not None and self._is_added(row, line):
                changed[topic.pk] = row
        BankTopic.objects.bulk_update([row for pk, row in changed.items() if pk in stored], ["foreign"])
        BankTopic.objects.bulk_create([row for pk, row in changed.items() if pk not in stored])
        return bool(changed)

    def _is_added(self, row: BankTopic, line: BankLine) -> bool:
        """Add the line to those of its topic, unless it is there, or another one where only one may be."""
        lines = row.foreign.setdefault(self._dialect.foreign_name, [])
        if line.foreign in lines:
            return False
        if lines and not self._dialect.repeats_topics:
            self._differing.append(f"topic {line.query_id}")
            return False
        lines.append(line.foreign)
        return True

    def _note(self, lines: list[BankLine]) -> None:
        items = [item for line in lines for item in line.items]
        unknown = [item for item in items if not is_known(item.parts.get("importance"))]
        nested = sum(len(item.parts.get("sub_nuggets") or []) for item in items)
        if self._differing:
            self._tally.note(
                f"{self._file} says more or other things than an earlier file, whose stay: "
                f"{some(dict.fromkeys(self._differing))}"
            )
        if self._weighed_otherwise:
            self._tally.note(
                f"{self._file} has another importance or weight than the rubric, whose stays: "
                f"{some(dict.fromkeys(self._weighed_otherwise))}"
            )
        if unknown:
            levels = some(dict.fromkeys(str(item.parts["importance"]) for item in unknown))
            self._tally.note(
                f"{self._file} has importances that are no known words and count as vital: {levels}"
            )
        if nested:
            self._tally.note(
                f"{self._file}: sub-nuggets that are kept with their items and not graded: {nested:,}"
            )
        if self._dialect.name == "assign":
            self._tally.note(
                f"{self._file}: assignments are kept with the rubric; they become grades where their author "
                "is named (--assignments FILE --by NAME)"
            )
