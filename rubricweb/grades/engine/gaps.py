"""The cells that have no grade, and those of which a grader is unsure.

They are arrays, or whole topics of which only the size is known. Keys and masks of many cells are packed as
short texts, which rows, archives and every database can hold.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from grading.types import Outcome
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CollectionPool, collection_pool, pooled_passages
from rubricweb.grades.configs import default_min_grade
from rubricweb.grades.models import Grade, GraderConfig, Pair
from rubricweb.grades.panels import all_member_matrices, is_panel
from rubricweb.grades.raters import graded_raters

KEY = np.dtype("<i8")
Mask = NDArray[np.bool_]
"""Shape (passages, revisions): True where a grade is missing or failed, and to be made."""


@dataclass(frozen=True, eq=False)
class TopicGap:
    """A set of cells of one topic."""

    topic_id: int
    revision_pks: tuple[int, ...]
    passage_pks: tuple[int, ...]
    mask: Mask

    @property
    def cells(self) -> int:
        return int(self.mask.sum())

    @property
    def items(self) -> int:
        """Return the number of wordings with at least one of the cells."""
        return int(self.mask.any(axis=0).sum())

    def pairs_by_passage(self) -> Iterator[list[Pair]]:
        """Yield the cells, one list per passage, in the pool's order."""
        for row in np.flatnonzero(self.mask.any(axis=1)).tolist():
            passage = self.passage_pks[row]
            yield [(self.revision_pks[column], passage) for column in np.flatnonzero(self.mask[row]).tolist()]

    def intersection(self, other: TopicGap) -> TopicGap:
        """Return the cells that the other has too, wherever they are in its rows and columns."""
        rows = _places(self.passage_pks, other.passage_pks)
        columns = _places(self.revision_pks, other.revision_pks)
        framed = np.pad(other.mask, ((0, 1), (0, 1)))  # what the other does not know is found in the frame
        return replace(self, mask=self.mask & framed[np.ix_(rows, columns)])

    def difference(self, other: TopicGap) -> TopicGap:
        """Return the cells that the other lacks."""
        return replace(self, mask=self.mask & ~self.intersection(other).mask)

    def without(self, cells: set[Pair]) -> TopicGap:
        mask = self.mask.copy()
        column_of = {pk: column for column, pk in enumerate(self.revision_pks)}
        row_of = {pk: row for row, pk in enumerate(self.passage_pks)}
        for revision, passage in cells:
            if revision in column_of and passage in row_of:
                mask[row_of[passage], column_of[revision]] = False
        return replace(self, mask=mask)


@dataclass(frozen=True, eq=False)
class WholeTopic:
    """All cells of a topic for some wordings. Its pool is only counted; `listed` reads single cells."""

    topic_id: int
    revision_pks: tuple[int, ...]
    passages: int
    """Number of passages from the start of the pool."""

    @property
    def cells(self) -> int:
        return self.passages * len(self.revision_pks)

    @property
    def items(self) -> int:
        return len(self.revision_pks) if self.passages else 0


Gap = TopicGap | WholeTopic


def listed(collection: Collection, gaps: Iterable[Gap]) -> list[TopicGap]:
    """Return the gaps with single cells, reading whole topics in one query."""
    some = list(gaps)
    pools = _pools(collection, some)
    return [_listed(gap, pools) for gap in some]


def difference(collection: Collection, gaps: Iterable[Gap], others: Iterable[Gap]) -> Iterator[Gap]:
    """Return the cells of each gap that no other gap has, without gaps that become empty."""
    for gap, theirs in _paired(collection, gaps, others):
        if isinstance(gap, WholeTopic):
            taken = {pk for other in theirs for pk in other.revision_pks}
            left: Gap = replace(gap, revision_pks=tuple(pk for pk in gap.revision_pks if pk not in taken))
        else:
            left = reduce(TopicGap.difference, theirs, gap)  # type: ignore[arg-type]  # listed, as the gap is
        if left.cells:
            yield left


