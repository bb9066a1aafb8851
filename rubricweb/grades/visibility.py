"""Which ratings a reader must not see yet: used by everything that reads ratings.

Whoever has to rate a cell independently must not see graders' or other people's ratings of it, nor any number
from which these could be computed. The rooms above say which cells these are (`register`). `ReaderMiddleware`
sets the reader; the matrices of graders and people, and the rows of single grades, then lack the cells hidden
from that person, and so does whatever is computed from them. Workers and commands say `everything()`; where
nobody said who reads, these raise `NoReader`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import get_language
from numpy.typing import NDArray

from rubricweb.accounts import roles
from rubricweb.banks.secrecy import readable, sees_secrets
from rubricweb.core.reader import Reader, reader, reading_as
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import TopicPool
from rubricweb.corpus.pseudonyms import shown_names

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

Places = frozenset[tuple[int, int]]
"""(revision, passage), by primary keys."""
Names = frozenset[tuple[str, int]]
"""(id of the wording, primary key of the passage)."""
Mask = NDArray[np.bool_]
"""Shape (passages, items): which cells are hidden."""
CACHED_MASKS = 2_000
NO_RUN = ""
"""Its pseudonym stands for all of them: both change with the collection's salt."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """The ratings of one topic that a reader must not see."""

    people: Places = frozenset()
    """Cells whose human ratings are hidden."""
    graders: Places = frozenset()
    """Cells whose grades are hidden; a subset of `people`."""
    uids: Mapping[int, str] = field(default_factory=dict)
    """The ids of the wordings, by revision."""

    def named(self, places: Places) -> Names:
        return frozenset((self.uids[revision], passage) for revision, passage in places)


NOTHING = Hidden()
HiddenByTopic = Mapping[int, Hidden]
"""By topic id; topics without hidden cells have `NOTHING`."""
Rows = TypeVar("Rows", bound=QuerySet[Any])
Rule = Callable[["User | None", int], QuerySet[Any]]  # rows of a model of a room above
"""(reader, collection) -> rows of hidden cells: `topic`, `revision`, `passage`, and `hides_graders`, which
says whether graders are hidden besides people. The reader is None for whoever has a public link.
"""
_rules: list[Rule] = []


class Refused(PermissionDenied):
    """The collection shows no sums to readers who have cells to rate blind."""


def register(rule: Rule) -> None:
    """Add a rule for which cells are hidden from whom; call it once per process, in `AppConfig.ready`."""
    if rule not in _rules:
        _rules.append(rule)


def reading_for_everybody() -> AbstractContextManager[None]:
    """Read ratings inside the block as for a public link, whose reader may be an assessor."""
    return reading_as(Reader())


def forget() -> None:
    """Look up again what is hidden, because the reader rated a cell in this request."""
    reader().known.clear()


def hidden_cells(collection_id: int) -> HiddenByTopic:
    """What is hidden from the reader."""
    now = reader()
    if now.sees_everything:
        return defaultdict(Hidden)
    if collection_id not in now.known:
        now.known[collection_id] = hidden_from(now.user, collection_id)
    known: HiddenByTopic = now.known[collection_id]
    return known


def hidden_from(user: User | None, collection_id: int, **narrowed: object) -> HiddenByTopic:
    """What is hidden from the user, or for None from a public link. `narrowed` to a topic or cell."""
    people: dict[int, set[tuple[int, int]]] = defaultdict(set)
    graders: dict[int, set[tuple[int, int]]] = defaultdict(set)
    uids: dict[int, dict[int, str]] = defaultdict(dict)
    names = ("topic_id", "revision_id", "passage_id", "revision__uid", "hides_graders")
    for rule in _rules:
        rows = rule(user, collection_id).filter(**narrowed).order_by()
        for topic, revision, passage, uid, hides_graders in rows.values_list(*names):
            people[topic].add((revision, passage))
            uids[topic][revision] = uid
            if hides_graders:
                graders[topic].add((revision, passage))
    by_topic = {
        topic: Hidden(frozenset(places), frozenset(graders[topic]), uids[topic])
        for topic, places in people.items()
    }
    return defaultdict(Hidden, by_topic)


