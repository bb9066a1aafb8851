"""The vote board: strengths of runs from people's votes, wins between runs, and how far voters agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import log
from typing import TYPE_CHECKING

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.statistics.agreement import COEFFICIENT, coincidences, ordinal_alpha
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval
from rubricweb.arena.answers import CountedVerdict, CountedVote, answer_words, as_arrays, counted_votes
from rubricweb.arena.judges import JudgeVotes
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pseudonyms import shown_names

if TYPE_CHECKING:
    from grading.statistics.bradley_terry import ByLength, Strengths


ENOUGH_PAIRS = 10
"""Minimum number of pairs with two voters for a statement on agreement."""
CACHED_BOARDS = 16
OUTCOMES = (-1, 0, 1)


@dataclass(frozen=True, slots=True)
class VoteBoardRow:
    """A run with its votes."""

    run_id: int
    run_tag: str
    strength: float
    """In log-odds; the mean of all runs is 0."""
    low: float
    """NaN, as `high`, with votes on too few topics."""
    high: float
    ranks: tuple[int, int]
    """The best and the worst that are left open; those of all runs hold together."""
    wins: int
    ties: int
    losses: int
    bradley_terry: float
    """In log-odds, with a tie as half a win and no prior, as arena-rank; NaN where it is not finite."""

    @property
    def votes(self) -> int:
        return self.wins + self.ties + self.losses

    @property
    def rating(self) -> float:
        """Return `bradley_terry` on the scale of arenas: 1000 is the mean, 400 points are odds of ten."""
        from grading.statistics.bradley_terry import rating  # brings scipy

        return rating(self.bradley_terry)

    @property
    def has_rating(self) -> bool:
        return not np.isnan(self.bradley_terry)

    @property
    def has_interval(self) -> bool:
        return not np.isnan(self.low)

    @property
    def rank(self) -> str:
        best, worst = self.ranks
        return str(best) if best == worst else f"{best}\N{EN DASH}{worst}"


@dataclass(frozen=True, slots=True)
class Duel:
    """What votes say of one run against another."""

    wins: int = 0
    ties: int = 0
    losses: int = 0

    @property
    def votes(self) -> int:
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, slots=True)
class VoterAgreement:
    """The agreement of people who voted on the same two answers."""

    pairs: int
    same: float
    """The share of pairs of votes that are equal, with "both bad" as a tie."""
    alpha: float
    """Krippendorff's, ordinal: one better, tie, the other better."""
    interval: ConfidenceInterval

    @property
    def is_too_few(self) -> bool:
        return self.pairs < ENOUGH_PAIRS


@dataclass(frozen=True, slots=True)
class VoteBoard:
    verdict: CountedVerdict
    rows: tuple[VoteBoardRow, ...]
    """The strongest first."""
    duels: tuple[tuple[Duel | None, ...], ...]
    """Indexed by row and column of `rows`; None on the diagonal."""
    votes: int
    voters: int
    from_files: tuple[tuple[str, int], ...]
    """Votes from files of battles, by who voted there, people or models."""
    unknown_lengths: int
    """Votes left out where lengths are held equal: on answers that the collection lacks."""
    topics: int
    both_bad: int
    named: int
    outdated: int
    agreement: VoterAgreement
    judge: JudgeVotes | None = None
    """The model whose votes these are; None for people's."""
    length: ByLength | None = None
    """What length alone does, where strengths are those at equal length; else None."""

    @property
    def has_intervals(self) -> bool:
        return any(row.has_interval for row in self.rows)


def vote_board(
    collection: Collection,
    verdict: CountedVerdict = CountedVerdict.ANSWER,
    *,
    with_named: bool = False,
    at_equal_length: bool = False,
    judge: JudgeVotes | None = None,
) -> VoteBoard:
    """Return the board of all votes of people that count, or of a judge; without rows if there is no vote.

    `at_equal_length` takes the lengths of answers, in words, as a covariate of the strengths.
    """
    counted = judge.counted if judge else counted_votes(collection, verdict, with_named=with_named)
    votes, lengths = counted.votes, None
    if at_equal_length:
        votes, lengths = _with_lengths(collection, votes)
    rows, length = _rows(collection, votes, lengths)
    order = [row.run_id for row in rows]
    by_pair = _duels(votes)
    return VoteBoard(
        verdict=verdict,
        rows=rows,
        duels=tuple(
            tuple(None if run == other else by_pair.get((run, other), Duel()) for other in order)
            for run in order
        ),
        votes=len(votes),
        voters=len({vote.voter for vote in votes}),
        from_files=tuple(sorted(Counter(vote.file_voter for vote in votes if vote.file_voter).items())),
        unknown_lengths=len(counted.votes) - len(votes),
        topics=len({vote.topic_id for vote in votes}),
        both_bad=sum(vote.verdict == "both_bad" for vote in votes),
        agreement=voter_agreement(votes),
        judge=judge,
        length=length,
        named=counted.named,
        outdated=counted.outdated,
    )


