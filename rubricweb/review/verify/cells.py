"""All cells of a bank that a grader rated, as flat arrays, with what people said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grading.types import Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.grades import visibility
from rubricweb.grades.humans import corrected, human_matrices
from rubricweb.grades.humans.actions import HumanGradeError
from rubricweb.grades.humans.draws import drawn_mask, uniform_draws
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn, Mask, asked_by_topic, ratings_of
from rubricweb.grades.visibility import hidden_from
from rubricweb.review.selectors.layers import Layers, checked_of, people_of

Keys = NDArray[np.uint64]
CACHED_TOPICS = 4_000
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class TopicCells:
    """One topic: arrays of shape (passages, items)."""

    pool: TopicPool
    asked: tuple[ItemColumn, ...]
    graded: Ratings
    people: Ratings
    checked: Mask
    hidden: Mask
    """The reader is to rate the cell blind: it is not theirs to check yet."""
    drawn: Mask
    """A campaign drew the cell at random from all of the bank's, and somebody rated it."""
    drawn_elsewhere: Mask
    """The same of draws that stand for other cells than these."""
    keys: Keys
    """Random numbers that a cell always has: their order is a random order, decided before anybody looks."""

    @property
    def unchecked(self) -> Mask:
        return np.asarray((self.graded >= 0) & ~self.checked)


@dataclass(frozen=True, eq=False)
class BankCells:
    """The rated cells of all topics in one row."""

    topics: tuple[TopicCells, ...]
    wordless: int
    """Items without text, of which nothing can be checked."""

    def flat(self, name: str) -> NDArray[np.generic]:
        found = [getattr(topic, name)[topic.graded >= 0] for topic in self.topics]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int8)

    @property
    def checked(self) -> int:
        """Rated cells that people have seen to."""
        return sum(int((topic.checked & (topic.graded >= 0)).sum()) for topic in self.topics)

    @property
    def hidden(self) -> int:
        """Cells that the reader may not see yet."""
        return sum(int(topic.hidden.sum()) for topic in self.topics)


def bank_cells(bank: Bank, rater: Rater, reader: User) -> BankCells:
    """Of items with text: what was asked in the others nobody can check."""
    pool = collection_pool(bank.collection)
    graded = {kind: matrices(config, pool) for kind, config in rater.by_kind.items()}
    by_config = {config: corrected(config, pool) for config in rater.configs}
    people, veils = human_matrices(pool), hidden_from(reader, bank.collection_id)
    found, wordless, by_topic = [], 0, asked_by_topic(bank)
    draws = _draws(bank, by_topic)
    for topic_id, items in by_topic.items():
        topic, asked = pool.by_topic[topic_id], tuple(one for one in items if one.has_text)
        wordless += len(items) - len(asked)
        rated = {kind: grades[topic_id] for kind, grades in graded.items()}
        checks = {k: TopicGrades(topic, by_config[c][topic_id].checked) for k, c in rater.by_kind.items()}
        layers = Layers(rated, {}, checks, people[topic_id], {})
        passages = len(topic.doc_ids)
        ratings = ratings_of(rated, asked, passages)
        said, checked = people_of(layers, asked), checked_of(layers, asked, passages)
        blind = veils[topic_id].graders
        hidden = visibility.mask(blind, topic.passage_pks, [one.revision_pk for one in asked])
        uids = tuple(one.uid for one in asked)
        drawn, elsewhere = (drawn_mask(people[topic_id], uids, one) for one in draws)
        keys = _keys(topic, asked)
        found.append(TopicCells(topic, asked, ratings, said, checked, hidden, drawn, elsewhere, keys))
    order = {topic.topic_id: place for place, topic in enumerate(pool.topics)}
    return BankCells(tuple(sorted(found, key=lambda topic: order[topic.pool.topic_id])), wordless)


def _draws(bank: Bank, asked: Mapping[int, tuple[ItemColumn, ...]]) -> tuple[frozenset[int], frozenset[int]]:
    """The draws that took all cells of the bank's items alike, and the others."""
    wanted = {one.revision_pk for items in asked.values() for one in items if one.has_text}
    return uniform_draws(bank.collection, wanted)


@lru_cache(maxsize=CACHED_TOPICS)
def _keys(pool: TopicPool, asked: tuple[ItemColumn, ...]) -> Keys:
    """By passage and words alone, so that all graders are checked in the same random order."""
    passages = _numbers(pool.doc_ids)[:, np.newaxis]
    items = _numbers(f"{one.kind} {one.uid}" for one in asked)[np.newaxis, :]
    mixed = passages ^ (items << np.uint64(7)) ^ (items >> np.uint64(57))
    for factor, shift in zip(MIX, (30, 27), strict=True):  # the finalizer of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def _numbers(names: Iterable[str]) -> Keys:
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


class RatedAnew(HumanGradeError):
    """The grader rates the cell otherwise by now."""

    def __init__(self, rating: int | None) -> None:
        said = "has no rating there" if rating is None else f"rates it {rating}"
        super().__init__(f"The grader {said} by now: look at the cell again.")
