"""What the responses of accepted runs cite, and the labels that a board or a file is made of.

Labels made here are of a citation: one for all answers to a topic with the same sentence. Labels of a file
are of a place in one answer, whatever other answers say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from grading.support import JudgedCitations, Support, knows_contradiction, majority
from grading.types import FAILED, MISSING, Sentence, text_md5
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Passage, Response, Topic
from rubricweb.corpus.pools import stamp_of
from rubricweb.grades.matrices import StampedCache
from rubricweb.support.models import (
    CLAIM_PROMPTS,
    LabelledAnswer,
    SupportEvent,
    SupportJudge,
    SupportLabel,
    SupportSettings,
)

CACHED_COLLECTIONS = 4
COLUMNS = ("run", "topic", "sentences")
Rows = Sequence[Sequence[int]]
"""The labels of an answer by sentence and citation: a `Support`, MISSING or FAILED."""

PEOPLE = "people"
KEY = ("topic_id", "sentence_md5", "doc_id")


class CitationKey(NamedTuple):
    """What one label is about."""

    topic_id: int
    sentence_md5: str
    doc_id: str


class Statement(NamedTuple):
    """A sentence of a response."""

    text: str
    md5: str
    before: str
    """The sentence before it; empty for the first."""
    doc_ids: tuple[str, ...]
    """That it cites, in its order, each once."""


@dataclass(frozen=True, slots=True)
class CitingAnswer:
    """A response, without its texts."""

    response_id: int
    run_id: int
    topic_id: int
    sentences: tuple[tuple[str, tuple[str, ...]], ...]
    """The md5 of each sentence, empty where it has no text, and the doc ids that it cites, in their order."""

    def citations(self, rule: JudgedCitations) -> list[list[CitationKey]]:
        """Return the judged citations of each sentence."""
        return [
            [CitationKey(self.topic_id, md5, doc_id) for doc_id in rule.of(doc_ids)]
            for md5, doc_ids in self.sentences
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Cited:
    """What the accepted runs of a collection cite."""

    answers: tuple[CitingAnswer, ...]
    """Answers by topic, then by run, without responses whose file does not say what they cite."""
    unsaid: Counter[int]
    """How many those are, by run."""
    readable: frozenset[tuple[int, str]]
    """(topic, doc id) of what is cited and has a text."""
    _orders: dict[JudgedCitations, tuple[CitationKey, ...]] = field(
        default_factory=dict, init=False, repr=False
    )
    """What `in_random_order` returned."""

    def citations(self, rule: JudgedCitations) -> tuple[CitationKey, ...]:
        """Return each judged citation once, whether or not it has a text, in the order of the topics.

        Within a topic they are ordered by the digest of the sentence, which says nothing of runs.
        """
        by_topic: dict[int, set[CitationKey]] = {}
        for answer in self.answers:
            of_topic = by_topic.setdefault(answer.topic_id, set())
            of_topic.update(citation for sentence in answer.citations(rule) for citation in sentence)
        return tuple(citation for of_topic in by_topic.values() for citation in sorted(of_topic))

    def readable_citations(self, rule: JudgedCitations) -> list[CitationKey]:
        """Return the citations whose sentence and passage have a text, so that somebody can judge them."""
        return [
            citation
            for citation in self.citations(rule)
            if citation.sentence_md5 and (citation.topic_id, citation.doc_id) in self.readable
        ]

    def in_random_order(self, rule: JudgedCitations) -> tuple[CitationKey, ...]:
        """Return readable citations over all topics, in one random order that says nothing of them.

        Any first part of it is a simple random sample. It is the same in every copy of a collection.
        """
        if rule not in self._orders:
            citations = self.readable_citations(rule)
            ordered = sorted(
                citations, key=lambda citation: text_md5(f"{citation.sentence_md5} {citation.doc_id}")
            )
            self._orders[rule] = tuple(ordered)
        return self._orders[rule]


_cache: StampedCache[tuple[int, int], Cited] = StampedCache(CACHED_COLLECTIONS)


def cited(collection: Collection) -> Cited:
    """Return what accepted runs cite, cached by a stamp that imports and accepted runs move."""
    key = collection.pk, stamp_of(collection.pk)
    return _cache.get(key) or _cache.keep(key, _read(collection))


def statements(sentences: Sequence[Sentence]) -> Iterator[Statement]:
    """Yield the sentences that have text."""
    before = ""
    for sentence in sentences:
        text = sentence.text.strip()
        if text:
            doc_ids = tuple(dict.fromkeys(citation.doc_id for citation in sentence.citations or ()))
            yield Statement(text, text_md5(text), before, doc_ids)
            before = text


def statements_of(topic: Topic) -> dict[str, Statement]:
    """Return the sentences with which accepted runs answer the topic, by md5; the first of equal ones."""
    statements_by_md5: dict[str, Statement] = {}
    for response in _responses(topic.collection, topic).only(*COLUMNS):
        for statement in statements(convert.sentences(response)):
            statements_by_md5.setdefault(statement.md5, statement)
    return statements_by_md5


def texts_of(topic: Topic, doc_ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of cited documents: the collection's own, else those that a response brought along."""
    needed = set(doc_ids)
    rows = Passage.objects.filter(collection=topic.collection_id, doc_id__in=needed)
    texts = dict(rows.values_list("doc_id", "text"))
    if needed - set(texts):
        for documents in _responses(topic.collection, topic).values_list("documents", flat=True):
            texts |= {key: text for key, text in documents.items() if key in needed and key not in texts}
    return texts


