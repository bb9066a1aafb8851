"""What whole answers were said to have, by one author: lines of nuggetizer, RAGDoll, or DRAGUN's `score.py`.

A line that came with a file is written in its place, with the grades of now; answers that were graded here
follow in the collection's order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django import forms
from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from grading.formats.assessments import (
    BY_MODEL,
    BY_PEOPLE,
    LABEL_KEYS,
    PROMPT_CLASS as ASSESSED,
    csv_lines,
    label_of,
)
from grading.formats.assignments import (
    FAILED_WORD,
    PEOPLE,
    PROMPT_CLASS,
    RATINGS,
    RUN_KEYS,
    assignment_of,
    in_order,
)
from grading.formats.banks import Loss, ragdoll
from grading.formats.banks.dragun import DIALECT, answer_ids
from grading.formats.banks.importance import weighed
from grading.formats.banks.nuggetizer import ASSIGNMENTS_DIALECT
from grading.formats.banks.records import BankItem, BankLine, Dialect
from grading.measures.cover import partial_grade
from grading.segmentation import PassagesOf
from grading.types import CONTRADICTS, ItemKind, Purpose
from rubricweb.accounts import roles
from rubricweb.banks.convert import BankScope, KeptLine, bank_lines, kept_lines, secret_losses
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Passage, Response, Topic
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.exports.files import file_page, joined
from rubricweb.grades.configs import default_min_grade, kinds_of, scale_of
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import all_banks, graders_of

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _DialectTerms:
    """What a dialect calls the items of an answer, and what was said of each."""

    items: str
    word: str
    bank: Dialect
    """The dialect of the items alone."""
    by_assignment: Mapping[str, str]
    """The dialect's word for each of nuggetizer's."""

    def of(self, assignment: str, before: object = None) -> str:
        """Return the dialect's word; that of the file where it is the same assignment."""
        if isinstance(before, str) and self.assignment(before) == assignment:
            return before
        return self.by_assignment[assignment]

    def assignment(self, word: str) -> str:
        """Return nuggetizer's word for one of a file."""
        if self.word == "verdict":
            return ragdoll.assignment_of(word, "")
        return word if word in RATINGS else FAILED_WORD


_NUGGETS = _DialectTerms(
    "nuggets",
    "assignment",
    replace(ASSIGNMENTS_DIALECT, name="assigned", repeats_topics=False),
    {word: word for word in (*RATINGS, FAILED_WORD)},
)
_CRITERIA = _DialectTerms(
    "criteria", "verdict", ragdoll.DIALECT, {own: word for word, own in ragdoll.VERDICTS.items()}
)


@dataclass(frozen=True, slots=True)
class WholeAnswer:
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


def assignment_lines(scope: BankScope, config: GraderConfig, dialect: Dialect) -> list[BankLine]:
    """Return a line for each whole answer to whose topic's nuggets the grader gave ratings, or a file did.

    A file's own line is written as it was in its own dialect alone.
    """
    vocabulary = _CRITERIA if dialect is ragdoll.GRADED else _NUGGETS
    answers = {
        (answer.topic.pk, answer.run_tag): answer for answer in whole_answers(scope, config, vocabulary.bank)
    }
    is_from_file = config.prompt_class == PROMPT_CLASS
    kept = kept_lines(scope.bank, config.llm) if is_from_file else []
    written = []
    for topic_id, line in kept:
        if vocabulary.items in line.line and (answer := answers.pop((topic_id, line.run_tag), None)):
            raw = {"answer_text": answer.text} | line.line
            if answer.shown_tag != answer.run_tag:
                raw |= dict.fromkeys(raw.keys() & set(RUN_KEYS), answer.shown_tag)
            entries = _entries(answer, config, vocabulary, line.line[vocabulary.items])
            written.append(_line(answer, raw, entries, vocabulary))
    graded_here = (answer for answer in answers.values() if answer.ratings)
    new = (
        _line(answer, _new(answer), _entries(answer, config, vocabulary), vocabulary)
        for answer in graded_here
    )
    return [*written, *new]


