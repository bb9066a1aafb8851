"""The topics beside a screen of one topic, each with its state."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.urls import reverse

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.grades.raters import raters
from rubricweb.home.topics import ListedTopic, topic_rows
from rubricweb.home.waiting import conflict_topics

SCREENS = {"editor": "editor:topic"}
"""By the room of the screen: where its topics lead; all others to the grid."""


@dataclass(frozen=True, slots=True)
class RailTopic:
    topic: ListedTopic
    conflicts: int
    """Cells on which assessors differ; 0 for readers who do not decide them."""
    address: str


def rail_topics(bank: Bank, user: User, room: str) -> list[RailTopic]:
    """Return all topics in the collection's order, graded by the bank's default grader."""
    collection, conflicts = bank.collection, Counter[int]()
    if roles.holds(user, collection, roles.TO_EDIT_BANK):
        conflicts.update(topic for _, topic in conflict_topics(user, [collection]))
    route = SCREENS.get(room, "review:grid")
    return [
        RailTopic(row, conflicts[row.pk], reverse(route, args=[bank.pk, row.pk]))
        for row in topic_rows(collection, bank, raters(bank)[0])
    ]
