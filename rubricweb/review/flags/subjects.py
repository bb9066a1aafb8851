"""The subject of a flag."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Passage, Topic
from rubricweb.review.flags.models import Flag

Kind = Flag.Kind
OF_PASSAGES = frozenset({Kind.UNCOVERED})
OF_ITEMS = frozenset({Kind.SPURIOUS, Kind.WRONG_ANSWER})


@dataclass(frozen=True, slots=True)
class Subject:
    """An item of a bank, a passage of a topic's pool, or both: a cell."""

    bank: Bank
    topic: Topic
    item: Item | None = None
    passage: Passage | None = None

    @property
    def what(self) -> str:
        if self.item and self.passage:
            return "pair"
        return self.item.get_kind_display() if self.item else "passage"

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of flag that fit the subject."""
        unfit = (frozenset() if self.passage else OF_PASSAGES) | (frozenset() if self.item else OF_ITEMS)
        return [kind for kind in Kind if kind not in unfit]

    @property
    def key(self) -> str:
        """For ids in the page."""
        return "-".join(name + str(row.pk) for name, row in (("i", self.item), ("p", self.passage)) if row)

    @property
    def address(self) -> str:
        """The URL of its threads."""
        pks = {"item": self.item and self.item.pk, "passage": self.passage and self.passage.pk}
        named = urlencode({name: pk for name, pk in pks.items() if pk})
        return f"{reverse('review:subject-flags', args=[self.bank.pk, self.topic.pk])}?{named}"

    @property
    def place(self) -> str:
        """The URL where it is worked on: the cell, the item in the editor, or the passage in the grid."""
        bank, topic = self.bank.pk, self.topic.pk
        if self.item and self.passage:
            return reverse("review:cell", args=[bank, topic, self.passage.pk, self.item.pk])
        if self.item:
            return f"{reverse('editor:topic', args=[bank, topic])}#item-{self.item.pk}"
        grid = reverse("editor:topic", args=[bank, topic], query={"view": "grid"})
        return f"{grid}#p{self.passage.pk if self.passage else ''}"


def subject_of(flag: Flag) -> Subject:
    return Subject(flag.bank, flag.topic, flag.item, flag.passage)
