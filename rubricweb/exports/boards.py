"""Qrels and leaderboards as files; the page that offers them is `releases.share`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe
from numpy.typing import NDArray

from grading.errors import BadFormat
from grading.formats.trec import qrels_lines
from grading.measures.cover import LabelMode
from grading.types import MIN_RATING, Qrel, is_one_word
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus import access
from rubricweb.corpus.pools import CACHED_TOPICS, TopicPool
from rubricweb.exports.files import joined
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.scoring import MeasureSpec, Uids, topic_labels
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.files import FORMATS
from rubricweb.leaderboards.board.scores import NOTHING, Basis, basis
from rubricweb.leaderboards.forms import BoardForm, LabelForm

FIRST_LINES = 12


def qrels_name(spec: BoardSpec) -> str:
    """Return `<collection>_<grader>_<bank>_<mode>.qrels`, with every option that is not the default."""
    measure = spec.measure
    has_threshold = measure.mode in (LabelMode.BINARY, LabelMode.COUNT)
    mode = f"{measure.mode}{measure.min_grade if has_threshold else ''}"
    by = f"m{measure.min_answers}" if measure.min_answers > 1 else ""
    source = "" if spec.source is RatingSource.GRADER else str(spec.source)
    units = "subtopics" if spec.by_subtopic else ""
    definition = str(measure.definition) if measure.is_workbench else ""
    runs = spec.runs.file_name if spec.runs else ""
    return joined(*_whose(spec), _version(spec), runs, source, units, definition, mode, by) + ".qrels"


def leaderboard_name(spec: BoardSpec, form: str = "tsv") -> str:
    measure = f"{spec.measure.label}_t{spec.measure.min_grade}"
    topics = spec.topic_slice.token if spec.topic_slice else ""
    runs = spec.runs.file_name if spec.runs else ""
    return joined(*_whose(spec), _version(spec), runs, topics, spec.topic, spec.facet, measure) + f".{form}"


def _whose(spec: BoardSpec) -> tuple[str, ...]:
    config, bank = spec.config, spec.bank.name if spec.bank else ""
    return (
        spec.collection.slug,
        config.llm,
        config.prompt_class,
        config.of_answers,
        config.settings_words,
        bank,
    )


def _version(spec: BoardSpec) -> str:
    return f"version{spec.version.number}" if spec.version else ""


@dataclass(frozen=True, slots=True)
class QrelsSummary:
    """A preview of a qrels file."""

    lines: int
    topics: int
    topics_without: int
    """Topics without lines."""
    unlabelled: int
    """Pooled passages without a grade, and so without a line."""
    by_label: tuple[tuple[int, int], ...]
    """(label, number of lines), highest label first."""
    first: tuple[str, ...]
    """The first lines, as the file has them."""
    losses: tuple[str, ...]
    """What the file would lose, as `qrels_losses` lists it."""


class _Digest(NamedTuple):
    """What a preview says of the labels of a topic or subtopic."""

    by_label: Counter[int]
    """Number of lines by label."""
    is_whole: bool
    """Each passage has a label that stands on all items, and an id that a line can have."""


@dataclass(frozen=True)
class _Unit:
    """What has a query id of its own in the file: a topic or a subtopic."""

    query_id: str
    grades: TopicGrades
    uids: Uids
    measure: MeasureSpec

    @cached_property
    def labels(self) -> dict[str, int]:
        """Return the labels by doc id, without passages that have no grade."""
        return topic_labels(self.grades, self.uids, self.measure)

    @property
    def digest(self) -> _Digest:
        return _digest(self.grades, self.uids, self.measure)

    @property
    def qrels(self) -> list[Qrel]:
        return [Qrel(self.query_id, doc_id, label) for doc_id, label in self.labels.items()]

    @property
    def graded_items(self) -> NDArray[np.int64]:
        """Return how many of the items have a rating, shape (passages,)."""
        if self.measure.is_workbench:
            return np.full(len(self.grades.pool.doc_ids), len(self.uids))
        ratings = self.grades.matrix.columns(self.uids).ratings
        graded: NDArray[np.int64] = (ratings >= MIN_RATING).sum(axis=1)
        return graded


@lru_cache(maxsize=CACHED_TOPICS)
def _digest(grades: TopicGrades, uids: Uids, measure: MeasureSpec) -> _Digest:
    unit = _Unit("", grades, uids, measure)
    labels, doc_ids = unit.labels, grades.pool.doc_ids
    is_whole = len(labels) == len(doc_ids) and all(map(is_one_word, doc_ids))
    is_whole = is_whole and bool((unit.graded_items == len(uids)).all())
    return _Digest(Counter(labels.values()), is_whole)


def qrels(spec: BoardSpec) -> Iterator[Qrel]:
    """Yield Rubric-Qrels by topic and passage in the collection's order, without ungraded passages."""
    for _, labels in _by_topic(basis(spec)):
        yield from labels