def contradiction_losses(scope: BankScope, config: GraderConfig, dialect: Dialect) -> list[Loss]:
    """Return what was contradicted, which the file has like what was not stated."""
    vocabulary = _CRITERIA if dialect is ragdoll.GRADED else _NUGGETS
    word = vocabulary.by_assignment[assignment_of(CONTRADICTS)]
    return [
        Loss(answer.topic.query_id, item.text, f"that run {answer.shown_tag} contradicts it ({word} instead)")
        for answer in whole_answers(scope, config, vocabulary.bank)
        for item in answer.items
        if answer.ratings.get(item.item_id) == CONTRADICTS
    ]


def whole_answers(scope: BankScope, config: GraderConfig, dialect: Dialect) -> Iterator[WholeAnswer]:
    """Yield the whole answers of runs that count, by topic and then run."""
    collection = scope.bank.collection
    pool = collection_pool(collection)
    graded = matrices(config, pool)
    rows = Response.objects.filter(run__collection=collection, passages_of=PassagesOf.WHOLE.value)
    responses = {(row.topic_id, row.run_id): row for row in rows.select_related("topic")}
    tags = dict(collection.runs.values_list("pk", "run_tag"))
    items = {line.query_id: line.items for line in bank_lines(scope, dialect)}
    for topic in pool.topics:
        texts = _texts_of(topic)
        ratings, nuggets = _by_passage(graded[topic.topic_id]), items.get(topic.query_id, [])
        for pk, shown_tag, doc_ids in zip(pool.run_pks, pool.run_tags, topic.ranked, strict=True):
            response = responses.get((topic.topic_id, pk))
            if response is not None and doc_ids and doc_ids[0] in texts and len(doc_ids) == 1:
                of_passage = ratings.get(doc_ids[0], {})
                rated = {i.item_id: of_passage[i.item_id] for i in nuggets if i.item_id in of_passage}
                yield WholeAnswer(response.topic, tags[pk], shown_tag, texts[doc_ids[0]], nuggets, rated)


def _texts_of(topic: TopicPool) -> dict[str, str]:
    """Return the texts of passages that are all that a run ranks for the topic."""
    alone = {doc_ids[0] for doc_ids in topic.ranked if doc_ids and len(doc_ids) == 1}
    pks = [topic.passage_pks[topic.row_of[doc_id]] for doc_id in alone if doc_id in topic.row_of]
    return dict(Passage.objects.filter(pk__in=pks).values_list("doc_id", "text"))


def _by_passage(grades: TopicGrades) -> dict[str, dict[str, int]]:
    """Return the ratings of each passage by the uid of the item; those that failed are absent."""
    matrix, outcomes = grades.matrix, grades.matrix.outcomes
    ratings: dict[str, dict[str, int]] = defaultdict(dict)
    for row, doc_id in enumerate(matrix.passage_ids):
        for column, uid in enumerate(matrix.item_ids):
            if (rating := int(outcomes[row, column])) >= 0 or rating == CONTRADICTS:
                ratings[doc_id][uid] = rating
    return ratings


def _entries(
    answer: WholeAnswer, config: GraderConfig, vocabulary: _DialectTerms, before: list[Json] | None = None
) -> list[Json]:
    """Return the items with what was said of each: those that the file had, then others with a rating."""
    full = default_min_grade(config)
    partial = partial_grade(full)
    by_text = {item.text.strip(): item for item in answer.items if item.kind is ItemKind.NUGGET}
    entries = []
    for entry in before or ():
        item = by_text.pop(entry["text"].strip(), None)
        if item is not None:
            rating = answer.ratings.get(item.item_id)
            assignment = assignment_of(rating, full=full, partial=partial)
            entries.append(entry | {vocabulary.word: vocabulary.of(assignment, entry[vocabulary.word])})
    for item in by_text.values():
        rating = answer.ratings.get(item.item_id)
        if rating is not None or before is None:
            word = vocabulary.of(assignment_of(rating, full=full, partial=partial))
            entries.append(_entry(item, vocabulary) | {vocabulary.word: word})
    return entries


