"""Votes of language models: which pairs a model has not judged, and what it says of the others.

A model is asked for both orders of a pair. Where the two verdicts differ the vote is a tie, and a reply
without a verdict makes no vote. Nothing here is read while people vote: draws, battles and boards of people's
votes count people alone (`answers.counted_votes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict

from django.db.models import QuerySet

from grading.pairwise import preference_of
from rubricweb.arena.answers import (
    MODEL,
    VOTER_KIND,
    Counted,
    CountedVerdict,
    CountedVote,
    Place,
    counted_votes,
    stored_answers,
)
from rubricweb.arena.battles import candidates
from rubricweb.arena.models import Battle, JudgedPair, JudgeJob
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection

ORDERS = 2
"""Calls of the model for a pair."""
Side = Literal["left", "right", "tie", ""]
"""A verdict by side; empty where the reply named none, or nothing was asked."""
NO_BATTLE = 0
"""Stands for the battle of a vote that no person has."""
OnTopic = tuple[int, tuple[int, int]]
"""(topic, (run, run)), by primary keys, the smaller run first."""


class PairJudgment(TypedDict):
    """What the model said of a pair, as `JudgedPair.result` has it."""

    verdicts: tuple[Side, Side]
    """For each order."""
    problem: str
    """Why there is no vote; empty where there is one."""
    at: str
    """When, by ISO 8601."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A model, asked in the words of one prompt."""

    backend: str
    llm: str
    prompt_id: str

    @property
    def name(self) -> str:
        """Return the name in choices and files."""
        return f"{self.llm} ({self.backend}, {self.prompt_id})"

    def pairs(self, collection: Collection) -> QuerySet[JudgedPair]:
        """Return the pairs about which the model was asked, or will be, the earliest first."""
        jobs = JudgeJob.objects.filter(collection=collection, backend=self.backend, llm=self.llm)
        rows = JudgedPair.objects.filter(job__in=jobs.filter(prompt_id=self.prompt_id))
        return rows.select_related("topic").order_by("pk")


def judge_of(job: JudgeJob) -> Judge:
    return Judge(job.backend, job.llm, job.prompt_id)


@dataclass(frozen=True, slots=True)
class PairOfAnswers:
    """Two answers to a topic that differ, with their digests of this moment."""

    topic_id: int
    left_id: int
    right_id: int
    left_digest: str
    right_digest: str
    replies: Mapping[str, list[str]]
    """What the judge replied already, by the digest of the prompt, in jobs that did not come to a vote."""


def missing(collection: Collection, judge: Judge, chosen: JudgeJob.Pairs) -> list[PairOfAnswers]:
    """Return the pairs that the judge shall be asked about, by query id and the names of runs.

    Left out is what it has judged, and what a job that has not ended will ask it.
    """
    answers = stored_answers(collection)
    rows = list(judge.pairs(collection))
    skipped = {_on_topic(row) for row in rows if row.is_live}
    judged = {_on_topic(row): verdict_of(row) for row in _done(rows) if _is_of_today(row, answers)}
    due: set[OnTopic] | None = None
    if chosen == JudgeJob.Pairs.FAILED:
        due = {on_topic for on_topic, verdict in judged.items() if not verdict}
    else:
        skipped |= set(judged)
        if chosen == JudgeJob.Pairs.VOTED:
            due = _voted(collection)
    paid = _readable_replies(rows)
    return [
        pair
        for pair in _pairs(collection, answers, paid)
        if (on_topic := _on_topic(pair)) not in skipped and (due is None or on_topic in due)
    ]


def _voted(collection: Collection) -> set[OnTopic]:
    votes = counted_votes(collection, with_named=True).votes
    return {(vote.topic_id, vote.pair) for vote in votes}


def _readable_replies(rows: Iterable[JudgedPair]) -> dict[OnTopic, dict[str, list[str]]]:
    """Return the replies with a verdict: they were paid for, and their prompts need not be asked again."""
    kept: dict[OnTopic, dict[str, list[str]]] = {}
    for row in rows:
        for digest, replies in row.replies.items():
            if readable := [reply for reply in replies if preference_of(reply)]:
                kept.setdefault(_on_topic(row), {})[digest] = readable
    return kept


def _pairs(
    collection: Collection, answers: Mapping[Place, str], paid: Mapping[OnTopic, dict[str, list[str]]]
) -> list[PairOfAnswers]:
    tags = dict(collection.runs.values_list("pk", "run_tag"))
    topics = dict(collection.topics.values_list("pk", "query_id"))
    pairs = []
    for pair in candidates(answers):
        left, right = sorted(pair.pair, key=lambda run: tags[run])
        digests = answers[left, pair.topic], answers[right, pair.topic]
        replies = paid.get((pair.topic, _both(left, right)), {})
        pairs.append(PairOfAnswers(pair.topic, left, right, *digests, replies))
    return sorted(pairs, key=lambda pair: (topics[pair.topic_id], tags[pair.left_id], tags[pair.right_id]))


