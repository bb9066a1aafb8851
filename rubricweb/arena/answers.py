"""The stored answers of a collection, and the votes on them that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from django.db.models import QuerySet

from grading import types
from grading.types import Sentence
from rubricweb.arena.models import Battle, Reason, Vote, digest_of
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Passage, Response
from rubricweb.corpus.pools import stamp_of
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.systems import models

if TYPE_CHECKING:
    from grading.statistics.bradley_terry import Votes


CACHED_COLLECTIONS = 8
Place = tuple[int, int]
"""(run, topic), by primary keys."""

VOTER_KIND, MODEL = "voter_kind", "llm"
"""The column of a file of battles that says that a model voted, and not a person, and its value."""

OUTCOMES = {
    Vote.Verdict.LEFT.value: 1,
    Vote.Verdict.RIGHT.value: -1,
    Vote.Verdict.TIE.value: 0,
    Vote.Verdict.BOTH_BAD.value: 0,
}
"""Outcome of the left answer against the right one."""


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """What a side cites, numbered from 1 in the order of the first citation."""

    number: int
    doc_id: str
    text: str
    """Empty where the collection lacks the passage and the answer did not bring it along."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence with the numbers of what it cites."""

    number: int
    text: str
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer as it is shown; nothing in it says whose it is."""

    side: str
    """`left` or `right`."""
    claims: tuple[Claim, ...]
    passages: tuple[CitedPassage, ...]
    sentences: tuple[Sentence, ...] = ()
    """As they are stored."""
    references: tuple[str, ...] | None = None
    """Ids of all passages that the answer was made from; None where its file does not say."""

    @property
    def n_words(self) -> int:
        return sum(len(claim.text.split()) for claim in self.claims)


def stored_answers(collection: Collection) -> Mapping[Place, str]:
    """Return the digest of each answer with text of an accepted run."""
    return _stored(collection.pk, stamp_of(collection.pk)).digests


class _Stored(NamedTuple):
    digests: Mapping[Place, str]
    lengths: Mapping[Place, int]


@lru_cache(maxsize=CACHED_COLLECTIONS)
def _stored(collection_id: int, stamp: int) -> _Stored:
    """Return digests and lengths, cached by the stamp, which imports and the states of runs move."""
    collection = Collection.objects.get(pk=collection_id)
    rows = Response.objects.filter(run__in=collection.runs.accepted()).order_by("run", "topic")
    rows = rows.only("run", "topic", "sentences")
    digests, lengths = {}, {}
    for row in rows.iterator():
        texts = [sentence["text"] for sentence in row.sentences]
        if any(text.strip() for text in texts):
            digests[row.run_id, row.topic_id] = digest_of(row)
            lengths[row.run_id, row.topic_id] = sum(len(text.split()) for text in texts)
    return _Stored(digests, lengths)


def answer_words(collection: Collection) -> Mapping[Place, int]:
    """Return the number of words of each answer with text of an accepted run."""
    return _stored(collection.pk, stamp_of(collection.pk)).lengths


def paired_topics(answers: Mapping[Place, str]) -> set[int]:
    """Return the topics that two or more runs answered."""
    runs = Counter(topic for _, topic in answers)
    return {topic for topic, number in runs.items() if number > 1}


def answers_of(battle: Battle) -> tuple[ShownAnswer, ShownAnswer] | None:
    """Return both answers, left first; None if one is not ready yet, or was replaced or removed."""
    if battle.question:
        if not battle.question.is_ready:
            return None
        made = [models.made_from_json(chunk.result or {}, "", "") for chunk in battle.question.chunks.all()]
        first, second = (
            side.answer.response("", "") if side.answer else types.Response("", "", ()) for side in made
        )
        texts = _texts(battle.question.collection_id, first.sentences, second.sentences)
        return _answer("left", first, texts), _answer("right", second, texts)
    (left_run, topic), (right_run, _) = battle.places
    rows = Response.objects.filter(topic=topic, run__in=(left_run, right_run))
    by_run = {row.run_id: row for row in rows.select_related("run", "topic")}
    sides = [by_run.get(left_run), by_run.get(right_run)]
    if [row and digest_of(row) for row in sides] != [battle.left_digest, battle.right_digest]:
        return None
    left, right = [row for row in sides if row]
    stored = convert.response(left), convert.response(right)
    texts = _texts(battle.collection_id, *(response.sentences for response in stored))
    return (
        _answer("left", stored[0], texts | left.documents),
        _answer("right", stored[1], texts | right.documents),
    )


def _answer(side: str, response: types.Response, texts: Mapping[str, str]) -> ShownAnswer:
    numbers: dict[str, int] = {}
    claims = []
    for number, sentence in enumerate(response.sentences, 1):
        cited = list(dict.fromkeys(citation.doc_id for citation in sentence.citations or ()))
        for doc_id in cited:
            numbers.setdefault(doc_id, len(numbers) + 1)
        claims.append(Claim(number, sentence.text, tuple(numbers[doc_id] for doc_id in cited)))
    passages = tuple(
        CitedPassage(number, doc_id, texts.get(doc_id, "")) for doc_id, number in numbers.items()
    )
    return ShownAnswer(side, tuple(claims), passages, tuple(response.sentences), response.references)


def _texts(collection_id: int, *answers: Sequence[Sentence]) -> dict[str, str]:
    """Return the texts of the collection's passages that the answers cite."""
    sentences = [sentence for answer in answers for sentence in answer]
    cited = {citation.doc_id for sentence in sentences for citation in sentence.citations or ()}
    passages = Passage.objects.filter(collection=collection_id, doc_id__in=cited)
    return dict(passages.values_list("doc_id", "text"))


