"""The stored answers of a collection, and one of them as a battle shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from grading.types import Sentence
from rubricweb.arena.models import Battle, Question, digest_of
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Passage, Response
from rubricweb.systems import specs

CACHED_COLLECTIONS = 8
Place = tuple[int, int]
"""(run, topic), by primary keys."""


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
    is_stated: bool
    """Whether the file says what the sentence cites, be it nothing."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it is shown; nothing in it says whose it is."""

    side: str
    """`left` or `right`."""
    claims: tuple[Claim, ...]
    passages: tuple[CitedPassage, ...]

    @property
    def words(self) -> int:
        return sum(len(claim.text.split()) for claim in self.claims)


def stored_answers(collection: Collection) -> Mapping[Place, str]:
    """The digest of each answer with text of an accepted run."""
    stamp = Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk)
    return _stored(collection.pk, stamp).digests


class _Stored(NamedTuple):
    digests: Mapping[Place, str]
    words: Mapping[Place, int]


@lru_cache(maxsize=CACHED_COLLECTIONS)
def _stored(collection_id: int, stamp: int) -> _Stored:
    """Cached by the stamp, which imports and the states of runs move."""
    collection = Collection.objects.get(pk=collection_id)
    rows = Response.objects.filter(run__in=collection.runs.accepted()).order_by("run", "topic")
    rows = rows.only("run", "topic", "sentences")
    digests, words = {}, {}
    for row in rows.iterator():
        texts = [sentence["text"] for sentence in row.sentences]
        if any(text.strip() for text in texts):
            digests[row.run_id, row.topic_id] = digest_of(row)
            words[row.run_id, row.topic_id] = sum(len(text.split()) for text in texts)
    return _Stored(digests, words)


def answer_words(collection: Collection) -> Mapping[Place, int]:
    """The number of words of each answer with text of an accepted run."""
    stamp = Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk)
    return _stored(collection.pk, stamp).words


def paired_topics(answers: Mapping[Place, str]) -> set[int]:
    """The topics that two or more runs answered."""
    runs = Counter(topic for _, topic in answers)
    return {topic for topic, number in runs.items() if number > 1}


def answers_of(battle: Battle) -> tuple[Answer, Answer] | None:
    """Both answers, left first; None while one is being made, and where one was replaced or removed since."""
    if battle.question:
        return _fresh_answers(battle.question)
    (left_run, topic), (right_run, _) = battle.places
    rows = Response.objects.filter(topic=topic, run__in=(left_run, right_run))
    by_run = {row.run_id: row for row in rows.select_related("run")}
    sides = [by_run.get(left_run), by_run.get(right_run)]
    if [row and digest_of(row) for row in sides] != [battle.left_digest, battle.right_digest]:
        return None
    left, right = [row for row in sides if row]
    said = convert.sentences(left), convert.sentences(right)
    texts = _texts(battle.collection_id, *said)
    return (
        _answer("left", said[0], texts | left.documents),
        _answer("right", said[1], texts | right.documents),
    )


def _fresh_answers(question: Question) -> tuple[Answer, Answer] | None:
    if not question.is_ready:
        return None
    made = [specs.made_from_json(chunk.result or {}, "", "") for chunk in question.chunks.all()]
    left, right = (one.answer.response("", "").sentences if one.answer else () for one in made)
    texts = _texts(question.collection_id, left, right)
    return _answer("left", left, texts), _answer("right", right, texts)


def _answer(side: str, sentences: Sequence[Sentence], texts: Mapping[str, str]) -> Answer:
    numbers: dict[str, int] = {}
    claims = []
    for number, sentence in enumerate(sentences, 1):
        cited = list(dict.fromkeys(citation.doc_id for citation in sentence.citations or ()))
        for doc_id in cited:
            numbers.setdefault(doc_id, len(numbers) + 1)
        told = sentence.text, tuple(numbers[doc_id] for doc_id in cited), sentence.citations is not None
        claims.append(Claim(number, *told))
    passages = tuple(
        CitedPassage(number, doc_id, texts.get(doc_id, "")) for doc_id, number in numbers.items()
    )
    return Answer(side, tuple(claims), passages)


def _texts(collection_id: int, *answers: Sequence[Sentence]) -> dict[str, str]:
    """The texts of the collection's passages that the answers cite."""
    sentences = [sentence for answer in answers for sentence in answer]
    cited = {citation.doc_id for sentence in sentences for citation in sentence.citations or ()}
    passages = Passage.objects.filter(collection=collection_id, doc_id__in=cited)
    return dict(passages.values_list("doc_id", "text"))