def _with_lengths(
    collection: Collection, votes: Sequence[CountedVote]
) -> tuple[tuple[CountedVote, ...], tuple[float, ...]]:
    """Return the votes on two answers that are here, and the log of the left one's words over the right's."""
    lengths_of = answer_words(collection)
    places = [((vote.left, vote.topic_id), (vote.right, vote.topic_id)) for vote in votes]
    with_lengths = [
        (vote, log(lengths_of[left] / lengths_of[right]))
        for vote, (left, right) in zip(votes, places, strict=True)
        if left in lengths_of and right in lengths_of
    ]
    return tuple(vote for vote, _ in with_lengths), tuple(length for _, length in with_lengths)


def _rows(
    collection: Collection, votes: tuple[CountedVote, ...], lengths: tuple[float, ...] | None
) -> tuple[tuple[VoteBoardRow, ...], ByLength | None]:
    """Return the strongest run first, and what length does."""
    voted = {run for vote in votes for run in vote.pair}
    if not voted:
        return (), None
    tags = dict(_tags(tuple(sorted(voted))))
    runs = tuple(sorted(voted, key=lambda run: tags[run]))
    fitted, possible, half_ties = _strengths(votes, runs, lengths)
    names = shown_names(collection.pk, tuple(tags[run] for run in runs))
    outcomes = Counter((run, vote.outcome_of(run)) for vote in votes for run in vote.pair)
    rows = [
        VoteBoardRow(
            run_id=run,
            run_tag=names[place],
            strength=float(fitted.strength[place]),
            low=float(fitted.low[place]),
            high=float(fitted.high[place]),
            ranks=ranks,
            wins=outcomes[run, 1],
            ties=outcomes[run, 0],
            losses=outcomes[run, -1],
            bradley_terry=float(half_ties[place]),
        )
        for place, (run, ranks) in enumerate(zip(runs, possible, strict=True))
    ]
    ordered = sorted(rows, key=lambda row: (-round(row.strength, 9), row.run_tag))
    return tuple(ordered), fitted.length


@compiled_once
def _tags(runs: tuple[int, ...]) -> QuerySet[Run, tuple[int, str]]:
    return Run.objects.filter(pk__in=runs).values_list("pk", "run_tag")


@lru_cache(maxsize=CACHED_BOARDS)
def _strengths(
    votes: tuple[CountedVote, ...], runs: tuple[int, ...], lengths: tuple[float, ...] | None
) -> tuple[Strengths, list[tuple[int, int]], NDArray[np.float64]]:
    """Return the strengths with ties modelled, the ranks that they leave open, and with a tie as half a win.

    They are cached by the votes themselves: every event of a battle makes others.
    """
    from grading.statistics.bradley_terry import half_tie_strengths, strengths  # brings scipy

    covariate = None if lengths is None else np.array(lengths)
    arrays = as_arrays(votes, runs)
    fitted = strengths(arrays, len(runs), lengths=covariate)
    return fitted, fitted.ranks(), half_tie_strengths(arrays, len(runs))


def _duels(votes: Sequence[CountedVote]) -> dict[tuple[int, int], Duel]:
    """Return the votes on each two runs, from the first one's side."""
    counts = Counter(
        ((run, other), vote.outcome_of(run))
        for vote in votes
        for run, other in ((vote.left, vote.right), (vote.right, vote.left))
    )
    return {
        pair: Duel(counts[pair, 1], counts[pair, 0], counts[pair, -1])
        for pair in {pair for pair, _ in counts}
    }


@lru_cache(maxsize=CACHED_BOARDS)
def voter_agreement(votes: tuple[CountedVote, ...]) -> VoterAgreement:
    """Return the agreement of people who voted on the same two answers; its interval is over topics."""
    voters = sorted({vote.voter for vote in votes})
    row_of = {person: row for row, person in enumerate(voters)}
    ordered = sorted(votes, key=lambda vote: (vote.topic_id, vote.pair))
    tables, pairs = [], 0
    for _, of_topic in groupby(ordered, key=lambda vote: vote.topic_id):
        units = [list(of_pair) for _, of_pair in groupby(of_topic, key=lambda vote: vote.pair)]
        outcomes = np.full((len(voters), len(units)), min(OUTCOMES) - 1, dtype=np.int64)
        for column, unit in enumerate(units):
            for vote in unit:
                outcomes[row_of[vote.voter], column] = vote.outcome_of(vote.pair[0])
        pairs += sum(len(unit) > 1 for unit in units)
        tables.append(coincidences(outcomes, OUTCOMES))
    by_topic = np.array(tables).reshape(-1, len(OUTCOMES), len(OUTCOMES))
    whole = by_topic.sum(axis=0)
    same = float(np.trace(whole) / whole.sum()) if whole.sum() else float("nan")
    spread = statistic_interval(by_topic, ordinal_alpha, bounds=COEFFICIENT)
    return VoterAgreement(pairs, same, float(ordinal_alpha(whole)), spread)
