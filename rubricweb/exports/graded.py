"""A collection's passages and grades as the Workbench's graded file, a topic at a time; its download."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from django.http import HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from grading.formats.graded import encoded
from grading.formats.graded_records import GradedBy, GradedLine, GradedPassage, ImportedGrade, PooledRank
from grading.formats.graded_records import Judgment as JudgmentOfPassage
from grading.graders.registry import IMPORTED
from grading.types import ItemKind, Outcome, Purpose
from rubricweb.accounts import roles
from rubricweb.banks.models import DIRECT_UID, Item
from rubricweb.banks.secrecy import public
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Judgment, Pooled
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.grades import replies, visibility
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import Grade, GraderConfig, ReplyBlock

FIELDS = (
    "passage_id",
    "config_id",
    "revision__uid",
    "revision_id",
    "rating",
    "outcome",
    "answer",
    "reply",
    "reply_block",
)


LOSSES = (
    "grades of retired and secret items, and of earlier wordings",
    "confidences, and what the passages' source says beyond their text",
)
"""What a graded file cannot say of a collection."""


@require_safe
def graded(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the graded file, for people who see the names of runs."""
    collection = collection_for(request.user, slug, needed=roles.TO_SEE_RUNS)
    response = graded_response(collection, has_rankings=bool(request.GET.get("rankings")))
    response["Content-Disposition"] = f'attachment; filename="{slug}_graded.jsonl"'
    return response


def graded_response(collection: Collection, *, has_rankings: bool) -> StreamingHttpResponse:
    """Return the graded file as it is written, a topic at a time.

    What is hidden is counted before the first line, since a header says how much.
    """
    visibility.without_grades(collection.pk)
    lines = (encoded(line) + b"\n" for line in graded_lines(collection, has_rankings=has_rankings))
    return StreamingHttpResponse(lines, content_type="application/jsonl; charset=utf-8")


def graded_lines(collection: Collection, *, has_rankings: bool) -> Iterator[GradedLine]:
    """Yield the pool of each topic with judgments and the grades of active items, as the reader sees them.

    Rankings are those of accepted runs, from rank 1; `has_rankings=False` leaves them out. One topic at a
    time is in memory.
    """
    configs = {config.pk: config for config in _configs(collection)}
    pool = collection_pool(collection)
    for number, topic in enumerate(pool.topics, start=1):
        grades = _grades(collection, topic, configs)
        judged: dict[str, list[JudgmentOfPassage]] = defaultdict(list)
        rows = Judgment.objects.filter(topic=topic.topic_id).values_list("doc_id", "facet_id", "relevance")
        for doc_id, facet_id, relevance in sorted(rows):
            judged[doc_id].append(JudgmentOfPassage(topic.query_id, facet_id, relevance))
        texts = dict(_texts(topic))
        ranks = _ranks(topic, pool.run_tags) if has_rankings else {}
        passages = [
            GradedPassage(doc_id, texts[pk], judged[doc_id], ranks.get(doc_id, []), grades[pk])
            for pk, doc_id in zip(topic.passage_pks, topic.doc_ids, strict=True)
        ]
        yield GradedLine(topic.query_id, number, passages)


def _configs(collection: Collection) -> list[GraderConfig]:
    stamped = GraderConfig.objects.filter(stamps__topic__collection=collection, stamps__grades__gt=0)
    return list(stamped.distinct())


def _texts(topic: TopicPool) -> Iterator[tuple[int, str]]:
    rows = Pooled.objects.filter(topic=topic.topic_id).order_by()
    yield from rows.values_list("passage_id", "passage__text").iterator(chunk_size=2_000)


def _ranks(topic: TopicPool, run_tags: tuple[str, ...]) -> dict[str, list[PooledRank]]:
    """Return each run's rank of a document, by doc id; runs by name, so the order reveals no other names."""
    ranks: dict[str, list[PooledRank]] = defaultdict(list)
    for run in sorted(range(len(run_tags)), key=run_tags.__getitem__):
        pairs = zip(topic.ranked[run] or (), topic.scores[run] or (), strict=True)
        for rank, (doc_id, score) in enumerate(pairs, start=1):
            ranks[doc_id].append(PooledRank(run_tags[run], rank, score))
    return ranks


def _grades(
    collection: Collection, topic: TopicPool, configs: dict[int, GraderConfig]
) -> dict[int, list[ImportedGrade]]:
    """Return the grades of each passage, by grader, kind and item."""
    kinds = _kinds(collection, topic)
    rows = visibility.visible_grades(Grade.objects.for_topics([topic.topic_id]).order_by(), collection.pk)
    graders = {pk: _Grader(config) for pk, config in configs.items()}
    texts = replies.read(ReplyBlock.objects.filter(topic=topic.topic_id))
    by_passage: dict[int, list[tuple[tuple[object, ...], ImportedGrade]]] = defaultdict(list)
    for passage, config, uid, revision, *values, block in rows.values_list(*FIELDS).iterator(
        chunk_size=5_000
    ):
        if block is not None:
            values[-1] = texts.get(block, {}).get((revision, passage), "")
        if uid == DIRECT_UID or revision in kinds:
            grade = graders[config].grade(uid, kinds.get(revision, set()), values)
            by_passage[passage].append(((*graders[config].order, grade.by.kind, uid), grade))
    sorted_grades = {passage: sorted(rows, key=lambda row: row[0]) for passage, rows in by_passage.items()}
    return defaultdict(list, {pk: [grade for _, grade in rows] for pk, rows in sorted_grades.items()})


def _kinds(collection: Collection, topic: TopicPool) -> dict[int, set[ItemKind]]:
    """Return the kinds of the active public items of each wording; grades of others are in no file."""
    kinds: dict[int, set[ItemKind]] = defaultdict(set)
    items = public(Item.objects.active().filter(bank__collection=collection, topic=topic.topic_id))
    for revision, kind in items.values_list("revision_id", "kind"):
        kinds[revision].add(ItemKind(kind))
    return dict(kinds)


class _Grader:
    """A grader as the file names it: two of our graders never become one there."""

    def __init__(self, config: GraderConfig) -> None:
        self.config, self.purpose = config, Purpose(config.purpose)
        self.kinds = kinds_of(config)
        options = dict(config.settings)  # one that ran here also names its back-end and its prompt
        if config.backend != IMPORTED:
            options |= {"backend": config.backend, "prompt_id": config.prompt_name}
        if config.answers_by:
            options["answers_of"] = config.answers_by
        self.options = tuple(sorted(options.items()))
        self.order = (config.llm, config.prompt_class, config.fingerprint)

    def grade(self, uid: str, kinds: set[ItemKind], values: list[object]) -> ImportedGrade:
        rating, outcome, answer, reply = values
        is_failed = outcome == Outcome.FAILED.value
        has_reply = self.purpose in (Purpose.RATE, Purpose.DIRECT) and not is_failed
        kind = ItemKind.DIRECT if uid == DIRECT_UID else min(kinds & self.kinds or kinds)
        return ImportedGrade(
            item_id=uid,
            by=GradedBy(kind, self.config.llm, self.config.prompt_class, self.purpose, self.options),
            rating=rating,  # type: ignore[arg-type]  # a column's value
            answer=str(reply if has_reply else answer),
            outcome=Outcome(str(outcome)),
            reason=str(reply) if is_failed else "",
        )