def _responses(collection: Collection, topic: Topic | None = None) -> QuerySet[Response]:
    rows = Response.objects.filter(run__collection=collection, run__in=collection.runs.accepted())
    return (rows.filter(topic=topic) if topic else rows).order_by("topic__position", "topic", "run__run_tag")


def _read(collection: Collection) -> Cited:
    answers, unsaid = [], Counter[int]()
    brought: set[tuple[int, str]] = set()
    for response in _responses(collection).only(*COLUMNS, "documents").iterator(chunk_size=200):
        brought |= {(response.topic_id, doc_id) for doc_id, text in response.documents.items() if text}
        sentences = convert.sentences(response)
        if sentences and all(sentence.citations is None for sentence in sentences):
            unsaid[response.run_id] += 1
            continue
        sentences_of = tuple(
            (
                text_md5(sentence.text) if sentence.text.strip() else "",
                tuple(citation.doc_id for citation in sentence.citations or ()),
            )
            for sentence in sentences
        )
        answers.append(CitingAnswer(response.pk, response.run_id, response.topic_id, sentences_of))
    places = {
        (answer.topic_id, doc_id)
        for answer in answers
        for _, doc_ids in answer.sentences
        for doc_id in doc_ids
    }
    doc_ids = set(Passage.objects.filter(collection=collection).values_list("doc_id", flat=True))
    readable = frozenset(place for place in places if place[1] in doc_ids or place in brought)
    return Cited(tuple(answers), unsaid, readable)


Standing = Mapping[CitationKey, Mapping[int, SupportEvent]]
"""(citation, person) -> the event that counts."""


@dataclass(frozen=True, slots=True)
class SupportRater:
    """Whose labels count."""

    key: str
    """In addresses and file names."""
    name: str
    judge: SupportJudge | None = None
    """None for people."""
    is_imported: bool = False
    """Whether a file has labels of it."""


@read_once
def raters(collection: Collection) -> list[SupportRater]:
    """Return the models that have labelled something, the latest first, and people.

    People come first where they are the authors of imported labels, else last.
    """
    authors, judges = set(_authors(collection.pk)), _latest_judges(collection.pk)
    models = [
        SupportRater(f"judge-{judge.pk}", str(judge), judge, is_imported=judge.pk in authors)
        for judge in judges
    ]
    pooled = SupportRater(PEOPLE, "People", is_imported=None in authors)
    return [pooled, *models] if pooled.is_imported else [*models, pooled]


@compiled_once
def _authors(collection: int) -> QuerySet[LabelledAnswer, int | None]:
    return imported(collection).order_by().values_list("judge", flat=True).distinct()


@compiled_once
def _latest_judges(collection: int) -> QuerySet[SupportJudge]:
    return judges_with_labels(collection).order_by("-pk")


def judges_with_labels(collection: Collection | int) -> QuerySet[SupportJudge]:
    """Return the models that have labelled something here, or in a file."""
    has_labels = Exists(SupportLabel.objects.filter(judge=OuterRef("pk")))
    has_answers = Exists(LabelledAnswer.objects.filter(judge=OuterRef("pk")))
    of_citations = SupportJudge.objects.filter(collection=collection)
    of_citations = of_citations.exclude(prompt_id__startswith=CLAIM_PROMPTS)
    return of_citations.filter(has_labels | has_answers)


def imported(collection: Collection | int) -> QuerySet[LabelledAnswer]:
    """Return the labels of files, in the order in which they came."""
    return LabelledAnswer.objects.filter(response__run__collection=collection)


def has_people_in_files(collection: Collection) -> bool:
    """Return whether a file has labels of people."""
    return None in _authors(collection.pk)


