"""The rubric beside people's votes: how far it explains them, and where it prefers the other answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.statistics.vote_variance import Explained, explained
from grading.types import FAILED, MISSING, ItemKind, Ratings
from rubricweb.arena.answers import CountedVote, Place, reasons_given
from rubricweb.arena.models import Reason
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus import convert
from rubricweb.corpus.models import Response, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool, pool_at, stamp_of
from rubricweb.corpus.run_slices import run_names
from rubricweb.grades.matrices import matrices
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn, ratings_of

CACHED_BOARDS = 16
SHOWN = 100
"""Disagreements on a page: those in which most people contradict the rubric, then its clearest ones."""


@dataclass(frozen=True, slots=True)
class AskedItem:
    """An active item of the bank."""

    pk: int
    kind: ItemKind
    number: int
    """Counted from 1 within the kind and topic."""
    text: str
    column: ItemColumn

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def short_name(self) -> str:
        return f"{str(self.kind)[0].upper()}{self.number}"


@dataclass(frozen=True, eq=False)
class AnswerCoverage:
    """One answer against the items of its topic."""

    items: tuple[AskedItem, ...]
    ratings: Ratings
    """The highest rating of the answer's passages for each item; MISSING or FAILED without one."""
    min_grades: NDArray[np.int8]
    missing: int
    """Cells without a grade, or with one that the reader must not see yet."""
    uncovered: tuple[int, ...]
    """Passages of the answer, by primary key, that have grades and cover no item."""

    @cached_property
    def covers(self) -> NDArray[np.bool_]:
        return np.asarray(self.ratings >= self.min_grades)

    @cached_property
    def covered(self) -> int:
        return int(self.covers.sum())

    @property
    def score(self) -> float | None:
        """Return the share of items that are covered; None where no cell is graded."""
        return self.covered / len(self.items) if (self.ratings >= 0).any() else None


def coverages(
    bank: Bank, rater: Rater, min_grade: int, places: Iterable[Place]
) -> dict[Place, AnswerCoverage]:
    """Return what each answer covers, by run and topic, without topics that have no items."""
    needed = frozenset(places)
    topics = {topic for _, topic in needed}
    pool, items = _pool_of(collection_pool(bank.collection), topics), asked_items(bank, topics)
    by_config = {config: matrices(config, pool) for config in rater.configs}
    rated = {}
    for topic, topic_items in items.items():
        graded = {kind: by_config[config][topic] for kind, config in rater.by_kind.items()}
        columns, n_passages = [item.column for item in topic_items], len(pool.by_topic[topic].doc_ids)
        least = rater.min_grades_of((item.kind for item in topic_items), min_grade)
        rated[topic] = _Rated(
            pool.by_topic[topic], topic_items, ratings_of(graded, columns, n_passages), least
        )
    passages = _passages(bank.collection_id, stamp_of(bank.collection_id), needed)
    return {place: _coverage(ids, rated[place[1]]) for place, ids in passages.items() if place[1] in rated}


class _Rated(NamedTuple):
    """A topic with its active items, and the ratings of its pool, shape (passages, items)."""

    topic: TopicPool
    items: tuple[AskedItem, ...]
    ratings: Ratings
    min_grades: NDArray[np.int8]


@lru_cache(maxsize=CACHED_BOARDS)
def _passages(collection_id: int, stamp: int, places: frozenset[Place]) -> Mapping[Place, tuple[str, ...]]:
    """Return the doc ids of each answer's passages, cached by the stamp, which imports move."""
    topics, runs = ({place[side] for place in places} for side in (1, 0))
    pool = pool_at(collection_id, stamp)
    numbers = {pk: number for number, pk in enumerate(pool.run_pks)}
    rows = Response.objects.filter(topic__in=topics, run__in=runs).order_by("pk")
    doc_ids: dict[Place, tuple[str, ...]] = {}
    for row in rows.only("run", "topic", "sentences", "passages_of"):
        if (row.run_id, row.topic_id) in places:
            topic = pool.by_topic[row.topic_id]
            ranked = topic.ranked_by(numbers[row.run_id]) if row.run_id in numbers else ()
            passages = convert.response_passages(row, ranked)
            doc_ids[row.run_id, row.topic_id] = tuple(dict.fromkeys(passage.doc_id for passage in passages))
    return doc_ids


