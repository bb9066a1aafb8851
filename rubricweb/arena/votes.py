"""The votes that count: the last event of each battle, unless it was taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from rubricweb.arena.answers import stored_answers
from rubricweb.arena.models import Battle, Reason, Vote
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import shown_names

if TYPE_CHECKING:
    from grading.statistics.bradley_terry import Votes

OUTCOMES = {
    Vote.Verdict.LEFT.value: 1,
    Vote.Verdict.RIGHT.value: -1,
    Vote.Verdict.TIE.value: 0,
    Vote.Verdict.BOTH_BAD.value: 0,
}
"""Of the left answer against the right one."""


class Verdict(StrEnum):
    """Which of a vote's two verdicts is counted."""

    ANSWER = "answer"
    EVIDENCE = "evidence"


NOUNS = {Verdict.ANSWER: "answers", Verdict.EVIDENCE: "evidence"}
"""What the votes are on."""


@dataclass(frozen=True, slots=True)
class CountedVote:
    """One person's verdict on two answers."""

    battle_id: int
    topic_id: int
    query_id: str
    left: int
    """The run's primary key."""
    right: int
    voter: str
    """The person's user name; a name of its own for each vote of somebody who is gone."""
    verdict: str

    @property
    def outcome(self) -> int:
        """1 where the left one is better, -1 the right one, 0 for a tie and where both are bad."""
        return OUTCOMES[self.verdict]

    @property
    def pair(self) -> tuple[int, int]:
        return min(self.left, self.right), max(self.left, self.right)

    def outcome_of(self, run: int) -> int:
        """The outcome for one of the two runs."""
        return self.outcome if run == self.left else -self.outcome


@dataclass(frozen=True, slots=True)
class Counted:
    """The votes that count, and how many do not."""

    votes: tuple[CountedVote, ...]
    named: int
    """Votes by people who knew whose answers these are, where those are left out."""
    outdated: int
    """Votes on an answer that an import replaced since."""


def counted_votes(
    collection: Collection, verdict: Verdict = Verdict.ANSWER, *, with_named: bool = False
) -> Counted:
    """The votes of all people that hold, by the time at which battles were drawn."""
    answers = stored_answers(collection)
    votes: list[CountedVote] = []
    named = outdated = 0
    held = Vote.objects.holding(collection).select_related("battle__topic", "battle__person")
    for vote in held.order_by("battle"):
        battle = vote.battle
        digests = [answers.get(place) for place in battle.places]
        said = getattr(vote, verdict.value)
        if digests != [battle.left_digest, battle.right_digest]:
            outdated += 1
        elif not (vote.is_blind or with_named):
            named += 1
        elif said:
            votes.append(_counted(battle, said, place=len(votes)))
    return Counted(tuple(votes), named, outdated)


def _counted(battle: Battle, said: str, *, place: int) -> CountedVote:
    voter = battle.person.username if battle.person else f" {place:09}"
    (left, topic), (right, _) = battle.places
    return CountedVote(battle.pk, topic, battle.query_id, left, right, voter, said)


def holding_votes(collection: Collection) -> dict[int, Vote]:
    """By battle: the vote that holds, with its reasons."""
    held = Vote.objects.holding(collection).prefetch_related("reasons")
    return {vote.battle_id: vote for vote in held}


def reason_of(vote: Vote) -> Reason | None:
    """Why the person voted so: the last that they said."""
    said = list(vote.reasons.all())
    return said[-1] if said else None


def named_runs(collection: Collection, runs: Iterable[int]) -> dict[int, str]:
    """By primary key: the names of runs that the reader may see."""
    tags = dict(collection.runs.filter(pk__in=set(runs)).values_list("pk", "run_tag"))
    return dict(zip(tags, shown_names(collection.pk, tuple(tags.values())), strict=True))


def as_arrays(votes: Sequence[CountedVote], runs: Sequence[int]) -> Votes:
    """For `bradley_terry`, with the place of each run in `runs` as its number.

    Topics and voters are numbered by their ids and user names, so that a restored collection has them in the
    order of the archived one.
    """
    from grading.statistics.bradley_terry import Votes  # brings scipy

    number = {run: place for place, run in enumerate(runs)}
    topics, voters = (_numbers(names) for names in zip(*((v.query_id, v.voter) for v in votes), strict=True))
    columns = (
        [number[vote.left] for vote in votes],
        [number[vote.right] for vote in votes],
        [vote.outcome for vote in votes],
        topics,
        voters,
    )
    return Votes(*(np.array(column, dtype=np.int64) for column in columns))


def _numbers(names: Sequence[str]) -> list[int]:
    """The place of each name among all, sorted."""
    place = {name: number for number, name in enumerate(sorted(set(names)))}
    return [place[name] for name in names]