def _entry(item: BankItem, vocabulary: _DialectTerms) -> Json:
    if vocabulary is _CRITERIA:
        return ragdoll.criterion(item)
    importance = item.parts.get("importance") or str(weighed(item.importance).importance)
    return {"text": item.text, "importance": importance}


def _new(answer: WholeAnswer) -> Json:
    return {
        "query": answer.topic.text,
        "qid": answer.topic.query_id,
        "run_id": answer.shown_tag,
        "answer_text": answer.text,
        "response_length": len(answer.text.split()),
    }


def _line(answer: WholeAnswer, raw: Json, entries: list[Json], vocabulary: _DialectTerms) -> BankLine:
    texts = {entry["text"].strip() for entry in entries}
    items = [item for item in answer.items if item.text.strip() in texts]
    whole = raw | {vocabulary.items: entries}
    foreign = in_order(whole) if vocabulary is _NUGGETS else whole
    return BankLine(answer.topic.query_id, 1, items, query_text=answer.topic.text, foreign=foreign)


Cells = dict[str, str]


@dataclass(frozen=True)
class AssessmentExport:
    """The assessments of a rubric by one author, before they are written."""

    scope: BankScope
    author: GraderConfig

    @property
    def file_name(self) -> str:
        bank = self.scope.bank
        return joined(bank.collection.slug, bank.name, self.author.llm, "assessments") + ".csv"

    @cached_property
    def losses(self) -> list[str]:
        """Return what the file will lack, an entry an answer or a sort of things."""
        return list(assessment_losses(self.scope, self.author))


def assessed_banks(collection: Collection) -> frozenset[int]:
    """Return the banks by which some grader rated nuggets, where runs have answers graded as a whole."""
    rows = Response.objects.filter(run__in=collection.runs.accepted(), passages_of=PassagesOf.WHOLE.value)
    banks = all_banks(collection) if rows.exists() else ()
    return frozenset(bank.pk for bank in banks if authors(bank))


class AssessmentForm(forms.Form):
    """Whose ratings of whole answers are written."""

    by = forms.ChoiceField(label="Assessments by")

    def __init__(self, address: QueryDict, bank: Bank) -> None:
        self.authors = {str(config.pk): config for config in authors(bank)}
        super().__init__(address or {"by": next(iter(self.authors), "")})
        offer_choices(self, "by", [(pk, str(config)) for pk, config in self.authors.items()])
        self.bank = bank

    @property
    def export(self) -> AssessmentExport:
        return AssessmentExport(BankScope(self.bank), self.authors[self.cleaned_data["by"]])


