"""Which cells of a collection have no grade yet, or only a failed one: arrays, not a query a cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grading.types import FAILED, MISSING, ItemKind, Outcome, Purpose
from rubricweb.banks.models import DIRECT_UID, Item, ItemRevision
from rubricweb.banks.querysets import ItemQuerySet
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.engine.answers import answered_cells, asks_with_key, reads_answers
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.querysets import GradeQuerySet
from rubricweb.grades.visibility import seeing_everything

Cell = tuple[int, int]
"""(revision pk, passage pk)."""
Mask = NDArray[np.bool_]
"""Shape (passages, revisions): True where a grade is wanted, and missing or failed."""


@dataclass(frozen=True, slots=True)
class ItemToGrade:
    """A wording that a config has to grade on the pool of its topic."""

    revision_pk: int
    uid: str
    has_text: bool


Wanted = dict[int, list[ItemToGrade]]
"""By topic: the wordings to grade."""


@dataclass(frozen=True, eq=False)
class TopicGap:
    """The missing cells of one topic."""

    topic_id: int
    revision_pks: tuple[int, ...]
    passage_pks: tuple[int, ...]
    mask: Mask

    @property
    def cells(self) -> int:
        return int(self.mask.sum())

    @property
    def items(self) -> int:
        """Wordings with at least one missing cell."""
        return int(self.mask.any(axis=0).sum())

    def pairs_by_passage(self) -> Iterator[list[Cell]]:
        """The missing cells, one list a passage, in the pool's order."""
        for row in np.flatnonzero(self.mask.any(axis=1)).tolist():
            passage = self.passage_pks[row]
            yield [(self.revision_pks[column], passage) for column in np.flatnonzero(self.mask[row]).tolist()]

    def within(self, other: TopicGap) -> TopicGap:
        """The cells that the other has too, wherever in its rows and columns."""
        rows = _places(self.passage_pks, other.passage_pks)
        columns = _places(self.revision_pks, other.revision_pks)
        framed = np.pad(other.mask, ((0, 1), (0, 1)))  # what the other does not know is found in the frame
        return replace(self, mask=self.mask & framed[np.ix_(rows, columns)])

    def minus(self, other: TopicGap) -> TopicGap:
        """The cells that the other lacks."""
        return replace(self, mask=self.mask & ~self.within(other).mask)

    def without(self, cells: set[Cell]) -> TopicGap:
        mask = self.mask.copy()
        column_of = {pk: column for column, pk in enumerate(self.revision_pks)}
        row_of = {pk: row for row, pk in enumerate(self.passage_pks)}
        for revision, passage in cells:
            if revision in column_of and passage in row_of:
                mask[row_of[passage], column_of[revision]] = False
        return replace(self, mask=mask)


def _places(mine: Sequence[int], others: Sequence[int]) -> NDArray[np.intp]:
    """Where each key stands among the others; -1 for one that they lack."""
    wanted, keys = np.asarray(mine, dtype=np.int64), np.asarray(others, dtype=np.int64)
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.intp)
    order = np.argsort(keys, kind="stable")
    found = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[found] == wanted, found, -1)


@dataclass(frozen=True, eq=False)
class Missing:
    """What one config has still to grade."""

    config: GraderConfig
    gaps: tuple[TopicGap, ...]
    """Topics with at least one missing cell."""
    wordless_pks: frozenset[int]
    """Revisions that cannot be graded, because only their id is known and not their text."""
    unanswered: tuple[TopicGap, ...] = ()
    """The cells that cannot be graded yet, because no answer was extracted that could be verified."""

    @property
    def wordless(self) -> int:
        return len(self.wordless_pks)

    @property
    def unextracted(self) -> int:
        return sum(gap.cells for gap in self.unanswered)

    @property
    def cells(self) -> int:
        return sum(gap.cells for gap in self.gaps)

    @property
    def scope(self) -> str:
        """In words, for people: "5 items of 2 topics"."""
        items, topics = sum(gap.items for gap in self.gaps), len(self.gaps)
        return (
            f"{items} {'item' if items == 1 else 'items'} of {topics} {'topic' if topics == 1 else 'topics'}"
        )


