"""One answer of a program, graded while it waits: its passages and those that it cites.

The passages are stored under the md5 of their texts, as those of imported responses are, but in no pool:
boards and qrels do not change. An equal text is the same passage, so that nothing is paid for twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial

from django.db.models import Q

from grading.segmentation import PassagesOf, response_passages, sentences_of
from grading.types import ItemKind, Outcome, text_md5
from rubricweb.banks.models import Bank, Item, ItemQuerySet
from rubricweb.core.models import new_stamp
from rubricweb.corpus import topic_pools
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades import visibility
from rubricweb.grades.engine.gaps import on_passages
from rubricweb.grades.engine.missing import Missing, cells_of, missing_over, reads_answers, source_of
from rubricweb.grades.engine.parts import held
from rubricweb.grades.engine.stages import Stages, staged
from rubricweb.grades.models import Grade, GradeQuerySet, GraderConfig, GradingJob
from rubricweb.grades.raters import Rater, active_raters

MOST_PASSAGES = 200
"""Passages of one answer, with those that it cites."""
LOOKED_EVERY = 0.25
"""Seconds between two looks at whether an answer is graded."""


class CannotGrade(Exception):
    """The answer cannot be graded; the text says why."""


class AnswerState(StrEnum):
    """How far the grading of an answer is."""

    GRADED = "graded"
    GRADING = "grading"
    STOPPED = "stopped"
    """Pairs are left, and no job grades them: one failed or was cancelled, or nothing was started yet."""


@dataclass(frozen=True, eq=False)
class OneAnswer:
    """An answer to a topic, as passages, to be graded by the items of a bank."""

    topic: Topic
    bank: Bank
    rater: Rater
    own: tuple[Passage, ...]
    cited: tuple[Passage, ...]

    @property
    def collection(self) -> Collection:
        return self.bank.collection

    @cached_property
    def passages(self) -> dict[int, Passage]:
        """Return the passages by primary key, the answer's own first, each once."""
        return {passage.pk: passage for passage in (*self.own, *self.cited)}

    @property
    def configs(self) -> tuple[GraderConfig, ...]:
        return self.rater.configs

    def plan(self) -> Stages:
        """Return what is missing, in the order in which it can be graded."""
        pks, doc_ids = tuple(self.passages), tuple(row.doc_id for row in self.passages.values())
        rankings = topic_pools.rankings_of(doc_ids, (), ())
        topic = TopicPool(self.topic.pk, self.topic.query_id, pks, doc_ids, rankings)
        pool = CollectionPool(self.collection.pk, new_stamp(), (), (), (topic,))
        find = partial(missing_over, self.collection, pool=pool, items=self.bank.all_items)
        return staged(self.collection, self.configs, find)

    def failed(self) -> list[Missing]:
        """Return the cells whose grading failed, or the extraction of what is verified."""
        return cells_of(self._grades(self.bank.all_items.active()).filter(outcome=Outcome.FAILED))

    def state(self) -> AnswerState:
        plan = self.plan()
        if any(part.cells for part in plan.all):
            return AnswerState.STOPPED
        is_live = any(part.cells for part in plan.missing) or self.jobs()
        return AnswerState.GRADING if is_live else AnswerState.GRADED

    def jobs(self) -> list[GradingJob]:
        """Return the live jobs that grade some of it, whoever started them."""
        topic = self.topic.pk
        chosen = {topic: frozenset(self.passages)}
        rows = self.collection.jobs.exclude(state__in=GradingJob.ENDED).select_related("config")
        return [
            job
            for job in rows.filter(parts__topic=topic).distinct().order_by("pk")
            if any(
                on_passages(
                    self.collection, held(GradingJob.objects.filter(pk=job.pk), topics=[topic]), chosen
                )
            )
        ]

    def items(self) -> list[ItemGrades]:
        """Return the topic's items that the reader may see, with the grades that the reader may see."""
        items = self.bank.items.active().filter(topic=self.topic).select_related("revision")
        rows = self._grades(items)
        grades: dict[int, list[Grade]] = {}
        for grade in visibility.visible_grades(rows, self.collection.pk).select_related("config"):
            grades.setdefault(grade.revision_id, []).append(grade)
        own, cited = ({row.pk for row in some} for some in (self.own, self.cited))
        return [
            ItemGrades(
                item,
                self._covers(item, of_item := grades.get(item.revision_id, []), own),
                self._covers(item, of_item, cited),
                [(self.passages[grade.passage_id], grade) for grade in of_item],
            )
            for item in items.order_by("position", "pk")
        ]

    def _grades(self, items: ItemQuerySet) -> GradeQuerySet:
        """Return its grades, and the failed extractions of what is verified."""
        sources = [source_of(config) for config in self.configs if reads_answers(config)]
        return Grade.objects.filter(
            Q(config__in=self.configs) | Q(config__in=list(filter(None, sources)), outcome=Outcome.FAILED),
            topic=self.topic,
            revision__in=items.filter(topic=self.topic).order_by().values("revision"),
            passage__in=list(self.passages),
        )

    def _covers(self, item: Item, grades: Iterable[Grade], passages: set[int]) -> bool:
        least = self.rater.min_grade_of(ItemKind(item.kind))
        return any(
            grade.rating is not None and grade.rating >= least
            for grade in grades
            if grade.passage_id in passages
        )