def intersection(collection: Collection, gaps: Iterable[Gap], others: Iterable[Gap]) -> Iterator[Gap]:
    """Return the cells of each gap that another gap has too, without gaps that become empty."""
    for gap, theirs in _paired(collection, gaps, others):
        if isinstance(gap, WholeTopic):
            pks = {pk for other in theirs for pk in other.revision_pks}
            shared: Gap = replace(gap, revision_pks=tuple(pk for pk in gap.revision_pks if pk in pks))
        elif theirs:
            masks = [gap.intersection(other).mask for other in theirs]  # type: ignore[arg-type]
            shared = replace(gap, mask=np.logical_or.reduce(masks))
        else:
            continue
        if shared.cells:
            yield shared


def on_passages(
    collection: Collection, gaps: Iterable[Gap], passages: Mapping[int, frozenset[int]]
) -> Iterator[Gap]:
    """Return the cells of each gap on these passages, given by topic id, without gaps that become empty."""
    for gap in listed(collection, (each for each in gaps if each.topic_id in passages)):
        rows = np.isin(gap.passage_pks, list(passages[gap.topic_id]))
        left = replace(gap, mask=gap.mask & rows[:, np.newaxis])
        if left.cells:
            yield left


def _paired(
    collection: Collection, gaps: Iterable[Gap], others: Iterable[Gap]
) -> Iterator[tuple[Gap, list[Gap]]]:
    """Pair each gap with the other gaps of its topic.

    Either all are whole, the gap's passages among theirs, or all are listed.
    """
    by_topic: dict[int, list[Gap]] = defaultdict(list)
    for other in others:
        by_topic[other.topic_id].append(other)
    groups = [(gap, by_topic[gap.topic_id]) for gap in gaps]
    mixed = [(gap, *theirs) for gap, theirs in groups if not _can_stay(gap, theirs)]
    pools = _pools(collection, [each for group in mixed for each in group])
    for gap, theirs in groups:
        if _can_stay(gap, theirs):
            yield gap, theirs
        else:
            yield _listed(gap, pools), [_listed(other, pools) for other in theirs]


def _can_stay(gap: Gap, others: Sequence[Gap]) -> bool:
    if isinstance(gap, TopicGap):
        return not others
    # Wordings are not compared.
    return all(isinstance(other, WholeTopic) and (other.passages >= gap.passages) for other in others)


def _pools(collection: Collection, gaps: Iterable[Gap]) -> dict[int, list[int]]:
    whole = {gap.topic_id for gap in gaps if isinstance(gap, WholeTopic)}
    return pooled_passages(collection, whole) if whole else {}


def _listed(gap: Gap, pools: dict[int, list[int]]) -> TopicGap:
    if isinstance(gap, TopicGap):
        return gap
    passages = tuple(pools.get(gap.topic_id, ())[: gap.passages])
    mask = np.ones((len(passages), len(gap.revision_pks)), dtype=np.bool_)
    return TopicGap(gap.topic_id, gap.revision_pks, passages, mask)


def gaps_of(cells: dict[int, list[Pair]]) -> tuple[TopicGap, ...]:
    """Return gaps of exactly these cells, given by topic id."""
    gaps = []
    for topic_id, pairs in cells.items():
        revisions, passages = (tuple(dict.fromkeys(some)) for some in zip(*pairs, strict=True))
        mask = np.ones((len(passages), len(revisions)), dtype=np.bool_)
        every = TopicGap(topic_id, revisions, passages, mask)
        gaps.append(replace(every, mask=mask & ~every.without(set(pairs)).mask))
    return tuple(gaps)


def _places(mine: Sequence[int], others: Sequence[int]) -> NDArray[np.intp]:
    """Return where each key stands among the others; -1 where it is absent."""
    own, keys = np.asarray(mine, dtype=np.int64), np.asarray(others, dtype=np.int64)
    if not len(keys):
        return np.full(len(own), -1, dtype=np.intp)
    order = np.argsort(keys, kind="stable")
    nearest = order[np.minimum(np.searchsorted(keys, own, sorter=order), len(keys) - 1)]
    return np.where(keys[nearest] == own, nearest, -1)


def pack_keys(keys: Sequence[int]) -> str:
    """Pack primary keys in their order. Consecutive ones take next to no space.

    >>> unpack_keys(pack_keys([7, 8, 9, 4])).tolist()
    [7, 8, 9, 4]
    """
    return _text(np.diff(np.asarray(keys, dtype=KEY), prepend=KEY.type(0)).tobytes())


