"""Models beside people: agreement, how alike they order the runs, and what the rubric says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.agreement import COEFFICIENT, cohen_kappa, contingencies
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval
from grading.statistics.rank_correlation import Correlation, kendall
from grading.statistics.vote_variance import Explained, Share
from rubricweb.arena.answers import CountedVote, counted_votes
from rubricweb.arena.board import BoardRow, VoteBoard, vote_board
from rubricweb.arena.judges.votes import JudgeVotes, judge_names, votes_of
from rubricweb.arena.rubric import coverages, explained_by, places_of, scored_votes, scores_of
from rubricweb.corpus.models import Collection
from rubricweb.grades.raters import raters
from rubricweb.grades.selectors import banks

OUTCOMES = (1, 0, -1)


@dataclass(frozen=True, slots=True)
class AgreementWithPeople:
    """People's votes, each set against the judge's on the same two answers; "both bad" is a tie."""

    votes: int
    same: Share
    """The share that is equal."""
    kappa: float
    """Cohen's, of three outcomes."""
    kappa_interval: ConfidenceInterval


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge beside people."""

    votes: JudgeVotes
    board: VoteBoard
    agreement: AgreementWithPeople | None
    """None where people and the judge voted on no common pair."""
    tau: Correlation
    """Kendall's tau-b of the strengths."""
    rubric: Explained | None


@dataclass(frozen=True, slots=True)
class RunStrengths:
    """A run with its place on each board."""

    run_id: int
    run_tag: str
    places: tuple[BoardRow | None, ...]
    """By people, then by each judge; None without votes."""


@dataclass(frozen=True, slots=True)
class BesidePeople:
    board: VoteBoard
    """By people's votes."""
    rubric: Explained | None
    """What the rubric says of people's votes."""
    rubric_name: str
    """Rubric and grader; empty where there is none."""
    judges: tuple[JudgeRow, ...]
    runs: tuple[RunStrengths, ...]
    """The strongest by people's votes first."""


def beside_people(collection: Collection) -> BesidePeople:
    """Return every model that voted here beside people's blind votes on answers."""
    human, board = counted_votes(collection).votes, vote_board(collection)
    by_name = [votes_of(collection, name) for name in judge_names(collection)]
    name, by_rubric = _rubric(collection, [human, *(judge.votes for judge in by_name)])
    judges = []
    for judge, explained in zip(by_name, by_rubric[1:], strict=True):
        theirs = vote_board(collection, judge=judge)
        tau = kendall(_strengths(theirs), _strengths(board))
        judges.append(JudgeRow(judge, theirs, agreement(human, judge.votes), tau, explained))
    boards = [board, *(row.board for row in judges)]
    return BesidePeople(board, by_rubric[0], name, tuple(judges), _runs(boards))


def agreement(human: Sequence[CountedVote], judge: Sequence[CountedVote]) -> AgreementWithPeople | None:
    """Return how far people agree with a judge where both voted; intervals are over topics."""
    verdicts = {(vote.topic_id, vote.pair): vote.outcome_of(vote.pair[0]) for vote in judge}
    both = [vote for vote in human if (vote.topic_id, vote.pair) in verdicts]
    if not both:
        return None
    tables = contingencies(
        [vote.outcome_of(vote.pair[0]) for vote in both],
        [verdicts[vote.topic_id, vote.pair] for vote in both],
        [vote.topic_id for vote in both],
        levels=OUTCOMES,
    )
    whole = tables.sum(axis=0)
    return AgreementWithPeople(
        votes=len(both),
        same=Share(float(_same(whole)), statistic_interval(tables, _same, bounds=(0, 1))),
        kappa=float(cohen_kappa(whole)),
        kappa_interval=statistic_interval(tables, cohen_kappa, bounds=COEFFICIENT),
    )


def _same(tables: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share on the diagonal of tables of shape (..., outcomes, outcomes)."""
    return divide(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def _strengths(board: VoteBoard) -> dict[str, float]:
    return {str(row.run_id): row.strength for row in board.rows}


def _rubric(
    collection: Collection, votes: Sequence[Sequence[CountedVote]]
) -> tuple[str, list[Explained | None]]:
    """Return the rubric and grader that boards show first, and what they say of each rater's votes."""
    bank = next(iter(banks(collection)), None)
    if bank is None:
        return "", [None] * len(votes)
    rater = raters(bank)[0]
    if not rater.grades_items:
        return "", [None] * len(votes)
    places = {place for of_one in votes for place in places_of(of_one)}
    scores = scores_of(coverages(bank, rater, rater.min_grade, places))
    explained = [explained_by(scores, scored_votes(of_one, scores)) for of_one in votes]
    return f"{bank.name}, {rater.name}", explained


def _runs(boards: Sequence[VoteBoard]) -> tuple[RunStrengths, ...]:
    by_run = [{row.run_id: row for row in board.rows} for board in boards]
    tags = {row.run_id: row.run_tag for board in boards for row in board.rows}
    return tuple(RunStrengths(run, tag, tuple(rows.get(run) for rows in by_run)) for run, tag in tags.items())