@dataclass(frozen=True, slots=True)
class ItemGrades:
    """An item, whether the answer and its citations cover it, and the grades of single passages."""

    item: Item
    is_covered: bool
    is_covered_by_citations: bool
    grades: list[tuple[Passage, Grade]]


def cover(covered: Iterable[bool]) -> float | None:
    """Return the share that is covered, Rubric-Cover of the one answer; None without items."""
    listed = list(covered)
    return sum(listed) / len(listed) if listed else None


def wait_for(answer: OneAnswer, seconds: float) -> AnswerState:
    """Return the state once no job grades the answer any more, or after so many seconds."""
    waited = 0.0
    while (state := answer.state()) is AnswerState.GRADING and waited < seconds:
        time.sleep(LOOKED_EVERY)
        waited += LOOKED_EVERY
    return state


def answer_passages(text: str, passages_of: PassagesOf) -> list[str]:
    """Return the texts that an answer is graded by, cut as those of imported responses.

    >>> answer_passages("The moon pulls. The sun helps.", PassagesOf.SENTENCE)
    ['The moon pulls.', 'The sun helps.']
    """
    return [passage.text for passage in response_passages(sentences_of(text), passages_of)]


def topic_asked(collection: Collection, question: str) -> Topic | None:
    """Return the one topic with this text, upper and lower case alike; None without, or of several."""
    topics = list(collection.topics.filter(text__iexact=question.strip())[:2])
    return topics[0] if len(topics) == 1 else None


def store_answer(
    bank: Bank, topic: Topic, texts: Iterable[str], *, citations: Iterable[str | Passage]
) -> OneAnswer:
    """Store the passages of an answer, and those that it cites by their texts. Raises CannotGrade."""
    rater = active_raters(bank.collection)[0]
    if not rater.grades_items:
        raise CannotGrade(rater.note)
    own, cited = list(dict.fromkeys(texts)), list(citations)
    if len(own) + len(cited) > MOST_PASSAGES:
        problem = f"The answer has {len(own) + len(cited)} passages with its citations"
        raise CannotGrade(f"{problem}, expected at most {MOST_PASSAGES}: grade it by paragraph.")
    by_text = _stored(bank.collection, [*own, *(each for each in cited if isinstance(each, str))])
    cited_rows = [by_text[each] if isinstance(each, str) else each for each in cited]
    own_rows = tuple(by_text[text] for text in own)
    return OneAnswer(topic, bank, rater.saved(), own_rows, tuple(dict.fromkeys(cited_rows)))


def _stored(collection: Collection, texts: Iterable[str]) -> dict[str, Passage]:
    """Return the passage of each text, new ones in no pool."""
    ids = {text_md5(text): text for text in texts}
    rows = [Passage(collection=collection, doc_id=doc_id, text=text) for doc_id, text in ids.items()]
    Passage.objects.bulk_create(rows, ignore_conflicts=True)
    by_text = {row.text: row for row in collection.passages.filter(doc_id__in=ids)}
    if missing := [doc_id for doc_id, text in ids.items() if text not in by_text]:
        raise CannotGrade(f"Passage {missing[0]} has another text in the collection.")
    return by_text