def unpack_keys(text: str) -> NDArray[np.int64]:
    return np.cumsum(np.frombuffer(_bytes(text), dtype=KEY), dtype=np.int64)


def pack_mask(mask: NDArray[np.bool_]) -> str:
    """Pack a mask to one bit a cell, row by row; empty where all are true."""
    return "" if mask.all() else _text(np.packbits(mask).tobytes())


def unpack_mask(text: str, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Unpack a mask of this shape.

    >>> unpack_mask(pack_mask(np.array([[True, False]])), (1, 2)).tolist()
    [[True, False]]
    """
    if not text:
        return np.ones(shape, dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(_bytes(text), dtype=np.uint8), count=shape[0] * shape[1])
    return bits.reshape(shape).astype(np.bool_)


def _text(content: bytes) -> str:
    return b64encode(zlib.compress(content)).decode("ascii")


def _bytes(text: str) -> bytes:
    return zlib.decompress(b64decode(text))


UNSURE_BELOW = 0.6
"""A grade with a lower confidence is unsure, where nobody says another limit."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The cells of which a grader is unsure.

    Its grade failed, or has a confidence below the limit. Of a panel without a limit: some of its members
    cover the item, and others do not.
    """

    configs: tuple[GraderConfig, ...]
    """Of one grader, one or more by kind of item."""
    below: float | None = None
    """The limit; None for the members of a panel, or UNSURE_BELOW for another grader."""

    @property
    def asks_members(self) -> bool:
        return self.below is None and is_panel(self.configs[0])

    @property
    def limit(self) -> float:
        return UNSURE_BELOW if self.below is None else self.below

    def __str__(self) -> str:
        grader = self.configs[0].llm
        if self.asks_members:
            return f"on which the members of {grader} disagree"
        return f"of which {grader} is less than {self.limit:.0%} sure, or which it failed to grade"


def doubt_by(collection: Collection, pk: int, below: float | None = None) -> Doubt | None:
    """Return the doubt of the rater with this config here; None without one."""
    named = (rater for rater in graded_raters(collection) if pk in {config.pk for config in rater.configs})
    rater = next(named, None)
    return Doubt(rater.configs, below) if rater else None


def doubtful_cells(collection: Collection, doubt: Doubt) -> tuple[TopicGap, ...]:
    """Return the cells of the doubt, whoever may see the ratings: a plan tells of none."""
    cells: dict[int, list[Pair]] = defaultdict(list)
    for config in doubt.configs:
        unsure = (
            _split(config, collection_pool(collection))
            if doubt.asks_members
            else _unsure(collection, config, doubt.limit)
        )
        for topic_id, cell in unsure:
            cells[topic_id].append(cell)
    return gaps_of(cells)


def _unsure(collection: Collection, config: GraderConfig, limit: float) -> Iterator[tuple[int, Pair]]:
    rows = Grade.objects.by(config).filter(topic__collection=collection)
    unsure = rows.filter(Q(confidence__lt=limit) | Q(outcome__in=(Outcome.FAILED, Outcome.DEFAULTED)))
    fields = unsure.order_by("topic", "passage", "revision").values_list("topic", "revision", "passage")
    for topic_id, revision, passage in fields.iterator(chunk_size=10_000):
        yield topic_id, (revision, passage)


def _split(config: GraderConfig, pool: CollectionPool) -> Iterator[tuple[int, Pair]]:
    """Yield the cells that some members of the panel cover, and others do not."""
    revisions: dict[int, dict[str, int]] = defaultdict(dict)
    rows = ItemRevision.including_secret.filter(topic__in=list(pool.by_topic))
    for topic_id, uid, pk in rows.values_list("topic_id", "uid", "pk").iterator(chunk_size=10_000):
        revisions[topic_id][uid] = pk
    by_member, least = all_member_matrices(config, pool), default_min_grade(config)
    for topic in pool.topics:
        uids = list(revisions[topic.topic_id])
        votes = by_member.votes(topic.topic_id, uids, len(topic.doc_ids))
        for row, column in np.argwhere(votes.split(least)).tolist():
            yield topic.topic_id, (revisions[topic.topic_id][uids[column]], topic.passage_pks[row])