def qrels_summary(spec: BoardSpec) -> QrelsSummary:
    base = basis(spec)
    by_topic, listed = list(_units_of(base)), base.pool.topics
    every = [unit for units in by_topic for unit in units]
    topics = sum(any(unit.digest.by_label for unit in units) for units in by_topic)
    passages = sum(map(_passages, by_topic))
    by_label = sum((unit.digest.by_label for unit in every), Counter[int]())
    first = islice(chain.from_iterable(unit.qrels for unit in every), FIRST_LINES)
    return QrelsSummary(
        lines=by_label.total(),
        topics=topics,
        topics_without=len(listed) - topics,
        unlabelled=sum(len(topic.doc_ids) for topic in listed) - passages,
        by_label=tuple(sorted(by_label.items(), reverse=True)),
        first=tuple(f"{q.query_id} 0 {q.doc_id} {q.relevance}" for q in first),
        losses=tuple(_losses(base, by_topic)),
    )


def _passages(units: list[_Unit]) -> int:
    """Return how many passages of a topic have a line."""
    if len(units) == 1:
        return units[0].digest.by_label.total()
    return len(set[str]().union(*(unit.labels for unit in units)))


def qrels_losses(spec: BoardSpec) -> list[str]:
    """Return what the qrels file will not say, an entry a topic or passage.

    These are passages without a line, labels that stand on some of the items only, and ids that no line can
    have.
    """
    base = basis(spec)
    return _losses(base, _units_of(base))


def _losses(base: Basis, by_topic: Iterable[list[_Unit]]) -> list[str]:
    return [
        loss
        for topic, units in zip(base.pool.topics, by_topic, strict=True)
        for loss in _losses_of(topic, units)
    ]


def _losses_of(topic: TopicPool, units: list[_Unit]) -> Iterator[str]:
    """Yield the losses of one topic; a single entry if nothing of it has a line."""
    if not any(unit.digest.by_label for unit in units):
        passages = len(topic.doc_ids)
        yield f"topic {topic.query_id}: no line, none of its pooled passages ({passages:,}) has a grade"
        return
    for unit in units:
        if not is_one_word(unit.query_id):
            yield f"topic {unit.query_id}: cannot be written, its id is not one word"
        if unit.digest.is_whole:
            continue
        graded, n_items = unit.graded_items, len(unit.uids)
        for doc_id, count in zip(topic.doc_ids, graded.tolist(), strict=True):
            if count == n_items and doc_id in unit.labels and is_one_word(doc_id):
                continue
            place = f"topic {unit.query_id}, passage {doc_id}"
            if not is_one_word(doc_id):
                yield f"{place}: cannot be written, the id is not one word"
            elif doc_id not in unit.labels:
                yield f"{place}: no line, it has no grade"
            elif count < n_items:
                yield f"{place}: that its label stands on {count} of {n_items} items"


def _by_topic(base: Basis) -> Iterator[tuple[TopicPool, list[Qrel]]]:
    """Yield each topic's qrels; a subtopic's query id is `topic/subtopic`."""
    for topic, units in zip(base.pool.topics, _units_of(base), strict=True):
        yield topic, [qrel for unit in units for qrel in unit.qrels]


def _units_of(base: Basis) -> Iterator[list[_Unit]]:
    """Yield the units of each topic: its subtopics where the qrels are by subtopic, else the topic."""
    spec = base.spec
    for topic in base.pool.topics:
        topic_items, grades = base.topic_items.get(topic.topic_id, NOTHING), base.grades[topic.topic_id]
        parts = topic_items.subtopics() if spec.by_subtopic else {"": topic_items}
        yield [
            _Unit(f"{topic.query_id}/{facet}" if facet else topic.query_id, grades, part.uids, spec.measure)
            for facet, part in parts.items()
        ]


@require_safe
def qrels_file(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the qrels file, without comments, which trec_eval does not accept."""
    collection = access.collection_for(request.user, slug)
    form = LabelForm(request.GET, collection=collection)
    if not form.is_valid():
        return _back(request, slug)
    try:
        lines = list(qrels_lines(qrels(form.spec)))
    except BadFormat as error:
        messages.error(request, f"These labels cannot be written as qrels: {error.problem}.")
        return _back(request, slug)
    content = (f"{line}\n" for line in lines)
    return download(content, name=qrels_name(form.spec), content_type="text/plain; charset=utf-8")


@require_safe
def qrels_losses_file(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the whole list of what the qrels file would not say, as text."""
    collection = access.collection_for(request.user, slug)
    form = LabelForm(request.GET, collection=collection)
    if not form.is_valid():
        return _back(request, slug)
    name = f"{qrels_name(form.spec)}.losses.txt"
    content = (f"{loss}\n" for loss in qrels_losses(form.spec))
    return download(content, name=name, content_type="text/plain; charset=utf-8")


@require_safe
def leaderboard_file(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the board as TSV, JSON or LaTeX, or with a row for each topic in a format of other tools."""
    collection = access.collection_for(request.user, slug)
    form, kind = BoardForm(request.GET, collection=collection), request.GET.get("format", "tsv")
    if not form.is_valid() or kind not in FORMATS:
        return _back(request, slug)
    try:
        lines = FORMATS[kind].lines(form.spec)
    except BadFormat as error:
        messages.error(request, f"This board cannot be written as {kind}: {error.problem}.")
        return _back(request, slug)
    name = leaderboard_name(form.spec, kind)
    content = (f"{line}\n" for line in lines)
    return download(content, name=name, content_type=FORMATS[kind].media_type)


def _back(request: HtmxRequest, slug: str) -> HttpResponse:
    """Redirect to the page whose form explains what is wrong with this address."""
    return redirect(f"{reverse('releases:share', args=[slug])}?{request.GET.urlencode()}")
