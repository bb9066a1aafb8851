"""Visibility of ratings to the reader, for everything that reads ratings.

Somebody who has to rate a cell independently must not see graders' or other people's ratings of it, nor any
number from which these could be computed, nor a grader's rating of a copy of its item (`_copies`). The rooms
above define these cells (`register`). `ReaderMiddleware` sets the reader; the matrices of graders and people
and the rows of single grades then lack the cells hidden from that person, and so does whatever is computed
from them. Workers and commands use `everything()`; without a reader these functions raise `NoReader`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from numpy.typing import NDArray

from grading.in_context import INSTRUCTION
from rubricweb.accounts import roles
from rubricweb.banks.models import ItemChange, ItemRevision
from rubricweb.banks.secrecy import readable, sees_secrets
from rubricweb.core.reader import Reader, read_once, reader, reading_as
from rubricweb.corpus import pools, pseudonyms
from rubricweb.corpus.models import Collection, Pooled, Topic
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GraderConfig, Pair

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

Pairs = frozenset[Pair]
Names = frozenset[tuple[str, int]]
"""Cells by id of the wording and primary key of the passage."""
Mask = NDArray[np.bool_]
"""Hidden cells, shape (passages, items)."""
PLACE = {"revision": OuterRef("revision"), "passage": OuterRef("passage")}
"""Filter for the cell of the row in an outer query."""
CACHED_MASKS = 2_000
NO_RUN = ""
"""Tag whose pseudonym stands for all of them: both change with the collection's salt."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """The ratings of one topic that a reader must not see."""

    ratings: Pairs = frozenset()
    """Cells whose human ratings are hidden: those that the reader has still to rate."""
    graders: Pairs = frozenset()
    """Cells whose grades are hidden: the blind ones of `ratings`, and copies on their passages."""
    uids: Mapping[int, str] = field(default_factory=dict)
    """Ids of the wordings, by revision."""

    def named(self, places: Pairs) -> Names:
        return frozenset((self.uids[revision], passage) for revision, passage in places)


NOTHING = Hidden()


class HiddenByTopic(defaultdict[int, Hidden]):
    """Hidden ratings by topic id; topics without hidden cells have nothing hidden."""

    def __init__(self, by_topic: Mapping[int, Hidden], since: datetime | None) -> None:
        """Store when the first of the blind cells was chosen as `since`, None without any."""
        super().__init__(Hidden, by_topic)
        self.since = since


Rows = TypeVar("Rows", bound=QuerySet[Any])
Rule = Callable[["User | None", int], QuerySet[Any]]
"""(reader, collection) -> rows of the cells that the reader has to rate: `topic`, `revision`, `passage`;
`since`, when it was chosen; `is_rated`, whether they rated it, so that it is hidden no more; `hides_graders`,
whether graders are hidden besides people. The reader is None for whoever has a public link.
"""
_rules: list[Rule] = []
"""The registered rule, if any."""
WORDED = (ItemChange.Verb.IMPORTED, ItemChange.Verb.ADDED, ItemChange.Verb.REWORDED)
"""Changes that give an item its wording."""


class Refused(PermissionDenied):
    """Raised where the collection shows no sums to readers who have cells to rate blind."""


def register(rule: Rule) -> None:
    """Set the rule for which cells are hidden from whom; call it once per process, in `AppConfig.ready`."""
    _rules[:] = [rule]


def _cells(user: User | None, collection_id: int) -> QuerySet[Any]:
    return _rules[0](user, collection_id)


def reading_for_everybody() -> AbstractContextManager[None]:
    """Read ratings inside the block as for a public link, whose reader may be an assessor."""
    return reading_as(Reader())


def forget() -> None:
    """Discard what was looked up, because the reader rated a cell in this request."""
    reader().hidden.clear()


def hidden_cells(collection_id: int) -> HiddenByTopic:
    """Return what is hidden from the reader."""
    now = reader()
    if now.sees_everything:
        return HiddenByTopic({}, None)
    if collection_id not in now.hidden:
        now.hidden[collection_id] = hidden_from(now.user, collection_id)
    hidden: HiddenByTopic = now.hidden[collection_id]
    return hidden


def without_grades(collection_id: int, topics: Iterable[int] | None = None) -> HiddenByTopic:
    """Return what is hidden from the reader, who is shown these topics' grades, or something derived."""
    return _counted(collection_id, topics, lambda hidden: hidden.graders)


def without_ratings(collection_id: int, topics: Iterable[int] | None = None) -> HiddenByTopic:
    """Return what is hidden from the reader, who is shown ratings by people, or something derived."""
    return _counted(collection_id, topics, lambda hidden: hidden.ratings)


