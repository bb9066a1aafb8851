"""All cells of a bank that a grader rated, as flat arrays, with people's ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grading.types import MISSING, ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.banks.selectors import keys_of
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.grades import visibility
from rubricweb.grades.human_matrices import corrected, drawn_mask, human_matrices, uniform_draws
from rubricweb.grades.human_ratings import HumanGradeError
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import (
    AcceptedAnswers,
    ItemColumn,
    Mask,
    answer_closeness,
    empty_answers,
    item_columns,
    ratings_of,
)
from rubricweb.grades.visibility import hidden_from
from rubricweb.review.selectors.layers import Layers, checked_of, people_by_kind, people_of

Keys = NDArray[np.uint64]
CACHED_TOPICS = 4_000
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class TopicCells:
    """One topic: arrays of shape (passages, items)."""

    pool: TopicPool
    columns: tuple[ItemColumn, ...]
    graded: Ratings
    """By the grader; answers that say there is none have no verdict to check."""
    people: Ratings
    checked: Mask
    hidden: Mask
    """The reader has to rate the cell blind, so must not check it yet."""
    drawn: Mask
    """A campaign drew the cell at random from all of the bank's, and somebody rated it."""
    drawn_elsewhere: Mask
    """As `drawn`, in a campaign that sampled other cells than these."""
    keys: Keys
    """Fixed random numbers; sorted by them, the cells are in a random order that nobody can influence."""
    measure: Callable[[], Ratings] | None = None
    """Computes `closeness`; None for graders that verify no answers."""

    @cached_property
    def closeness(self) -> Ratings:
        """In percent: how near each answer is to the nearest accepted one; 0 without verified answers."""
        return self.measure() if self.measure else np.zeros_like(self.graded)

    @property
    def unchecked(self) -> Mask:
        return np.asarray((self.graded >= 0) & ~self.checked)


@dataclass(frozen=True, eq=False)
class BankCells:
    """The rated cells of all topics."""

    topics: tuple[TopicCells, ...]
    wordless: int
    """Items without text; their cells cannot be checked."""

    def flat(self, name: str) -> NDArray[np.generic]:
        parts = [getattr(topic, name)[topic.graded >= 0] for topic in self.topics]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int8)

    @property
    def checked(self) -> int:
        """Count the rated cells that people have checked."""
        return sum(int((topic.checked & (topic.graded >= 0)).sum()) for topic in self.topics)

    @property
    def hidden(self) -> int:
        """Count the cells that the reader may not see yet."""
        return sum(int(topic.hidden.sum()) for topic in self.topics)


def bank_cells(bank: Bank, rater: Rater, reader: User) -> BankCells:
    """Return the cells of all items with text, as `reader` may see them."""
    pool = collection_pool(bank.collection)
    graded = {kind: matrices(config, pool) for kind, config in rater.by_kind.items()}
    by_config = {config: corrected(config, pool) for config in rater.configs}
    human, hidden_by_topic = human_matrices(pool), hidden_from(reader, bank.collection_id)
    people = people_by_kind(rater, pool)
    topics, wordless, by_topic = [], 0, item_columns(bank)
    accepted = accepted_answers(by_topic) if rater.verifies else {}
    draws = (frozenset[int](),) * 2 if rater.verifies else _draws(bank, by_topic)
    for topic_id, items in by_topic.items():
        topic, columns = pool.by_topic[topic_id], tuple(column for column in items if column.has_text)
        wordless += len(items) - len(columns)
        rated = {kind: grades[topic_id] for kind, grades in graded.items()}
        checks = {k: TopicGrades(topic, by_config[c][topic_id].checked) for k, c in rater.by_kind.items()}
        layers = Layers(rated, {}, checks, people[topic_id], {})
        passages = len(topic.doc_ids)
        ratings = ratings_of(rated, columns, passages)
        measure = None
        if rater.verifies:
            empty = {kind: empty_answers(config, rated[kind]) for kind, config in rater.by_kind.items()}
            is_empty = ratings_of(empty, columns, passages) == 1
            ratings = np.where(is_empty & (ratings == 0), MISSING, ratings).astype(np.int8)
            measure = partial(closeness_of, rater, rated, accepted[topic_id], columns)
        rated_by_people = people_of(layers, columns, passages)
        checked = checked_of(layers, columns, passages)
        blind = hidden_by_topic[topic_id].graders
        hidden = visibility.mask(blind, topic.passage_pks, [column.revision_pk for column in columns])
        uids = tuple(column.uid for column in columns)
        drawn, elsewhere = (drawn_mask(human[topic_id], uids, draw) for draw in draws)
        cells = (ratings, rated_by_people, checked, hidden, drawn, elsewhere)
        topics.append(TopicCells(topic, columns, *cells, _keys(topic, columns), measure))
    order = {topic.topic_id: place for place, topic in enumerate(pool.topics)}
    return BankCells(tuple(sorted(topics, key=lambda topic: order[topic.pool.topic_id])), wordless)


def closeness_of(
    rater: Rater,
    rated: Mapping[ItemKind, TopicGrades],
    accepted: AcceptedAnswers,
    columns: Sequence[ItemColumn],
) -> Ratings:
    """Return an array of shape (passages, items): `answer_closeness` of one topic."""
    near = {k: answer_closeness(config, rated[k], accepted) for k, config in rater.by_kind.items()}
    return ratings_of(near, columns, len(next(iter(rated.values())).pool.doc_ids))


def accepted_answers(by_topic: Mapping[int, tuple[ItemColumn, ...]]) -> dict[int, AcceptedAnswers]:
    """Return the accepted answers to the items of each topic."""
    keys = keys_of(column.revision_pk for columns in by_topic.values() for column in columns)
    return {
        topic: tuple((column.uid, keys.get(column.revision_pk, ())) for column in columns)
        for topic, columns in by_topic.items()
    }


def _draws(
    bank: Bank, columns: Mapping[int, tuple[ItemColumn, ...]]
) -> tuple[frozenset[int], frozenset[int]]:
    """The draws that sampled all cells of the bank's items alike, and the others."""
    revisions = {column.revision_pk for items in columns.values() for column in items if column.has_text}
    return uniform_draws(bank.collection, revisions)


@lru_cache(maxsize=CACHED_TOPICS)
def _keys(pool: TopicPool, columns: tuple[ItemColumn, ...]) -> Keys:
    """From passage and wording only, so that every grader is checked in the same random order."""
    passages = _numbers(pool.doc_ids)[:, np.newaxis]
    items = _numbers(f"{column.kind} {column.uid}" for column in columns)[np.newaxis, :]
    mixed = passages ^ (items << np.uint64(7)) ^ (items >> np.uint64(57))
    for factor, shift in zip(MIX, (30, 27), strict=True):  # the finalizer of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def _numbers(names: Iterable[str]) -> Keys:
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


class RatedAnew(HumanGradeError):
    """The grader has given the cell another rating since."""

    def __init__(self, rating: int | None) -> None:
        rates = "has no rating there" if rating is None else f"rates it {rating}"
        super().__init__(f"The grader {rates} now. Look at the pair again.")
