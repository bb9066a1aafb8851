"""Files of the published Workbench: graded passages, and the review screens as listings.

Listings say what the screens say to this reader: ratings that the reader may not see yet, passages that only
withdrawn runs bring, and retired items are in none of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from grading.formats import listings
from grading.formats.graded import encoded
from grading.formats.graded_records import (
    GradedBy,
    GradedLine,
    GradedPassage,
    ImportedGrade,
    Judgment as JudgmentOfPassage,
    PooledRank,
)
from grading.formats.listings import ListedItem, ListedPassage, RatedTopic, SpuriousTopic, UncoveredTopic
from grading.formats.tables import without_formula
from grading.graders.registry import IMPORTED
from grading.types import ItemKind, Outcome, Purpose
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_for
from rubricweb.banks.models import DIRECT_UID, Bank, Item
from rubricweb.banks.secrecy import public
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Judgment, Pooled, Topic
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.exports.files import joined
from rubricweb.grades import replies, visibility
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import Grade, GraderConfig, ReplyBlock
from rubricweb.grades.raters import Rater, raters
from rubricweb.leaderboards.board.scores import secret_wordings
from rubricweb.review.problems import (
    EvidenceForm,
    EvidenceItem,
    EvidenceQuery,
    TopicEvidence,
    evidence,
    suspects,
    uncovered_of,
)

# fmt: off
FIELDS = (
    "passage_id", "config_id", "revision__uid", "revision_id", "rating", "outcome", "answer", "reply",
    "reply_block",
)
# fmt: on
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
    stamped = GraderConfig.objects.filter(stamps__topic__collection=collection, stamps__grades__gt=0)
    configs = {config.pk: config for config in stamped.distinct()}
    pool = collection_pool(collection)
    for number, topic in enumerate(pool.topics, start=1):
        grades = _grades(collection, topic, configs)
        judged: dict[str, list[JudgmentOfPassage]] = defaultdict(list)
        rows = Judgment.objects.filter(topic=topic.topic_id).values_list("doc_id", "facet_id", "relevance")
        for doc_id, facet_id, relevance in sorted(rows):
            judged[doc_id].append(JudgmentOfPassage(topic.query_id, facet_id, relevance))
        texts = _texts(topic)
        ranks = _ranks(topic, pool.run_tags) if has_rankings else {}
        passages = [
            GradedPassage(doc_id, texts[pk], judged[doc_id], ranks.get(doc_id, []), grades[pk])
            for pk, doc_id in zip(topic.passage_pks, topic.doc_ids, strict=True)
        ]
        yield GradedLine(topic.query_id, number, passages)


def _texts(topic: TopicPool) -> dict[int, str]:
    """Return the texts of the pooled passages by their keys."""
    rows = Pooled.objects.filter(topic=topic.topic_id).order_by()
    return dict(rows.values_list("passage_id", "passage__text").iterator(chunk_size=2_000))


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


Answers = dict[tuple[int, int], str]
"""(revision, passage) -> the extracted answer."""
Sources = dict[ItemKind, list[GraderConfig]]
"""Kind of item -> the configs whose answers count, best first."""


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """What a listing is of."""

    bank: Bank
    rater: Rater
    evidence: EvidenceQuery
    reader: User | None
    """None for whoever has a public link."""
    topic_id: int | None = None

    def topics(self) -> list[TopicEvidence]:
        """Return the topics without secret items, which no file has."""
        topics = evidence(self.bank, self.rater, self.evidence, self.reader, self.topic_id)
        secret = secret_wordings(self.bank.collection_id)
        return [_public(topic, secret) for topic in topics] if secret else topics


def _public(topic: TopicEvidence, secret: set[tuple[int, str]]) -> TopicEvidence:
    keep = [n for n, item in enumerate(topic.items) if (topic.pool.topic_id, item.uid) not in secret]
    items = tuple(topic.items[n] for n in keep)
    return replace(topic, items=items, ratings=topic.ratings[:, keep], min_grades=topic.min_grades[keep])


def verify_lines(query: ListingQuery) -> Iterator[str]:
    return listings.verify_lines(_rated_topics(query))


def spurious_lines(query: ListingQuery) -> Iterator[str]:
    return listings.spurious_lines(
        SpuriousTopic([(_item(row.item), row.spurious.count) for row in suspects([topic])])
        for topic in query.topics()
    )


def uncovered_lines(query: ListingQuery) -> Iterator[str]:
    return listings.uncovered_lines(_uncovered_topic(topic) for topic in query.topics())


def grid_lines(query: ListingQuery) -> Iterator[str]:
    """Return the lines of the grid; texts that look like formulas begin with an apostrophe."""
    return listings.grid_lines(map(_without_formulas, _rated_topics(query)))


LISTINGS: dict[str, tuple[Callable[[ListingQuery], Iterator[str]], str, str]] = {
    "verify": (verify_lines, "txt", "text/plain; charset=utf-8"),
    "spurious": (spurious_lines, "txt", "text/plain; charset=utf-8"),
    "uncovered": (uncovered_lines, "txt", "text/plain; charset=utf-8"),
    "grid": (grid_lines, "csv", "text/csv; charset=utf-8"),
}
"""Name -> lines, file extension and content type."""


@require_safe
def listing(request: HtmxRequest, slug: str, bank_id: int, listing: str) -> HttpResponseBase:
    """Download a listing by the parameters of the review screens.

    These are the grader, the topic, the thresholds and whose relevance counts.
    """
    bank = bank_for(request.user, bank_id)
    if bank.collection.slug != slug or listing not in LISTINGS:
        raise Http404("No such listing of this collection.")
    form = EvidenceForm(request.GET)
    rater = form.offer(raters(bank))
    form.offer_bank(bank, bank.collection.topics.all())
    lines, ending, content_type = LISTINGS[listing]
    text = "".join(lines(ListingQuery(bank, rater, form.query, request.user, form.topic_id)))
    return download(text, name=f"{joined(slug, bank.name, listing)}.{ending}", content_type=content_type)


def _rated_topics(query: ListingQuery) -> Iterator[RatedTopic]:
    """Yield the topics, with those items that have a text, as on the screens."""
    sources = _answer_sources(query)
    topics = query.topics()
    queries = Topic.objects.in_bulk([topic.pool.topic_id for topic in topics])
    for topic in topics:
        texts, answers = _texts(topic.pool), _answers(topic, query, sources)
        with_text = [(place, item) for place, item in enumerate(topic.items) if item.text]
        passages = tuple(
            ListedPassage(
                doc_id,
                texts[pk],
                tuple(topic.ratings[row, place] for place, _ in with_text),
                tuple(answers.get((item.revision_pk, pk), "") for _, item in with_text),
            )
            for row, (pk, doc_id) in enumerate(zip(topic.pool.passage_pks, topic.pool.doc_ids, strict=True))
        )
        items = tuple(_item(item) for _, item in with_text)
        yield RatedTopic(topic.pool.query_id, items, passages, queries[topic.pool.topic_id].text)


def _uncovered_topic(topic: TopicEvidence) -> UncoveredTopic:
    """Return the uncovered passages of a topic in the order of the pool."""
    pool, gaps = topic.pool, uncovered_of([topic]).uncovered
    by_passage = {gap.passage_pk: gap for gap in gaps}
    texts = _texts(topic.pool)
    listed = [
        (ListedPassage(doc_id, texts[pk]), by_passage[pk].judgment or 0, by_passage[pk].label)
        for pk, doc_id in zip(pool.passage_pks, pool.doc_ids, strict=True)
        if pk in by_passage
    ]
    return UncoveredTopic(pool.query_id, listed)


def _answer_sources(query: ListingQuery) -> Sources:
    """Return the sources of answers as in a cell: the rater's own first, then its model's extractions."""
    collection = query.bank.collection
    extracting = GraderConfig.objects.filter(
        purpose=Purpose.EXTRACT,
        llm__in={config.llm for config in query.rater.configs},
        stamps__topic__collection=collection,
    )
    ordered = extracting.distinct().order_by("prompt_class", "pk")
    return {
        kind: [config, *(other for other in ordered if other.llm == config.llm and kind in kinds_of(other))]
        for kind, config in query.rater.by_kind.items()
    }


def _answers(topic: TopicEvidence, query: ListingQuery, sources: Sources) -> Answers:
    kinds = {item.revision_pk: item.kind for item in topic.items}
    configs = {config.pk for some in sources.values() for config in some}
    rows = Grade.objects.filter(topic=topic.pool.topic_id, config__in=configs).exclude(answer="")
    rows = visibility.visible_grades(rows.exclude(outcome=Outcome.FAILED), query.bank.collection_id)
    by_config: dict[int, Answers] = {}
    for config, revision, passage, answer in rows.values_list(
        "config_id", "revision_id", "passage_id", "answer"
    ):
        by_config.setdefault(config, {})[revision, passage] = answer
    answers: Answers = {}
    for kind, ranked in sources.items():
        for source in reversed(ranked):
            of_source = by_config.get(source.pk, {}).items()
            answers |= {cell: answer for cell, answer in of_source if kinds.get(cell[0]) is kind}
    return answers


def _item(item: EvidenceItem) -> ListedItem:
    return ListedItem(item.uid, item.text, item.kind)


def _without_formulas(topic: RatedTopic) -> RatedTopic:
    items = tuple(ListedItem(item.item_id, without_formula(item.text), item.kind) for item in topic.items)
    passages = tuple(
        ListedPassage(
            without_formula(passage.doc_id),
            without_formula(passage.text),
            passage.ratings,
            tuple(map(without_formula, passage.answers)),
        )
        for passage in topic.passages
    )
    return RatedTopic(without_formula(topic.query_id), items, passages, " ".join(topic.text.split()))
