"""A cell, the rating shown to a person, and each person's latest event for a cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Q

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
    channel: str = field(default="", compare=False)
    """Of its collection's live events; looked up if empty."""

    @classmethod
    def of(cls, item: Item, passage: Passage) -> Cell:
        return cls(item.topic_id, item.revision_id, passage.pk)


@dataclass(frozen=True, slots=True)
class ShownRating:
    """The grader's rating that the person saw."""

    config: GraderConfig
    rating: int | None


def latest_by(person: User, cell: Cell) -> HumanGrade | None:
    """Return the person's latest event for the cell, a withdrawal included."""
    mine = HumanGrade.objects.filter(by=person, revision=cell.revision_id, passage=cell.passage_id)
    return mine.order_by("-number").first()


def latest_by_cell(person: User, cells: Iterable[Cell]) -> dict[Cell, HumanGrade]:
    """Return `latest_by` of each cell that the person rated, in one query."""
    by_place = {(cell.revision_id, cell.passage_id): cell for cell in cells}
    if not by_place:
        return {}
    places = Q()
    for revision, passage in by_place:
        places |= Q(revision=revision, passage=passage)
    rows = HumanGrade.objects.filter(places, by=person).order_by("number")
    return {by_place[row.revision_id, row.passage_id]: row for row in rows}


def latest(cell: Cell) -> list[HumanGrade]:
    """Return each person's latest event, oldest first, without withdrawals."""
    rows = HumanGrade.objects.filter(revision=cell.revision_id, passage=cell.passage_id).select_related("by")
    now = {row.by_id: row for row in rows.order_by("number")}
    return sorted((row for row in now.values() if not row.is_withdrawn), key=lambda row: row.pk)