class CountedVerdict(StrEnum):
    """Which of a vote's two verdicts is counted."""

    ANSWER = "answer"
    EVIDENCE = "evidence"


NOUNS = {CountedVerdict.ANSWER: "answers", CountedVerdict.EVIDENCE: "evidence"}
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
    file_voter: str = ""
    """Who voted, a person or a model, where the vote comes from a file of battles."""

    @property
    def outcome(self) -> int:
        """Return 1 where the left one is better, -1 the right one, 0 for a tie and where both are bad."""
        return OUTCOMES[self.verdict]

    @property
    def pair(self) -> tuple[int, int]:
        return min(self.left, self.right), max(self.left, self.right)

    def outcome_of(self, run: int) -> int:
        """Return the outcome for one of the two runs."""
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
    collection: Collection,
    verdict: CountedVerdict = CountedVerdict.ANSWER,
    *,
    with_named: bool = False,
    model: str = "",
) -> Counted:
    """Return the votes of all people that hold, by the time at which battles were drawn.

    With `model`, instead those that files of battles have of that model.
    """
    answers = stored_answers(collection)
    votes: list[CountedVote] = []
    named = outdated = 0
    for row in map(_HeldVote._make, _held(collection.pk)):
        if row.model != model:
            continue
        digests = [answers.get((run, row.topic_id)) for run in (row.left, row.right)]
        outcome = row.answer if verdict is CountedVerdict.ANSWER else row.evidence
        if not row.is_imported and digests != [row.left_digest, row.right_digest]:
            outdated += 1
        elif not (row.is_blind or with_named):
            named += 1
        elif outcome:
            voter = f" {len(votes):09}" if row.voter is None else row.voter
            file_voter = (row.first_name or "") if row.is_imported else ""
            place = row.battle_id, row.topic_id, row.query_id, row.left, row.right
            votes.append(CountedVote(*place, voter, outcome, file_voter))
    return Counted(tuple(votes), named, outdated)


class _HeldVote(NamedTuple):
    """A vote that holds, with its battle and its voter."""

    battle_id: int
    topic_id: int
    query_id: str
    left: int
    right: int
    left_digest: str
    right_digest: str
    drawn: str
    columns: dict[str, str]
    voter: str | None
    first_name: str | None
    answer: str
    evidence: str
    is_blind: bool

    @property
    def is_imported(self) -> bool:
        return self.drawn == Battle.Drawn.IMPORTED

    @property
    def model(self) -> str:
        """Return the model that a file names as the voter; empty where a person voted."""
        if not self.is_imported or self.columns.get(VOTER_KIND) != MODEL:
            return ""
        return self.first_name or MODEL


@read_once
@compiled_once
def _held(collection: int) -> QuerySet[Vote, tuple[Any, ...]]:
    """Return the fields of a `_HeldVote` of each vote of a collection that holds."""
    of_battle = ("topic", "topic__query_id", "left", "right", "left_digest", "right_digest", "drawn")
    of_voter = ("columns", "person__username", "person__first_name")
    fields = ("battle", *(f"battle__{name}" for name in of_battle + of_voter))
    held = Vote.objects.holding(collection).order_by("battle")
    return held.values_list(*fields, "answer", "evidence", "is_blind")


def holding_votes(collection: Collection) -> dict[int, Vote]:
    """Return the vote that holds for each battle, with its reasons."""
    held = Vote.objects.holding(collection).select_related("battle__person").prefetch_related("reasons")
    return {vote.battle_id: vote for vote in held}


def reason_of(vote: Vote) -> Reason | None:
    """Return why the person voted so: the last that they said."""
    reasons = list(vote.reasons.all())
    return reasons[-1] if reasons else None


def reasons_given(collection: Collection) -> dict[int, Reason]:
    """Return why people voted so, by battle: of each vote that holds the last reason."""
    return {reason.vote.battle_id: reason for reason in _reasons(collection.pk)}


@compiled_once
def _reasons(collection: int) -> QuerySet[Reason]:
    held = Vote.objects.holding(collection).order_by().values("pk")
    return Reason.objects.filter(vote__in=held).select_related("vote").order_by("pk")


def named_runs(collection: Collection, runs: Iterable[int]) -> dict[int, str]:
    """Return the names of runs that the reader may see, by primary key."""
    tags = dict(collection.runs.filter(pk__in=set(runs)).values_list("pk", "run_tag"))
    return dict(zip(tags, shown_names(collection.pk, tuple(tags.values())), strict=True))


def as_arrays(votes: Sequence[CountedVote], runs: Sequence[int]) -> Votes:
    """Return the votes for `bradley_terry`; the number of a run is its place in `runs`.

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
    """Return the place of each name among all, sorted."""
    place = {name: number for number, name in enumerate(sorted(set(names)))}
    return [place[name] for name in names]
