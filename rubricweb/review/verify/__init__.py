"""The cells of a bank that people may check, and how often the grader is right by their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grading.statistics.agreement import ENOUGH_CELLS
from grading.types import MAX_RATING, MISSING, ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.banks.selectors import keys_of
from rubricweb.corpus.pools import CACHED_TOPICS, TopicPool, collection_pool
from rubricweb.grades import human_ratings, raters, visibility
from rubricweb.grades.human_matrices import corrected, drawn_mask, human_matrices, uniform_draws
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.topic_ratings import (
    AcceptedAnswers,
    ItemColumn,
    Mask,
    answer_closeness,
    empty_answers,
    item_columns,
    outcomes_of,
    ratings_of,
)
from rubricweb.review.selectors import people_by_kind

Keys = NDArray[np.uint64]
LEVEL = 0.95
"""The confidence level of intervals."""
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class TopicCells:
    """One topic: arrays of shape (passages, items)."""

    pool: TopicPool
    columns: tuple[ItemColumn, ...]
    rater: raters.Rater
    rated: Mapping[ItemKind, TopicGrades]
    """The grader's grades of the topic, of any bank's items."""
    graded: Ratings
    """The grader's ratings; answers that say there is none have no verdict to check."""
    by_people: Ratings
    checked: Mask
    hidden: Mask
    """The reader has to rate the cell blind, so must not check it yet."""
    drawn: Mask
    """A campaign drew the cell at random from all of the bank's, and somebody rated it."""
    drawn_elsewhere: Mask
    """A campaign that sampled other cells than these drew the cell, and somebody rated it."""
    keys: Keys
    """Fixed random numbers; sorted by them, the cells are in a random order that nobody can influence."""
    measure: Callable[[], Ratings] | None = None
    """Computes `closeness`; None for graders that verify no answers."""

    @cached_property
    def closeness(self) -> Ratings:
        """Return how near each answer is to the nearest accepted one, in percent; 0 without any."""
        return self.measure() if self.measure else np.zeros_like(self.graded)

    def covered_items(self, min_grade: int | None) -> NDArray[np.int64]:
        """Return how many items each passage covers, by grades that the reader may see, shape (passages,)."""
        least = self.rater.min_grades_of((column.kind for column in self.columns), min_grade)
        return np.asarray(((self.graded >= least) & ~self.hidden).sum(axis=1))

    @property
    def unchecked(self) -> Mask:
        return np.asarray((self.graded >= 0) & ~self.checked)


@dataclass(frozen=True, eq=False)
class BankCells:
    """The rated cells of all topics that have an item with text."""

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


def bank_cells(bank: Bank, rater: raters.Rater, reader: User) -> BankCells:
    """Return the cells of all items with text, as `reader` may see them."""
    pool = collection_pool(bank.collection)
    graded = {kind: matrices(config, pool) for kind, config in rater.by_kind.items()}
    by_config = {config: corrected(config, pool) for config in rater.configs}
    human, hidden_by_topic = human_matrices(pool), visibility.hidden_from(reader, bank.collection_id)
    rated_by_people_of = people_by_kind(rater, pool)
    topics, wordless, by_topic = [], 0, item_columns(bank)
    accepted = accepted_answers(by_topic) if rater.verifies else {}
    draws = (frozenset[int](),) * 2 if rater.verifies else _draws(bank, by_topic)
    for topic_id, items in by_topic.items():
        topic, columns = pool.by_topic[topic_id], tuple(column for column in items if column.has_text)
        wordless += len(items) - len(columns)
        if not columns:
            continue
        rated = {kind: grades[topic_id] for kind, grades in graded.items()}
        checks = {k: TopicGrades(topic, by_config[c][topic_id].checked) for k, c in rater.by_kind.items()}
        passages = len(topic.doc_ids)
        ratings = outcomes_of(rated, columns, passages)  # a contradiction is checked in the grid
        measure = None
        if rater.verifies:
            empty = {kind: empty_answers(config, rated[kind]) for kind, config in rater.by_kind.items()}
            is_empty = ratings_of(empty, columns, passages) == 1
            ratings = np.where(is_empty & (ratings == 0), MISSING, ratings).astype(np.int8)
            measure = partial(closeness_of, rater, rated, accepted[topic_id], columns)
        rated_by_people = ratings_of(rated_by_people_of[topic_id], columns, passages)
        checked = (ratings_of(checks, columns, passages) == 1) | (rated_by_people != MISSING)
        blind = hidden_by_topic[topic_id].graders
        hidden = visibility.mask(blind, topic.passage_pks, [column.revision_pk for column in columns])
        uids = tuple(column.uid for column in columns)
        drawn, elsewhere = (drawn_mask(human[topic_id], uids, draw) for draw in draws)
        cells = (ratings, rated_by_people, checked, hidden, drawn, elsewhere)
        topics.append(TopicCells(topic, columns, rater, rated, *cells, _keys(topic, columns), measure))
    order = {topic.topic_id: place for place, topic in enumerate(pool.topics)}
    return BankCells(tuple(sorted(topics, key=lambda topic: order[topic.pool.topic_id])), wordless)


