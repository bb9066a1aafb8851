"""Which cell, what was shown, and what each person says of it now."""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.accounts.models import User
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Passage
from rubricweb.grades.models import GraderConfig, HumanGrade


@dataclass(frozen=True, slots=True)
class Cell:
    """One wording and one passage, by primary keys."""

    topic_id: int
    revision_id: int
    passage_id: int

    @classmethod
    def of(cls, item: Item, passage: Passage) -> Cell:
        return cls(item.topic_id, item.revision_id, passage.pk)


@dataclass(frozen=True, slots=True)
class Shown:
    """The grader's rating that a person had before them."""

    config: GraderConfig
    rating: int | None


def said_by(person: User, cell: Cell) -> HumanGrade | None:
    """What the person said last of the cell, be it that they took it back."""
    mine = HumanGrade.objects.filter(by=person, revision=cell.revision_id, passage=cell.passage_id)
    return mine.order_by("-number").first()


def latest(cell: Cell) -> list[HumanGrade]:
    """What each person says now, in the order in which they said it; without what was taken back."""
    rows = HumanGrade.objects.filter(revision=cell.revision_id, passage=cell.passage_id).select_related("by")
    now = {row.by_id: row for row in rows.order_by("number")}
    return sorted((row for row in now.values() if not row.is_withdrawn), key=lambda row: row.pk)