def missing_cells(
    collection: Collection,
    configs: Iterable[GraderConfig],
    *,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
) -> list[Missing]:
    """By config: the cells of active items over the pools of their topics that have no grade of it.

    `topics` and `items` narrow it; a direct config has one wording a topic, whatever the items are.
    """
    return _sought(collection, configs, (topics, items), value=MISSING)


def failed_cells(
    collection: Collection,
    configs: Iterable[GraderConfig],
    *,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
) -> list[Missing]:
    """The same for cells whose grade is a failed one."""
    return _sought(collection, configs, (topics, items), value=FAILED)


def asked_cells(
    collection: Collection, configs: Iterable[GraderConfig], *, topics: Iterable[Topic]
) -> list[Missing]:
    """The same whatever their grade is, if they have one."""
    return _sought(collection, configs, (topics, None), value=None)


def missing_over(
    collection: Collection, configs: Iterable[GraderConfig], pool: CollectionPool
) -> list[Missing]:
    """As `missing_cells`, over a pool that may be only supposed: none of its matrices are kept."""
    items = Item.including_secret.filter(bank__collection=collection)
    wanted = {config: _wanted(config, items, set(pool.by_topic)) for config in configs}
    return [_missing(config, pool, asked, MISSING, look=_in_rows) for config, asked in wanted.items()]


def _sought(
    collection: Collection,
    configs: Iterable[GraderConfig],
    scope: tuple[Iterable[Topic] | None, ItemQuerySet | None],
    *,
    value: int | None,
) -> list[Missing]:
    topics, items = scope
    pool = collection_pool(collection)
    topic_ids = set(pool.by_topic) if topics is None else {topic.pk for topic in topics}
    asked = Item.including_secret.filter(bank__collection=collection) if items is None else items
    return [_missing(config, pool, _wanted(config, asked, topic_ids), value) for config in configs]


def _wanted(config: GraderConfig, items: ItemQuerySet, topic_ids: set[int]) -> Wanted:
    """By topic: the wordings to grade, each once, in the order of the banks."""
    kinds = kinds_of(config)
    wanted: dict[int, dict[int, ItemToGrade]] = {topic_id: {} for topic_id in topic_ids}
    if ItemKind.DIRECT in kinds:
        return _wanted_directly(topic_ids)
    asked = items.active().of_kinds(kinds).order_by("topic_id", "position", "pk")
    if config.purpose == Purpose.VERIFY or asks_with_key(config):  # else there is nothing to compare with
        asked = asked.with_answer_key()
    rows = asked.values_list("topic_id", "revision_id", "revision__uid", "revision__text")
    for topic_id, pk, uid, text in rows.iterator(chunk_size=2_000):
        if topic_id in wanted:
            wanted[topic_id][pk] = ItemToGrade(pk, uid, bool(text))
    return {topic_id: list(found.values()) for topic_id, found in wanted.items() if found}


def _wanted_directly(topic_ids: set[int]) -> Wanted:
    """The direct wording of each topic; its pk is 0 until a job starts (see `actions.start_grading`)."""
    rows = ItemRevision.including_secret.filter(uid=DIRECT_UID, topic__in=topic_ids)
    made = {topic_id: (pk, text) for topic_id, pk, text in rows.values_list("topic_id", "pk", "text")}
    topics = Topic.objects.filter(pk__in=topic_ids).values_list("pk", "text")
    return {
        pk: [ItemToGrade(made.get(pk, (0, ""))[0], DIRECT_UID, bool(made.get(pk, (0, ""))[1] or text))]
        for pk, text in topics
    }


def _missing(
    config: GraderConfig,
    pool: CollectionPool,
    wanted: Wanted,
    value: int | None,
    *,
    look: Callable[[GraderConfig, CollectionPool, Wanted, int], list[Mask]] | None = None,
) -> Missing:
    """The cells with this value; all of them if it is None. `look` finds them."""
    wordless = frozenset(one.revision_pk for found in wanted.values() for one in found if not one.has_text)
    worded = {topic_id: [one for one in found if one.has_text] for topic_id, found in wanted.items()}
    part = replace(pool, topics=tuple(topic for topic in pool.topics if worded.get(topic.topic_id)))
    if value is None:
        return Missing(config, _gaps(part, worded, _masks(part, worded, filled=True)), wordless)
    look = look or (_in_matrices if config.purpose in RATED else _in_rows)
    masks = look(config, part, worded, value)
    unread = _unread(config, part, worded)
    gaps = _gaps(part, worded, [mask & ~absent for mask, absent in zip(masks, unread, strict=True)])
    unanswered = _gaps(part, worded, [mask & absent for mask, absent in zip(masks, unread, strict=True)])
    return Missing(config, gaps, wordless, unanswered)