def closeness_of(
    rater: raters.Rater,
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
    """Return the draws that sampled all cells of the bank's items alike, and the others."""
    revisions = {column.revision_pk for items in columns.values() for column in items if column.has_text}
    return uniform_draws(bank.collection, revisions)


@lru_cache(maxsize=CACHED_TOPICS)
def _keys(pool: TopicPool, columns: tuple[ItemColumn, ...]) -> Keys:
    """Return a random number for each cell.

    It depends on passage and wording only, so that every grader is checked in the same random order.
    """
    passages = _numbers(pool.doc_ids)[:, np.newaxis]
    items = _numbers(f"{column.kind} {column.uid}" for column in columns)[np.newaxis, :]
    mixed = passages ^ (items << np.uint64(7)) ^ (items >> np.uint64(57))
    for factor, shift in zip(MIX, (30, 27), strict=True):  # the finalizer of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def _numbers(names: Iterable[str]) -> Keys:
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


class RatedAnew(human_ratings.HumanGradeError):
    """The grader has given the cell another rating since."""

    def __init__(self, rating: int | None) -> None:
        rates = "has no rating there" if rating is None else f"rates it {rating}"
        super().__init__(f"The grader {rates} now. Look at the pair again.")


@dataclass(frozen=True, slots=True)
class Proportion:
    """`count` of `n`, with Wilson's interval."""

    count: int
    n: int

    @property
    def is_too_few(self) -> bool:
        return self.n < ENOUGH_CELLS

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        if not self.n:
            return None
        from scipy.stats import binomtest  # a second and a half that no process needs to start

        interval = binomtest(self.count, self.n).proportion_ci(LEVEL, method="wilson")
        return float(interval.low), float(interval.high)


@dataclass(frozen=True, slots=True)
class LevelRow:
    """Counts and shares of the cells with one rating, and of those with this rating or more."""

    rating: int
    cells: int
    checked: int
    right: Proportion
    """The share of the sample that people gave exactly this rating."""
    precision: Proportion | None
    """The share that people rate this or more, among sampled cells that the grader rates so."""
    recall: Proportion | None
    """The share that the grader rates this or more, among sampled cells that people rate so; None for 0."""


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    rows: tuple[LevelRow, ...]
    """Highest rating first."""
    cells: int
    checked: int
    sampled: int
    """Size of the random sample of all rated cells."""
    drawn: int
    """Cells of the sample that campaigns drew."""
    elsewhere: int
    """Checked cells that campaigns drew for other samples."""


@dataclass(frozen=True, eq=False)
class Population:
    """All rated cells in their random order."""

    graded: NDArray[np.int8]
    by_people: NDArray[np.int8]
    checked: Mask
    drawn: Mask

    @classmethod
    def of(cls, cells: BankCells) -> Population:
        order = np.argsort(cells.flat("keys"), kind="stable")
        return cls(
            cells.flat("graded")[order].astype(np.int8),
            cells.flat("by_people")[order].astype(np.int8),
            cells.flat("checked")[order].astype(np.bool_),
            cells.flat("drawn")[order].astype(np.bool_),
        )

    def sample(self, among: Mask) -> NDArray[np.int64]:
        """Return the positions of these cells' random sample."""
        places = np.flatnonzero(among)
        gaps = np.flatnonzero(~self.checked[places])
        is_sampled = self.drawn[places] & self.checked[places]
        is_sampled[: gaps[0] if gaps.size else len(places)] = True
        return places[is_sampled]

    def reaches(self, rating: int) -> Mask:
        """Return a mask of the cells that people rate `rating` or more.

        A rating found wrong, without a right one, counts as the opposite.
        """
        reaches = self.by_people >= rating
        return np.asarray(np.where(self.by_people == MISSING, self.graded < rating, reaches))


def estimates(cells: BankCells, highest: int = MAX_RATING) -> PrecisionRecall:
    """Return what is known of the ratings from `highest`, the last of the grader's scale, down to 0."""
    population = Population.of(cells)
    everything = population.sample(np.ones(len(population.graded), dtype=np.bool_))
    rows = tuple(_row(population, rating, everything) for rating in range(highest, -1, -1))
    elsewhere, checked, drawn = (
        cells.flat(name).astype(np.bool_) for name in ("drawn_elsewhere", "checked", "drawn")
    )
    return PrecisionRecall(
        rows=rows,
        cells=len(population.graded),
        checked=int(population.checked.sum()),
        sampled=len(everything),
        drawn=int((population.drawn & population.checked).sum()),
        elsewhere=int((elsewhere & checked & ~drawn).sum()),
    )


def _row(population: Population, rating: int, everything: NDArray[np.int64]) -> LevelRow:
    graded, by_people = population.graded, population.by_people
    among = graded == rating
    sample = population.sample(among)
    precision = recall = None
    if rating:
        reaching, above = population.reaches(rating), population.sample(graded >= rating)
        precision = Proportion(int(reaching[above].sum()), len(above))
        reached = graded[everything][reaching[everything]] >= rating
        recall = Proportion(int(reached.sum()), len(reached))
    return LevelRow(
        rating=rating,
        cells=int(among.sum()),
        checked=int((among & population.checked).sum()),
        right=Proportion(int((by_people[sample] == rating).sum()), len(sample)),
        precision=precision,
        recall=recall,
    )