@require_safe
def assessments_page(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Choose an author, and see what the format cannot say before downloading."""
    bank, form = _form(request, slug, bank_id)
    file_address = reverse("exports:assessments-file", args=[slug, bank.pk])
    return file_page(
        request,
        bank.collection,
        form,
        form.export if form.is_valid() else None,
        title=f"Assessments by rubric {bank}",
        intro="A line for each run, topic and short answer, as DRAGUN's score.py reads them: CSV.",
        file_address=f"{file_address}?{urlencode({'by': form['by'].value() or ''})}",
    )


@require_safe
def assessments_file(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponseBase:
    _, form = _form(request, slug, bank_id)
    if not form.is_valid():
        return redirect("exports:assessments", slug, bank_id)
    export = form.export
    text = "".join(f"{line}\n" for line in assessment_lines(export.scope, export.author))
    return download(text, name=export.file_name, content_type="text/csv; charset=utf-8")


def _form(request: HtmxRequest, slug: str, bank_id: int) -> tuple[Bank, AssessmentForm]:
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    bank: Bank = get_object_or_404(collection.banks.select_related("collection"), pk=bank_id)
    return bank, AssessmentForm(request.GET, bank)


def assessment_losses(scope: BankScope, config: GraderConfig) -> Iterator[str]:
    """Yield what the file of assessments lacks: ratings without a place, and short answers without a line."""
    yield from map(str, secret_losses(scope))
    full, (_, highest) = default_min_grade(config), scale_of(config)
    if highest > full or full > 2:
        yield (
            f"which grade it was: {full} to {highest} are supports, from {partial_grade(full)} partial, and "
            "others none"
        )
    if config.llm != PEOPLE and config.prompt_class != ASSESSED:
        yield "the replies of the model"
    collection = scope.bank.collection
    parts = Response.objects.filter(run__in=collection.runs.accepted())
    if n_parts := parts.exclude(passages_of=PassagesOf.WHOLE.value).count():
        yield f"{n_parts:,} answers that were graded in parts, not as one passage"
    for answer in whole_answers(scope, config, DIALECT):
        lacking = [item for item in answer.items if item.item_id not in answer.ratings]
        if lacking:
            yield (
                f"topic {answer.topic.query_id}, run {answer.shown_tag}: no line for {len(lacking)} of "
                f"{len(answer.items)} short answers, which have no rating"
            )


def assessment_lines(scope: BankScope, config: GraderConfig) -> Iterator[str]:
    """Yield the header, and a line of CSV for each item that the grader rated of each whole answer."""
    answers = {(a.topic.pk, a.run_tag): a for a in whole_answers(scope, config, DIALECT)}
    kept = kept_lines(scope.bank, config.llm) if config.prompt_class == ASSESSED else []
    labels = {key: _labels(answer, config) for key, answer in answers.items()}
    placed: list[tuple[int, int, Cells]] = []
    files: dict[str, int] = {}
    for topic, line in kept:
        key = topic, line.run_tag
        if key in answers:
            rows = _as_read(line, answers[key], labels[key])
            placed += [(files.setdefault(file, len(files)), number, cells) for file, number, cells in rows]
    read = [cells for _, _, cells in sorted(placed, key=lambda row: row[:2])]
    label_key = next(
        (key for cells in read for key in LABEL_KEYS if key in cells),
        BY_PEOPLE if config.llm == PEOPLE else BY_MODEL,
    )
    new = [
        {
            "topic_id": answer.topic.query_id,
            "run_tag": answer.shown_tag,
            "answer_id": identity,
            label_key: label,
        }
        for key, answer in answers.items()
        for identity, label in labels[key].items()
    ]
    yield from csv_lines([*read, *new])


def _labels(answer: WholeAnswer, config: GraderConfig) -> Cells:
    """Return the label of each short answer that has a rating, by its id."""
    full = default_min_grade(config)
    ids = answer_ids(answer.items)
    return {
        ids[item.item_id]: label_of(answer.ratings[item.item_id], full=full, partial=partial_grade(full))
        for item in answer.items
        if item.item_id in answer.ratings
    }


def _as_read(line: KeptLine, answer: WholeAnswer, labels: Cells) -> Iterator[tuple[str, int, Cells]]:
    """Yield (file, number of its line, cells) of an answer's assessments, and take them from `labels`."""
    rows: list[Mapping[str, Any]] = line.line.get("assessments", [])
    for row in rows:
        label = labels.pop(row["answer_id"], None)
        if label is None:
            continue
        stated = {"topic_id": answer.topic.query_id, "answer_id": row["answer_id"]}
        if answer.shown_tag != answer.run_tag:
            stated["run_tag"] = answer.shown_tag
        cells = row["cells"] | stated | dict.fromkeys(LABEL_KEYS, label)
        yield row["file"], row["line"], {name: cells[name] for name in row["columns"]}