def asked_items(bank: Bank, topics: Iterable[int]) -> dict[int, tuple[AskedItem, ...]]:
    """Return the active items of each topic, questions first, numbered within their kind as in the grid."""
    by_topic: dict[int, list[AskedItem]] = {}
    for topic, pk, written_kind, *revision in _items(bank.collection_id, bank.pk, tuple(sorted(set(topics)))):
        items = by_topic.setdefault(topic, [])
        kind, (uid, revision_pk, text) = ItemKind(written_kind), revision
        number = 1 + sum(item.kind == kind for item in items)
        column = ItemColumn(kind, uid, revision_pk, bool(text))
        items.append(AskedItem(pk, kind, number, text, column))
    order = list(ItemKind)
    return {
        topic: tuple(sorted(items, key=lambda item: order.index(item.kind)))
        for topic, items in by_topic.items()
    }


@compiled_readable
def _items(bank: int, topics: tuple[int, ...]) -> QuerySet[Item, tuple[Any, ...]]:
    active = Item.including_secret.active().filter(bank=bank, topic__in=topics)
    fields = ("topic", "pk", "kind", "revision__uid", "revision", "revision__text")
    return active.order_by("topic", "position", "pk").values_list(*fields)


def _pool_of(pool: CollectionPool, topics: set[int]) -> CollectionPool:
    """Return the pool of one topic alone, so that the grades of the others are not read."""
    return pool.only(next(iter(topics))) if len(topics) == 1 else pool


def _coverage(doc_ids: tuple[str, ...], rated: _Rated) -> AnswerCoverage:
    topic, items, ratings, least = rated
    rows = [topic.row_of[doc_id] for doc_id in doc_ids if doc_id in topic.row_of]
    own = ratings[rows]
    highest = own.max(axis=0, initial=FAILED) if rows else np.full(len(items), MISSING)
    covering_nothing = (own >= 0).any(axis=1) & ~(own >= least).any(axis=1)
    return AnswerCoverage(
        items=items,
        ratings=np.asarray(highest, dtype=np.int8),
        min_grades=least,
        missing=int((own == MISSING).sum()) + (len(doc_ids) - len(rows)) * len(items),
        uncovered=tuple(topic.passage_pks[rows[place]] for place in np.flatnonzero(covering_nothing)),
    )


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two answers of a disagreement."""

    run_id: int
    run_tag: str
    covered: int
    votes: int
    """Votes of people who prefer it."""
    only: tuple[AskedItem, ...]
    """The items that it covers and the other one does not."""
    uncovered: tuple[int, ...]
    """Its passages that cover no item."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The rubric prefers one answer to a topic, more voters, people or a model, the other one."""

    topic: Topic
    rubric: Side
    voters: Side
    items: int
    """Items of the topic."""
    ties: int
    reasons: tuple[Reason, ...]
    """Reasons of the people who contradict the rubric."""
    missing: int
    """Cells of the two answers that are not graded, or hidden from the reader."""

    @property
    def tags(self) -> list[tuple[str, int]]:
        """Return how many say so, by what they say; the most frequent first."""
        return Counter(label for reason in self.reasons for label in reason.tag_labels).most_common()

    @property
    def margin(self) -> tuple[int, int]:
        return self.voters.votes - self.rubric.votes, self.rubric.covered - self.voters.covered


@dataclass(frozen=True, slots=True)
class RubricAndVotes:
    explained: Explained | None
    """None where no vote is on two answers with grades."""
    scores: Mapping[Place, float]
    """The share of items that each graded answer with votes covers."""
    ungraded: int
    """Votes on answers without grades, which say nothing of the rubric."""
    disagreements: tuple[Disagreement, ...]
    """At most SHOWN."""
    all_disagreements: int


def rubric_and_votes(
    bank: Bank, rater: Rater, min_grade: int, votes: Sequence[CountedVote]
) -> RubricAndVotes:
    """Hold the bank against these votes. An answer's score is the share of items that it covers."""
    covered = coverages(bank, rater, min_grade, places_of(votes))
    scores = scores_of(covered)
    scored = scored_votes(votes, scores)
    differences = _disagreements(scored, covered)
    return RubricAndVotes(
        explained=explained_by(scores, scored),
        scores=scores,
        ungraded=len(votes) - len(scored),
        disagreements=_named(bank, differences[:SHOWN]),
        all_disagreements=len(differences),
    )


def places_of(votes: Iterable[CountedVote]) -> set[Place]:
    return {(run, vote.topic_id) for vote in votes for run in vote.pair}


def scores_of(covered: Mapping[Place, AnswerCoverage]) -> dict[Place, float]:
    return {place: score for place, coverage in covered.items() if (score := coverage.score) is not None}