def _gaps(pool: CollectionPool, wanted: Wanted, masks: list[Mask]) -> tuple[TopicGap, ...]:
    """Of the topics with at least one such cell."""
    pairs = [(topic, mask) for topic, mask in zip(pool.topics, masks, strict=True) if mask.any()]
    return tuple(
        TopicGap(
            topic.topic_id, tuple(o.revision_pk for o in wanted[topic.topic_id]), topic.passage_pks, mask
        )
        for topic, mask in pairs
    )


def _unread(config: GraderConfig, pool: CollectionPool, wanted: Wanted) -> list[Mask]:
    """True where the config verifies an answer and there is none yet."""
    if not reads_answers(config):
        return _masks(pool, wanted, filled=False)
    answered = answered_cells(config, (topic.topic_id for topic in pool.topics))
    return [_without(topic, wanted[topic.topic_id], answered[topic.topic_id]) for topic in pool.topics]


def _masks(pool: CollectionPool, wanted: Wanted, *, filled: bool) -> list[Mask]:
    return [np.full((len(t.passage_pks), len(wanted[t.topic_id])), filled) for t in pool.topics]


RATED = (Purpose.RATE, Purpose.DIRECT)
"""The purposes whose grades are all in the matrix; extracted answers have no rating and are not."""


def _in_matrices(config: GraderConfig, pool: CollectionPool, wanted: Wanted, value: int) -> list[Mask]:
    with seeing_everything():
        grades = matrices(config, pool)
    uids = {topic.topic_id: tuple(one.uid for one in wanted[topic.topic_id]) for topic in pool.topics}
    return [grades[t.topic_id].matrix.columns(uids[t.topic_id]).ratings == value for t in pool.topics]


def _in_rows(config: GraderConfig, pool: CollectionPool, wanted: Wanted, value: int) -> list[Mask]:
    rows = Grade.objects.by(config).for_topics(topic.topic_id for topic in pool.topics)
    if value == FAILED:
        rows = rows.filter(outcome=Outcome.FAILED)
    found: dict[int, set[Cell]] = defaultdict(set)
    for topic_id, revision, passage in rows.values_list("topic_id", "revision_id", "passage_id").iterator(
        10_000
    ):
        found[topic_id].add((revision, passage))
    absent = [_without(topic, wanted[topic.topic_id], found[topic.topic_id]) for topic in pool.topics]
    return [~mask for mask in absent] if value == FAILED else absent


def _without(topic: TopicPool, wanted: list[ItemToGrade], read: set[Cell]) -> Mask:
    revision_pks = tuple(one.revision_pk for one in wanted)
    mask = np.ones((len(topic.passage_pks), len(revision_pks)), dtype=np.bool_)
    return TopicGap(topic.topic_id, revision_pks, topic.passage_pks, mask).without(read).mask


def cells_of(grades: GradeQuerySet) -> list[Missing]:
    """The cells of these grades, by config."""
    cells: dict[GraderConfig, dict[int, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for grade in grades.select_related("config").order_by("topic_id", "passage_id", "revision_id"):
        cells[grade.config][grade.topic_id].append((grade.revision_id, grade.passage_id))
    return [Missing(config, gaps_of(by_topic), frozenset()) for config, by_topic in cells.items()]


def gaps_of(cells: dict[int, list[Cell]]) -> tuple[TopicGap, ...]:
    """By topic id: exactly these cells."""
    gaps = []
    for topic_id, wanted in cells.items():
        revisions, passages = (tuple(dict.fromkeys(some)) for some in zip(*wanted, strict=True))
        mask = np.ones((len(passages), len(revisions)), dtype=np.bool_)
        every = TopicGap(topic_id, revisions, passages, mask)
        gaps.append(replace(every, mask=mask & ~every.without(set(wanted)).mask))
    return tuple(gaps)