def _counted(
    collection_id: int, topics: Iterable[int] | None, places: Callable[[Hidden], Pairs]
) -> HiddenByTopic:
    """Note the hidden cells: the page, or a header of the file, will say how many."""
    hidden = hidden_cells(collection_id)
    if not hidden:
        return hidden
    for topic in set(hidden) if topics is None else hidden.keys() & set(topics):
        if left_out := places(hidden[topic]):
            cells = reader().cells.setdefault(collection_id, set())
            cells.update((topic, *place) for place in left_out)
    return hidden


@read_once
def hidden_from(user: User | None, collection_id: int, **narrowed: object) -> HiddenByTopic:
    """Return what is hidden from the user, or with None from a public link.

    `narrowed` limits it, for example to a passage.
    """
    cells = _cells(user, collection_id)
    if cells.query.is_empty():
        return HiddenByTopic({}, None)
    ratings: dict[int, set[Pair]] = defaultdict(set)
    graders: dict[int, set[Pair]] = defaultdict(set)
    uids: dict[int, dict[int, str]] = defaultdict(dict)
    since: datetime | None = None
    rows = cells.filter(is_rated=False, **narrowed).order_by()
    fields = ("topic_id", "revision_id", "passage_id", "revision__uid", "hides_graders", "since")
    for topic, revision, passage, uid, hides_graders, chosen_at in rows.values_list(*fields):
        ratings[topic].add((revision, passage))
        uids[topic][revision] = uid
        if hides_graders:
            graders[topic].add((revision, passage))
            since = min(since or chosen_at, chosen_at)
    if since is not None:
        for topic, uid, place in _copies(user, collection_id, since, **narrowed):
            graders[topic].add(place)
            uids[topic][place[0]] = uid
    by_topic = {pk: Hidden(frozenset(ratings[pk]), frozenset(graders[pk]), uids[pk]) for pk in uids}
    return HiddenByTopic(by_topic, since)


def _copies(
    user: User | None, collection_id: int, since: datetime, **narrowed: object
) -> Iterator[tuple[int, str, Pair]]:
    """Yield topic, id of the wording and place of each cell that may be a copy of a blind one.

    A copy cannot be recognised by its words. So on passages with blind cells, the user sees only grades of
    what somebody else had worded before the first of these cells was chosen, and of cells that they rated.
    """
    later = _later_wordings(user, collection_id, since).values_list("topic_id", "pk", "uid")
    wordings: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for topic, revision, uid in later:
        wordings[topic].append((revision, uid))
    if not wordings:
        return
    cells = _cells(user, collection_id)
    blind = cells.filter(is_rated=False, hides_graders=True)
    rated = set(cells.filter(is_rated=True, **narrowed).values_list("revision_id", "passage_id"))
    pooled = Pooled.objects.filter(topic__in=list(wordings), passage__in=blind.values("passage"), **narrowed)
    for topic, passage in pooled.order_by().values_list("topic_id", "passage_id"):
        for revision, uid in wordings[topic]:
            if (revision, passage) not in rated:
                yield topic, uid, (revision, passage)


def _later_wordings(user: User | None, collection_id: int, since: datetime) -> QuerySet[ItemRevision]:
    """Return the wordings that nobody but the user gave to an item before `since`."""
    worded = ItemChange.including_secret.filter(revision=OuterRef("pk"), verb__in=WORDED)
    earlier = worded.filter(at__lt=since) if user is None else worded.filter(at__lt=since).exclude(by=user)
    rows = ItemRevision.including_secret.filter(topic__collection=collection_id)
    return rows.filter(Exists(worded), ~Exists(earlier)).order_by()


def hidden_in_topic(user: User, topic: Topic) -> Hidden:
    """Return what is hidden from the user in one topic."""
    return hidden_from(user, topic.collection_id)[topic.pk]


def hidden_of_cell(user: User, topic: Topic, revision_id: int, passage_id: int) -> Hidden:
    """Return what is hidden from the user of one cell: the cell itself, or nothing."""
    hidden = hidden_from(user, topic.collection_id, passage=passage_id)[topic.pk]
    cell = frozenset({(revision_id, passage_id)})
    if (now := reader()).user == user and cell & (hidden.ratings | hidden.graders):
        now.cells.setdefault(topic.collection_id, set()).add((topic.pk, revision_id, passage_id))
    return Hidden(hidden.ratings & cell, hidden.graders & cell, hidden.uids)