@dataclass(frozen=True, slots=True)
class PlacedLabels:
    """What one rater says of the citations of each answer."""

    by_citation: Mapping[CitationKey, int]
    """Labels made here."""
    by_response: Mapping[int, Rows]
    """Labels of files; those of an answer are all that counts for it."""
    unfitting: Counter[int]
    """Answers whose imported labels do not fit them any more, and do not count, by run."""

    def of(self, answer: CitingAnswer) -> Rows:
        """Return the labels of the answer: of a file all, of those made here up to three of a sentence."""
        rows = self.by_response.get(answer.response_id)
        if rows is not None:
            return rows
        return [
            [self.by_citation.get(citation, MISSING) for citation in sentence]
            for sentence in answer.citations(JudgedCitations.ALL)
        ]

    def at_places(self, answer: CitingAnswer) -> Rows:
        """Return the label of every citation in its place; those made here are at every equal one."""
        rows = self.by_response.get(answer.response_id)
        if rows is not None:
            return rows
        return [
            [self.by_citation.get(CitationKey(answer.topic_id, md5, doc_id), MISSING) for doc_id in doc_ids]
            for md5, doc_ids in answer.sentences
        ]

    @property
    def content(self) -> Hashable:
        """Return all labels: equal where none has changed."""
        of_files = ((pk, tuple(map(tuple, rows))) for pk, rows in self.by_response.items())
        return frozenset(self.by_citation.items()), frozenset(of_files), frozenset(self.unfitting.items())

    def is_imported(self, answer: CitingAnswer) -> bool:
        return answer.response_id in self.by_response

    @property
    def has_contradiction(self) -> bool:
        """Return whether one of the labels is that the passage contradicts the sentence."""
        of_files = (label for rows in self.by_response.values() for row in rows for label in row)
        return Support.CONTRADICTS in self.by_citation.values() or Support.CONTRADICTS in of_files


def placed_labels(collection: Collection, rater: SupportRater) -> PlacedLabels:
    """Return the labels of every answer, without imported ones that do not fit their answer any more."""
    answers = {answer.response_id: answer for answer in cited(collection).answers}
    rows = (
        imported(collection).filter(judge=rater.judge) if rater.is_imported else LabelledAnswer.objects.none()
    )
    of_answers = [pair for pair in rows.values_list("response", "labels") if pair[0] in answers]
    by_response = {pk: labels for pk, labels in of_answers if fits_answer(labels, answers[pk])}
    unfitting = Counter(answers[pk].run_id for pk, _ in of_answers if pk not in by_response)
    return PlacedLabels(labels_by(collection, rater), by_response, unfitting)


def may_contradict(collection: Collection, rater: SupportRater, labels: PlacedLabels) -> bool:
    """Return whether the rater could say that a passage contradicts a sentence, or has said so."""
    if labels.has_contradiction:
        return True
    if rater.judge:
        return knows_contradiction(rater.judge.prompt_id)
    return SupportSettings.objects.filter(collection=collection, contradicts=True).exists()


def fits_answer(labels: Rows, answer: CitingAnswer) -> bool:
    """Return whether each row is a sentence of the answer, and each label one of its citations."""
    return len(labels) == len(answer.sentences) and all(
        len(row) <= len(doc_ids) for row, (_, doc_ids) in zip(labels, answer.sentences, strict=True)
    )


def labels_by(collection: Collection, rater: SupportRater) -> dict[CitationKey, int]:
    """Return each label made here, FAILED where a reply has none; of several people the majority's."""
    if rater.judge:
        return judge_labels(rater.judge)
    by_person = standing_events(collection)
    return {
        citation: majority(int(event.label or 0) for event in events.values())
        for citation, events in by_person.items()
    }


def judge_labels(judge: SupportJudge) -> dict[CitationKey, int]:
    rows = SupportLabel.objects.filter(judge=judge).values_list(*KEY, "label")
    return {CitationKey(*key): FAILED if label is None else label for *key, label in rows.iterator()}


def missing(collection: Collection, judge: SupportJudge | None, rule: JudgedCitations) -> list[CitationKey]:
    """Return readable citations that `judge` has not labelled, by topic; all of them for an unsaved judge."""
    labelled = set(judge_labels(judge)) if judge else set()
    return [cell for cell in cited(collection).readable_citations(rule) if cell not in labelled]


def failed(collection: Collection, judge: SupportJudge) -> list[CitationKey]:
    """Return what has a text, and a reply of `judge` without a label; by topic."""
    without = {citation for citation, label in judge_labels(judge).items() if label == FAILED}
    return [cell for cell in cited(collection).readable_citations(JudgedCitations.ALL) if cell in without]


@read_once
def standing_events(collection: Collection) -> Standing:
    """Return the latest event of each citation and person, unless it took the label back."""
    latest: dict[CitationKey, dict[int, SupportEvent]] = defaultdict(dict)
    for event in _events(collection.pk):
        citation = citation_of(event)
        latest[citation].pop(event.by_id, None)
        if event.label is not None:
            latest[citation][event.by_id] = event
    return {citation: events for citation, events in latest.items() if events}


@compiled_once
def _events(collection: int) -> QuerySet[SupportEvent]:
    return SupportEvent.objects.filter(topic__collection=collection).order_by("pk")


def citation_of(row: SupportEvent | SupportLabel) -> CitationKey:
    return CitationKey(row.topic_id, row.sentence_md5, row.doc_id)