def scored_votes(votes: Iterable[CountedVote], scores: Mapping[Place, float]) -> list[CountedVote]:
    """Return the votes on two answers that have scores."""
    return [vote for vote in votes if all((run, vote.topic_id) in scores for run in vote.pair)]


def explained_by(scores: Mapping[Place, float], votes: Sequence[CountedVote]) -> Explained | None:
    """Return how far the scores explain votes on answers that have them; None without votes."""
    if not votes:
        return None
    differences = [scores[vote.left, vote.topic_id] - scores[vote.right, vote.topic_id] for vote in votes]
    outcomes, topics = zip(*((vote.outcome, vote.topic_id) for vote in votes), strict=True)
    return _explained(tuple(differences), outcomes, topics)


@lru_cache(maxsize=CACHED_BOARDS)
def _explained(
    differences: tuple[float, ...], outcomes: tuple[int, ...], topics: tuple[int, ...]
) -> Explained:
    """Return what `explained` does, kept by all that it depends on."""
    of_votes = (np.array(column, dtype=np.int64) for column in (outcomes, topics))
    return explained(np.array(differences), *of_votes)


@dataclass(frozen=True, slots=True)
class _Difference:
    """A `Disagreement` by primary keys."""

    topic_id: int
    rubric: int
    voters: int
    by_run: Mapping[int, AnswerCoverage]
    votes: Mapping[int, int]
    """Run -> number of votes for it; 0 for ties."""
    battles: tuple[int, ...]
    """Battles of the people who contradict the rubric."""

    @property
    def margin(self) -> tuple[int, int]:
        more = self.by_run[self.rubric].covered - self.by_run[self.voters].covered
        return self.votes[self.voters] - self.votes[self.rubric], more


def _disagreements(votes: list[CountedVote], covered: Mapping[Place, AnswerCoverage]) -> list[_Difference]:
    """Return the disagreements by topic and pair of runs, the clearest first."""
    by_pair: dict[tuple[int, tuple[int, int]], list[CountedVote]] = {}
    for vote in votes:
        by_pair.setdefault((vote.topic_id, vote.pair), []).append(vote)
    differences = []
    for (topic, pair), of_pair in by_pair.items():
        outcomes = [vote.outcome_of(pair[0]) for vote in of_pair]
        first, second = (covered[run, topic] for run in pair)
        balance, more = sum(outcomes), first.covered - second.covered
        if balance * more < 0:
            rubric, voters = pair if more > 0 else pair[::-1]
            wins = {pair[0]: outcomes.count(1), pair[1]: outcomes.count(-1), 0: outcomes.count(0)}
            by_run = dict(zip(pair, (first, second), strict=True))
            battles = tuple(vote.battle_id for vote in of_pair if vote.outcome_of(voters) == 1)
            differences.append(_Difference(topic, rubric, voters, by_run, wins, battles))
    return sorted(
        differences,
        key=lambda difference: (
            *(-size for size in difference.margin),
            difference.topic_id,
            difference.rubric,
        ),
    )


def _named(bank: Bank, differences: list[_Difference]) -> tuple[Disagreement, ...]:
    needed = tuple({difference.topic_id for difference in differences})
    topics = {topic.pk: topic for topic in _topics(needed)}
    names = run_names(bank.collection)
    reasons = reasons_given(bank.collection)
    return tuple(
        Disagreement(
            topic=topics[difference.topic_id],
            rubric=_side(difference, difference.rubric, difference.voters, names),
            voters=_side(difference, difference.voters, difference.rubric, names),
            items=len(difference.by_run[difference.rubric].items),
            ties=difference.votes[0],
            reasons=tuple(reasons[battle] for battle in difference.battles if battle in reasons),
            missing=sum(coverage.missing for coverage in difference.by_run.values()),
        )
        for difference in differences
    )


@compiled_once
def _topics(topics: tuple[int, ...]) -> QuerySet[Topic, Topic]:
    return Topic.objects.filter(pk__in=topics)


def _side(differences: _Difference, run: int, other: int, names: Mapping[int, str]) -> Side:
    mine, theirs = differences.by_run[run], differences.by_run[other]
    return Side(
        run_id=run,
        run_tag=names[run],
        covered=mine.covered,
        votes=differences.votes[run],
        only=tuple(mine.items[place] for place in np.flatnonzero(mine.covers & ~theirs.covers)),
        uncovered=mine.uncovered,
    )
