"""Assignments of nuggets to whole answers, by one author, as lines of nuggetizer.

A line that came with a file is written as it was, in its order, with the grades of now; answers that were
graded here follow in the collection's order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from grading.formats.assignments import PROMPT_CLASS, RATINGS, RUN_KEYS, assignment_of, in_order
from grading.formats.banks import BankItem, BankLine
from grading.formats.banks.importance import weighed
from grading.formats.banks.nuggetizer import ASSIGNMENTS_DIALECT
from grading.measures.cover import partial_grade
from grading.segmentation import PassagesOf
from grading.types import ItemKind, Purpose
from rubricweb.banks.convert import BankScope, bank_lines
from rubricweb.banks.kept_assignments import kept_lines
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Passage, Response, Topic
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.grades.configs import default_min_grade, kinds_of
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import graders_of

Json = dict[str, Any]


_ONE_LINE_A_TOPIC = replace(ASSIGNMENTS_DIALECT, name="assigned", repeats_topics=False)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that is one passage, with its ratings."""

    topic: Topic
    run_tag: str
    shown_tag: str
    """The run's name for the reader, who may see a pseudonym."""
    text: str
    items: list[BankItem]
    """The nuggets of the topic."""
    ratings: Mapping[str, int]
    """By the uid of the nugget, without those that failed."""


def authors(bank: Bank) -> list[GraderConfig]:
    """Return the graders who rated the bank's nuggets, people as a grader among them."""
    rating = (config for config in graders_of(bank, (Purpose.RATE,)))
    return [config for config in rating if ItemKind.NUGGET in kinds_of(config)]


def assignment_lines(scope: BankScope, config: GraderConfig) -> list[BankLine]:
    """Return a line for each whole answer to whose topic's nuggets the grader gave ratings, or a file did."""
    answers = {(answer.topic.pk, answer.run_tag): answer for answer in _answers(scope, config)}
    is_from_file = config.prompt_class == PROMPT_CLASS
    kept = kept_lines(scope.bank, config.llm) if is_from_file else []
    written = []
    for topic_id, line in kept:
        if answer := answers.pop((topic_id, line.run_tag), None):
            raw = {"answer_text": answer.text} | line.line
            if answer.shown_tag != answer.run_tag:
                raw |= dict.fromkeys(raw.keys() & set(RUN_KEYS), answer.shown_tag)
            written.append(_line(answer, raw, _nuggets(answer, config, line.line["nuggets"])))
    graded_here = (answer for answer in answers.values() if answer.ratings)
    return [*written, *(_line(answer, _new(answer), _nuggets(answer, config)) for answer in graded_here)]


def _answers(scope: BankScope, config: GraderConfig) -> Iterator[_Answer]:
    """Yield the whole answers of runs that count, by topic and then run."""
    collection = scope.bank.collection
    pool = collection_pool(collection)
    graded, responses = matrices(config, pool), _responses(scope.bank)
    tags = dict(collection.runs.values_list("pk", "run_tag"))
    items = {line.query_id: line.items for line in bank_lines(scope, _ONE_LINE_A_TOPIC)}
    for topic in pool.topics:
        texts = _texts_of(topic)
        ratings, nuggets = _by_passage(graded[topic.topic_id]), items.get(topic.query_id, [])
        for pk, shown_tag, doc_ids in zip(pool.run_pks, pool.run_tags, topic.ranked, strict=True):
            response = responses.get((topic.topic_id, pk))
            if response is not None and doc_ids and doc_ids[0] in texts and len(doc_ids) == 1:
                of_passage = ratings.get(doc_ids[0], {})
                rated = {i.item_id: of_passage[i.item_id] for i in nuggets if i.item_id in of_passage}
                yield _Answer(response.topic, tags[pk], shown_tag, texts[doc_ids[0]], nuggets, rated)


def _texts_of(topic: TopicPool) -> dict[str, str]:
    """Return the texts of passages that are all that a run ranks for the topic."""
    alone = {doc_ids[0] for doc_ids in topic.ranked if doc_ids and len(doc_ids) == 1}
    pks = [topic.passage_pks[topic.row_of[doc_id]] for doc_id in alone if doc_id in topic.row_of]
    return dict(Passage.objects.filter(pk__in=pks).values_list("doc_id", "text"))


def _responses(bank: Bank) -> dict[tuple[int, int], Response]:
    rows = Response.objects.filter(run__collection=bank.collection_id, passages_of=PassagesOf.WHOLE.value)
    return {(row.topic_id, row.run_id): row for row in rows.select_related("topic")}


def _by_passage(grades: TopicGrades) -> dict[str, dict[str, int]]:
    """Return the ratings of each passage by the uid of the item; those that failed are absent."""
    matrix = grades.matrix
    ratings: dict[str, dict[str, int]] = defaultdict(dict)
    for row, doc_id in enumerate(matrix.passage_ids):
        for column, uid in enumerate(matrix.item_ids):
            if (rating := int(matrix.ratings[row, column])) >= 0:
                ratings[doc_id][uid] = rating
    return ratings


def _nuggets(answer: _Answer, config: GraderConfig, before: list[Json] | None = None) -> list[Json]:
    """Return the nuggets with their assignments: those that the file had, then others with a rating."""
    full = default_min_grade(config)
    partial = partial_grade(full)
    by_text = {item.text.strip(): item for item in answer.items if item.kind is ItemKind.NUGGET}
    nuggets = []
    for nugget in before or ():
        item = by_text.pop(nugget["text"].strip(), None)
        if item is not None:
            rating = answer.ratings.get(item.item_id)
            is_same = RATINGS.get(nugget["assignment"]) == rating
            word = nugget["assignment"] if is_same else assignment_of(rating, full=full, partial=partial)
            nuggets.append(nugget | {"assignment": word})
    for item in by_text.values():
        rating = answer.ratings.get(item.item_id)
        if rating is not None or before is None:
            importance = item.parts.get("importance") or str(weighed(item.importance).importance)
            assignment = assignment_of(rating, full=full, partial=partial)
            nuggets.append({"text": item.text, "importance": importance, "assignment": assignment})
    return nuggets


def _new(answer: _Answer) -> Json:
    return {
        "query": answer.topic.text,
        "qid": answer.topic.query_id,
        "run_id": answer.shown_tag,
        "answer_text": answer.text,
        "response_length": len(answer.text.split()),
    }


def _line(answer: _Answer, raw: Json, nuggets: list[Json]) -> BankLine:
    texts = {nugget["text"].strip() for nugget in nuggets}
    items = [item for item in answer.items if item.text.strip() in texts]
    foreign = in_order(raw | {"nuggets": nuggets})
    return BankLine(answer.topic.query_id, answer.topic.text, "", "", "", 1, items, foreign=foreign)