def hidden_in_topic(user: User, topic: Topic) -> Hidden:
    """What is hidden from the user in one topic."""
    return hidden_from(user, topic.collection_id, topic=topic.pk)[topic.pk]


def hidden_of_cell(user: User, topic: Topic, revision_id: int, passage_id: int) -> Hidden:
    """What is hidden from the user of one cell: the cell itself, or nothing."""
    cell = {"revision": revision_id, "passage": passage_id}
    return hidden_from(user, topic.collection_id, **cell)[topic.pk]


def visible_grades(rows: Rows, collection_id: int) -> Rows:
    """Leave out grades that are hidden from the reader, and those of secret wordings."""
    rows = readable(rows)
    is_any = any(hidden.graders for hidden in hidden_cells(collection_id).values())
    return _outside(rows, collection_id, hides_graders=True) if is_any else rows


def visible_human_grades(rows: Rows, collection_id: int) -> Rows:
    """Leave out human ratings that are hidden from the reader, and those of secret wordings."""
    rows = readable(rows)
    return _outside(rows, collection_id) if any(hidden_cells(collection_id).values()) else rows


def _outside(rows: Rows, collection_id: int, **which: object) -> Rows:
    now = reader()
    if now.sees_everything:
        return rows
    place = {"revision": OuterRef("revision"), "passage": OuterRef("passage")}
    for rule in _rules:
        rows = rows.exclude(Exists(rule(now.user, collection_id).filter(**which, **place)))
    return rows


def is_hidden(collection_id: int, topic_id: int, place: tuple[int, int]) -> bool:
    """Whether the grades of (revision, passage) are hidden from the reader."""
    return place in hidden_cells(collection_id)[topic_id].graders


def what_reader_may_see(collection: Collection) -> list[object]:
    """Return all that pages of ratings and runs depend on in their reader, as JSON takes it.

    Readers of whom it is equal get the same page: role, secret items, names of runs, hidden cells, language.
    """
    now = reader()
    role = roles.role_in(now.user, collection.pk) if now.user is not None else None
    hidden = [
        (topic, sorted(cells.people), sorted(cells.graders))
        for topic, cells in sorted(hidden_cells(collection.pk).items())
    ]
    names = shown_names(collection.pk, (NO_RUN,))
    secrets = sees_secrets(collection.pk)
    return [role, now.sees_everything, secrets, names, hidden, collection.blind_sums, get_language()]


def hidden_count(collection_id: int) -> int:
    """How many cells are hidden from the reader, at least in part."""
    return sum(len(hidden.people) for hidden in hidden_cells(collection_id).values())


def refuse_sums(collection: Collection) -> None:
    """Raise Refused if the collection shows no sums to a reader from whom cells are hidden."""
    if collection.blind_sums != Collection.BlindSums.REFUSED:
        return
    if cells := hidden_count(collection.pk):
        raise Refused(
            f"{cells:,} cells of this collection are to be rated blind. Boards and files open for you "
            "again once you have rated yours."
        )


def mask(hidden: Iterable[tuple[int, int]], passages: Iterable[int], revisions: Iterable[int]) -> Mask:
    """Which cells of these rows and columns are hidden."""
    row_of = {pk: row for row, pk in enumerate(passages)}
    columns_of: dict[int, list[int]] = defaultdict(list)
    for column, revision in enumerate(revisions):
        columns_of[revision].append(column)
    mask = np.zeros((len(row_of), sum(map(len, columns_of.values()))), dtype=np.bool_)
    for revision, passage in hidden:
        if passage in row_of and revision in columns_of:
            mask[row_of[passage], columns_of[revision]] = True
    return mask


@lru_cache(maxsize=CACHED_MASKS)
def mask_of(pool: TopicPool, uids: tuple[str, ...], hidden: Names) -> Mask:
    """As `mask`, for a matrix of the whole pool, by the ids of its items."""
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    column_of = {uid: column for column, uid in enumerate(uids)}
    mask = np.zeros((len(row_of), len(uids)), dtype=np.bool_)
    for uid, passage in hidden:
        if passage in row_of and uid in column_of:
            mask[row_of[passage], column_of[uid]] = True
    return mask
