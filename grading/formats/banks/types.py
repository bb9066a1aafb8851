"""What every dialect of banks is read into and written from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grading.types import Importance, ItemKind

Json = dict[str, Any]  # a JSON object, as a file has it
Parts = Mapping[str, Any]
"""What a file says of an item or topic besides what `BankItem` and `BankLine` model, by the keys of the
AutoJudge bank v3 (`answers` with their references, `aggregator_type`, `sub_nuggets`, `creator`, ...).

What v3 has no key for stands under `metadata.rubricweb.<dialect>`, which AutoJudge's tools keep.
"""


@dataclass(frozen=True, slots=True)
class BankItem:
    """A question or nugget. `gold_answers` is empty where the bank has no answer key.

    Two items are equal if what is modelled of them is equal.
    """

    item_id: str
    kind: ItemKind
    text: str
    facet_id: str = ""
    gold_answers: tuple[str, ...] = ()
    importance: Importance | None = None
    """None where the file does not say."""
    weight: float | None = None
    """None: that of the importance."""
    facet_text: str = ""
    parts: Parts = field(default_factory=dict, compare=False)
    foreign: Json | None = field(default=None, compare=False)
    """The item as the file has it, from which a writer of the same dialect starts; None: nothing but what is
    modelled.
    """
    is_secret: bool = False
    """Nobody below topic developer may read it."""


@dataclass(frozen=True, slots=True)
class BankLine:
    """The items of one topic, or of one subtopic of it. `facet_id` and `facet_text` are empty for a whole
    topic; in some dialects a topic takes several lines.
    """

    query_id: str
    query_text: str
    facet_id: str
    facet_text: str
    test_collection: str
    line: int
    items: list[BankItem]
    parts: Parts = field(default_factory=dict, compare=False)
    foreign: Json | None = field(default=None, compare=False)
    """The line as the file has it, without its items; None: nothing but what is modelled."""

    def in_other_dialect(self) -> BankLine:
        """The line for a writer of another dialect than it was read from, with nothing but its parts."""
        return replace(self, foreign=None, items=[replace(item, foreign=None) for item in self.items])


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record stands: its line, and the file's name for dialects whose files name their topic."""

    line: int
    file: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one tool or track writes banks. Readers raise `BadFormat` without a place; the caller adds it."""

    name: str
    label: str
    recognises: Callable[[Sequence[Json]], bool]
    """Whether these records, all of a file's, are of this dialect."""
    read: Callable[[Json, Source], BankLine]
    write: Callable[[BankLine], Json]
    source: str
    """Where it is described."""
    parts: Callable[[Json], Parts]
    """The parts of an item as a file of this dialect has it (`BankItem.foreign`)."""
    head_parts: Callable[[Json], Parts]
    """The parts of a line (`BankLine.foreign`)."""
    file_name: str = ""
    """With `{query_id}`: every topic is a file of its own of this name."""
    repeats_topics: bool = False
    """A topic may take several lines."""
    has_item_per_record: bool = False
    """A record is one item, and a topic takes as many as it has."""
    leaves_out: Callable[[BankItem], bool] = lambda item: False
    """Whether an item gets no record, where each has its own."""
    is_read: bool = True
    shares: str = ""
    """The dialect whose foreign parts are this one's, too; empty: its own alone."""
    refuses: Callable[[BankItem], str] = lambda item: ""
    """Why no bank with this item can be written at all; empty if it can."""
    warns: Callable[[BankItem], str] = lambda item: ""
    """What readers of the written file will make of this item; empty if nothing is to be said."""

    @property
    def foreign_name(self) -> str:
        """Under which name foreign parts that its writer starts from are kept."""
        return self.shares or self.name

    def records(self, line: BankLine) -> list[Json]:
        """What is written of a line: a record, or one for each of its items."""
        if not self.has_item_per_record:
            return [self.write(line)]
        return [self.write(replace(line, items=[item])) for item in line.items if not self.leaves_out(item)]
