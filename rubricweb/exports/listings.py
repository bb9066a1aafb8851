"""The review screens as listings of the published Workbench: verify, spurious, uncovered, grid.

They say what the screens say to this reader: ratings that the reader may not see yet, passages that only
withdrawn runs bring, and retired items are in none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from grading.formats import listings
from grading.formats.listings import ListedItem, ListedPassage, RatedTopic, SpuriousTopic, UncoveredTopic
from grading.formats.tables import without_formula
from grading.types import ItemKind, Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_for
from rubricweb.banks.models import Bank
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.models import Pooled, Topic
from rubricweb.exports.selectors import joined
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import Rater, raters
from rubricweb.grades.visibility import visible_grades
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
        secret = secret_wordings(topic.pool.topic_id for topic in topics)
        return [_public(topic, secret) for topic in topics] if secret else topics


def _public(topic: TopicEvidence, secret: set[tuple[int, str]]) -> TopicEvidence:
    keep = [n for n, item in enumerate(topic.items) if (topic.pool.topic_id, item.uid) not in secret]
    items = tuple(topic.items[n] for n in keep)
    return replace(topic, items=items, ratings=topic.ratings[:, keep], min_grades=topic.min_grades[keep])


def verify_lines(query: ListingQuery) -> Iterator[str]:
    return listings.verify_lines(_rated_topics(query))


def spurious_lines(query: ListingQuery) -> Iterator[str]:
    return listings.spurious_lines(_spurious_topic(topic) for topic in query.topics())


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
def listing(request: HtmxRequest, slug: str, bank_id: int, listing: str) -> HttpResponse:
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
    response = HttpResponse(text.encode(), content_type=content_type)
    file_name = joined(slug, bank.name, listing) + f".{ending}"
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


def _rated_topics(query: ListingQuery) -> Iterator[RatedTopic]:
    """Yield the topics, with those items that have a text, as on the screens."""
    sources = _answer_sources(query)
    topics = query.topics()
    queries = Topic.objects.in_bulk([topic.pool.topic_id for topic in topics])
    for topic in topics:
        texts, answers = _texts(topic), _answers(topic, query, sources)
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


def _spurious_topic(topic: TopicEvidence) -> SpuriousTopic:
    listed = suspects([topic])
    return SpuriousTopic([(_item(row.item), row.spurious.count) for row in listed])


def _uncovered_topic(topic: TopicEvidence) -> UncoveredTopic:
    """Return the uncovered passages of a topic in the order of the pool."""
    pool, gaps = topic.pool, uncovered_of([topic]).uncovered
    by_passage = {gap.passage_pk: gap for gap in gaps}
    texts = _texts(topic)
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
    rows = visible_grades(rows.exclude(outcome=Outcome.FAILED), query.bank.collection_id)
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


def _texts(topic: TopicEvidence) -> dict[int, str]:
    pooled = Pooled.objects.filter(topic=topic.pool.topic_id)
    return dict(pooled.values_list("passage_id", "passage__text"))


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