def visible_grades(rows: Rows, collection_id: int) -> Rows:
    """Leave out grades that are hidden from the reader, and those of secret wordings."""
    rows, hidden = readable(rows), without_grades(collection_id)
    if hidden.since is None:
        return rows
    user = reader().user
    cells = _cells(user, collection_id)
    blind = cells.filter(is_rated=False, hides_graders=True)
    rows = rows.exclude(Exists(blind.filter(**PLACE)))
    in_context = GraderConfig.objects.filter(options__prompt__template__startswith=INSTRUCTION)
    rows = rows.exclude(config__in=in_context.values("pk"))  # they tell of the same passages alone
    if not any(in_topic.graders - in_topic.ratings for in_topic in hidden.values()):
        return rows
    is_rated = Exists(cells.filter(is_rated=True, **PLACE))
    later = _later_wordings(user, collection_id, hidden.since)
    return rows.exclude(~is_rated, revision__in=later.values("pk"), passage__in=blind.values("passage"))


def visible_human_grades(rows: Rows, collection_id: int) -> Rows:
    """Leave out human ratings that are hidden from the reader, and those of secret wordings."""
    count_ratings(collection_id)
    return _visible_human_grades(readable(rows), collection_id)


def count_ratings(collection_id: int) -> None:
    """Note how many of the collection's ratings by people are hidden from the reader, who is shown a list.

    Of all that the reader will see, whatever the list selects: else a filter by ratings would tell of them.
    """
    now = reader()
    if not any(hidden.ratings for hidden in without_ratings(collection_id).values()):
        return
    rows = readable(HumanGrade.objects.filter(topic__collection=collection_id))
    total = rows.count()
    now.ratings[collection_id] = total - _visible_human_grades(rows, collection_id).count(), total


def _visible_human_grades(rows: Rows, collection_id: int) -> Rows:
    if not any(hidden.ratings for hidden in hidden_cells(collection_id).values()):
        return rows
    cells = _cells(reader().user, collection_id)
    return rows.exclude(Exists(cells.filter(is_rated=False, **PLACE)))


def blind_passages(collection_id: int) -> frozenset[int]:
    """Return the primary keys of the passages that the reader has to rate blind, whatever the topic."""
    by_topic = without_grades(collection_id).values()
    return frozenset(passage for hidden in by_topic for _, passage in hidden.graders)


def is_hidden(collection_id: int, topic_id: int, place: tuple[int, int]) -> bool:
    """Return whether the grades of (revision, passage) are hidden from the reader."""
    return place in hidden_cells(collection_id)[topic_id].graders


def what_reader_may_see(collection: Collection) -> list[object]:
    """Return all properties of the reader on which pages of ratings and runs depend, as JSON.

    Readers of whom it is equal get the same page: role, secret items, names of runs, hidden cells.
    """
    now = reader()
    role = roles.role_in(now.user, collection.pk) if now.user is not None else None
    return [role, now.sees_everything, sees_secrets(collection.pk), *what_reader_lacks(collection)]


def what_reader_lacks(collection: Collection) -> list[object]:
    """Return the names and cells that are hidden from the reader, as JSON.

    Boards of readers of whom it is equal are equal: secret items count for everybody.
    """
    hidden = [
        (topic, sorted(cells.ratings), sorted(cells.graders))
        for topic, cells in sorted(without_ratings(collection.pk).items())
    ]
    return [pseudonyms.shown_names(collection.pk, (NO_RUN,)), hidden, collection.blind_sums]


def hidden_count(collection_id: int) -> int:
    """Return how many cells are hidden from the reader, at least in part."""
    return sum(len(hidden.ratings) for hidden in without_ratings(collection_id).values())


def refuse_sums(collection: Collection) -> None:
    """Raise Refused if the collection shows no sums to a reader from whom cells are hidden."""
    if collection.blind_sums != Collection.BlindSums.REFUSED:
        return
    if cells := hidden_count(collection.pk):
        raise Refused(
            f"{cells:,} pairs of this collection are to be rated blind. Boards and files open for you "
            "again once you have rated yours."
        )


def mask(hidden: Iterable[tuple[int, int]], passages: Iterable[int], revisions: Iterable[int]) -> Mask:
    """Return which cells of these rows and columns are hidden."""
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
def mask_of(pool: pools.TopicPool, uids: tuple[str, ...], hidden: Names) -> Mask:
    """Return `mask` for a matrix of the whole pool, by the ids of its items."""
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    column_of = {uid: column for column, uid in enumerate(uids)}
    mask = np.zeros((len(row_of), len(uids)), dtype=np.bool_)
    for uid, passage in hidden:
        if passage in row_of and uid in column_of:
            mask[row_of[passage], column_of[uid]] = True
    return mask