def _done(rows: Iterable[JudgedPair]) -> list[JudgedPair]:
    return [row for row in rows if row.state == JudgedPair.State.DONE]


def _both(left: int, right: int) -> tuple[int, int]:
    return min(left, right), max(left, right)


def _on_topic(row: JudgedPair | PairOfAnswers) -> OnTopic:
    return row.topic_id, _both(row.left_id, row.right_id)


def _is_of_today(row: JudgedPair, answers: Mapping[Place, str]) -> bool:
    """Return whether both answers are as they were judged, and their runs count."""
    digests = [answers.get((run, row.topic_id)) for run in (row.left_id, row.right_id)]
    return digests == [row.left_digest, row.right_digest]


def verdicts_of(row: JudgedPair) -> tuple[str, str]:
    """Return the verdicts in both orders, by side; empty where the reply named none."""
    first, second = (row.result or {}).get("verdicts") or ("", "")
    return str(first), str(second)


def verdict_of(row: JudgedPair) -> str:
    """Return the vote, a tie where the order changed the verdict; empty where a reply named none."""
    first, second = verdicts_of(row)
    if not (first and second):
        return ""
    return first if first == second else "tie"


@dataclass(frozen=True, slots=True)
class JudgeVotes:
    """The votes of one model, and how it came to them."""

    name: str
    counted: Counted
    pairs: int = 0
    """Pairs with a verdict in both orders; 0 where a file has the votes."""
    flipped: int = 0
    """Pairs of which the order changed the verdict: these count as ties."""
    for_first: int = 0
    """Flipped pairs in which the answer that came first won twice."""
    for_second: int = 0
    failed: int = 0
    """Pairs without a vote, since a reply named no verdict."""

    @property
    def votes(self) -> tuple[CountedVote, ...]:
        return self.counted.votes

    @property
    def flip_rate(self) -> float | None:
        return self.flipped / self.pairs if self.pairs else None


def judge_names(collection: Collection) -> list[str]:
    """Return the names of models that were asked here, then of those that only files of battles have."""
    own = {judge_of(job).name: None for job in _jobs(collection.pk)}
    return list(own | {name or MODEL: None for name in _imported_names(collection.pk)})


@compiled_once
def _jobs(collection: int) -> QuerySet[JudgeJob, JudgeJob]:
    return JudgeJob.objects.filter(collection=collection).order_by("pk")


@compiled_once
def _imported_names(collection: int) -> QuerySet[Battle, str | None]:
    battles = Battle.objects.filter(collection=collection, drawn=Battle.Drawn.IMPORTED)
    by_models = battles.filter(**{f"columns__{VOTER_KIND}": MODEL}).order_by("person")
    return by_models.values_list("person__first_name", flat=True).distinct()


def votes_of(
    collection: Collection, name: str, verdict: CountedVerdict = CountedVerdict.ANSWER
) -> JudgeVotes:
    """Return the votes of the model of that name; a pair that was asked here is not taken from files."""
    from_files = counted_votes(collection, verdict, with_named=True, model=name)
    judges = dict.fromkeys(judge_of(job) for job in collection.judge_jobs.all())
    judge = next((judge for judge in judges if judge.name == name), None)
    if judge is None or verdict is not CountedVerdict.ANSWER:
        return JudgeVotes(name, from_files)
    return _with_own(collection, judge, from_files)


def _with_own(collection: Collection, judge: Judge, from_files: Counted) -> JudgeVotes:
    answers, rows = stored_answers(collection), _done(judge.pairs(collection))
    latest = {_on_topic(row): row for row in rows if _is_of_today(row, answers)}
    voted = [row for row in latest.values() if verdict_of(row)]
    flipped = [verdicts for verdicts in map(verdicts_of, voted) if verdicts[0] != verdicts[1]]
    votes = [_counted(row, judge.name) for row in voted]
    own = {(vote.topic_id, vote.pair) for vote in votes}
    others = [vote for vote in from_files.votes if (vote.topic_id, vote.pair) not in own]
    outdated = len({_on_topic(row) for row in rows} - set(latest)) + from_files.outdated
    return JudgeVotes(
        judge.name,
        Counted((*votes, *others), 0, outdated),
        pairs=len(voted),
        flipped=len(flipped),
        for_first=flipped.count(("left", "right")),
        for_second=flipped.count(("right", "left")),
        failed=len(latest) - len(voted),
    )


def _counted(row: JudgedPair, name: str) -> CountedVote:
    topic = row.topic
    return CountedVote(NO_BATTLE, topic.pk, topic.query_id, row.left_id, row.right_id, name, verdict_of(row))
