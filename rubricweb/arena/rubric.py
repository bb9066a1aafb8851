"""The rubric beside people's votes: how far it explains them, and where it prefers the other answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grading.statistics.vote_variance import Explained, explained
from rubricweb.arena.answers import Place
from rubricweb.arena.coverage import AskedItem, Coverage, coverages
from rubricweb.arena.models import Reason
from rubricweb.arena.votes import CountedVote, Verdict, counted_votes, holding_votes, reason_of
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Run, Topic
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.grades.raters import Rater

SHOWN = 100
"""Disagreements on a page: those in which most people contradict the rubric, then its clearest ones."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two answers of a disagreement."""

    run_id: int
    run_tag: str
    covered: int
    votes: int
    """Of people who prefer it."""
    only: tuple[AskedItem, ...]
    """The items that it covers and the other one does not."""
    uncovered: tuple[int, ...]
    """Its passages that cover no item."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The rubric prefers one answer to a topic, more people the other one."""

    topic: Topic
    rubric: Side
    people: Side
    items: int
    """Of the topic."""
    ties: int
    reasons: tuple[Reason, ...]
    """Of the people who contradict the rubric."""
    missing: int
    """Cells of the two answers that are not graded, or hidden from the reader."""

    @property
    def tags(self) -> list[tuple[str, int]]:
        """How many say so, by what they say; the most frequent first."""
        return Counter(label for one in self.reasons for label in one.tag_labels).most_common()

    @property
    def margin(self) -> tuple[int, int]:
        return self.people.votes - self.rubric.votes, self.rubric.covered - self.people.covered


@dataclass(frozen=True, slots=True)
class RubricAndVotes:
    explained: Explained | None
    """None where no vote is on two answers with grades."""
    ungraded: int
    """Votes on answers without grades, which say nothing of the rubric."""
    disagreements: tuple[Disagreement, ...]
    """At most SHOWN."""
    all_disagreements: int


def rubric_and_votes(
    bank: Bank, rater: Rater, min_grade: int, *, verdict: Verdict = Verdict.ANSWER
) -> RubricAndVotes:
    """Hold the bank against the votes that count. An answer's score is the share of items that it covers."""
    votes = counted_votes(bank.collection, verdict).votes
    places = {(run, vote.topic_id) for vote in votes for run in vote.pair}
    covered = coverages(bank, rater, min_grade, places)
    scores = {place: score for place, one in covered.items() if (score := one.score) is not None}
    known = [vote for vote in votes if all((run, vote.topic_id) in scores for run in vote.pair)]
    found = _disagreements(known, covered)
    return RubricAndVotes(
        explained=_explained(known, scores) if known else None,
        ungraded=len(votes) - len(known),
        disagreements=_named(bank, found[:SHOWN]),
        all_disagreements=len(found),
    )


@dataclass(frozen=True, slots=True)
class _Difference:
    """As `Disagreement`, by primary keys."""

    topic_id: int
    rubric: int
    people: int
    by_run: Mapping[int, Coverage]
    votes: Mapping[int, int]
    """By run: the people who prefer it; 0 for ties."""
    battles: tuple[int, ...]
    """Of the people who contradict the rubric."""

    @property
    def margin(self) -> tuple[int, int]:
        more = self.by_run[self.rubric].covered - self.by_run[self.people].covered
        return self.votes[self.people] - self.votes[self.rubric], more


def _explained(votes: list[CountedVote], scores: Mapping[Place, float]) -> Explained:
    return explained(
        np.array([scores[vote.left, vote.topic_id] - scores[vote.right, vote.topic_id] for vote in votes]),
        np.array([vote.outcome for vote in votes], dtype=np.int64),
        np.array([vote.topic_id for vote in votes], dtype=np.int64),
    )


def _disagreements(votes: list[CountedVote], covered: Mapping[Place, Coverage]) -> list[_Difference]:
    """By topic and pair of runs, the clearest first."""
    by_pair: dict[tuple[int, tuple[int, int]], list[CountedVote]] = {}
    for vote in votes:
        by_pair.setdefault((vote.topic_id, vote.pair), []).append(vote)
    found = []
    for (topic, pair), of_pair in by_pair.items():
        said = [vote.outcome_of(pair[0]) for vote in of_pair]
        first, second = (covered[run, topic] for run in pair)
        balance, more = sum(said), first.covered - second.covered
        if balance * more < 0:
            rubric, people = pair if more > 0 else pair[::-1]
            wins = {pair[0]: said.count(1), pair[1]: said.count(-1), 0: said.count(0)}
            by_run = dict(zip(pair, (first, second), strict=True))
            battles = tuple(vote.battle_id for vote in of_pair if vote.outcome_of(people) == 1)
            found.append(_Difference(topic, rubric, people, by_run, wins, battles))
    return sorted(found, key=lambda one: (*(-size for size in one.margin), one.topic_id, one.rubric))


def _named(bank: Bank, found: list[_Difference]) -> tuple[Disagreement, ...]:
    topics = Topic.objects.in_bulk([one.topic_id for one in found])
    runs = Run.objects.in_bulk([run for one in found for run in (one.rubric, one.people)])
    shown = shown_names(bank.collection_id, tuple(run.run_tag for run in runs.values()))
    names = dict(zip(runs, shown, strict=True))
    voted = holding_votes(bank.collection)
    reasons = {battle: reason for battle, vote in voted.items() if (reason := reason_of(vote))}
    return tuple(
        Disagreement(
            topic=topics[one.topic_id],
            rubric=_side(one, one.rubric, one.people, names),
            people=_side(one, one.people, one.rubric, names),
            items=len(one.by_run[one.rubric].items),
            ties=one.votes[0],
            reasons=tuple(reasons[battle] for battle in one.battles if battle in reasons),
            missing=sum(coverage.missing for coverage in one.by_run.values()),
        )
        for one in found
    )


def _side(found: _Difference, run: int, other: int, names: Mapping[int, str]) -> Side:
    mine, theirs = found.by_run[run], found.by_run[other]
    return Side(
        run_id=run,
        run_tag=names[run],
        covered=mine.covered,
        votes=found.votes[run],
        only=tuple(mine.items[place] for place in np.flatnonzero(mine.covers & ~theirs.covers)),
        uncovered=mine.uncovered,
    )
