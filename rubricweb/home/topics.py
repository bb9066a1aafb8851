"""A collection's page: its topics with a summary of their grades, by a fixed number of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.db.models import Case, Count, QuerySet, When
from django.db.models.functions import Left
from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_safe

from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks.models import Bank
from rubricweb.core import http, reader
from rubricweb.core.compiled import compiled_once
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.tags import joined
from rubricweb.corpus import access, official
from rubricweb.corpus.models import Collection, Passage, Subtopic, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.editor.start import start_of
from rubricweb.grades import visibility
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import GradingJob
from rubricweb.grades.raters import GraderForm, Rater, raters, select_at_once
from rubricweb.grades.selectors import GraderRow, banks, graders
from rubricweb.grades.topic_ratings import ItemColumn, item_columns, topic_facts
from rubricweb.home.topic_rows import ListedTopic, TopicWriter
from rubricweb.review.flags import open_by_topic
from rubricweb.review.grid import address_kept

ABOUT_CHARS = 240
PAGE_TOPICS = 200


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all topics, whatever is filtered."""

    topics: int
    items: int
    subtopics: int
    pooled: int
    cells: int
    missing: int
    failed: int

    @property
    def graded(self) -> int:
        return self.cells - self.missing

    @property
    def share(self) -> float | None:
        return self.graded / self.cells if self.cells else None


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    """The head of a collection's page."""

    topics: int
    passages: int
    runs: int
    judgments: int
    graders: list[GraderRow]
    running_jobs: int


SORTS: dict[str, Callable[[ListedTopic], str | float]] = {
    "topic": lambda row: row.position,
    "query": lambda row: row.text.casefold(),
    "subtopics": lambda row: row.subtopics,
    "pool": lambda row: row.pool,
    "items": lambda row: row.items,
    "graded": lambda row: -1.0 if row.share is None else row.share,
    "failed": lambda row: row.facts.failed,
    "flags": lambda row: row.flags,
}


def collection_counts(collection: Collection) -> CollectionCounts:
    pool = collection_pool(collection)
    return CollectionCounts(
        topics=len(pool.topics),
        passages=sum(_passages(collection.pk)),
        runs=len(pool.run_tags),
        judgments=sum(len(topic.judgments) for topic in pool.topics),
        graders=graders(collection),
        running_jobs=len(_running(collection.pk)),
    )


@compiled_once
def _passages(collection: int) -> QuerySet[Passage, int]:
    passages = Passage.objects.filter(collection=collection).order_by().values("collection")
    return passages.annotate(number=Count("pk")).values_list("number", flat=True)


@compiled_once
def _running(collection: int) -> QuerySet[GradingJob, int]:
    running = (GradingJob.State.QUEUED, GradingJob.State.RUNNING)
    return GradingJob.objects.filter(collection=collection, state__in=running).values_list("pk", flat=True)


@compiled_once
def _subtopics(collection: int) -> QuerySet[Subtopic, Any]:
    """Return the number of subtopics by topic."""
    subtopics = Subtopic.objects.filter(topic__collection=collection).order_by()
    return subtopics.values_list("topic").annotate(Count("pk"))


def topic_rows(collection: Collection, bank: Bank, rater: Rater) -> list[ListedTopic]:
    """Return all topics, in the collection's order."""
    pool = collection_pool(collection)
    by_config = {config.pk: matrices(config, pool) for config in rater.configs}
    columns_by_topic = item_columns(bank)
    missing = _missing_behind(collection, rater, columns_by_topic)
    subtopics, flagged = dict(_subtopics(collection.pk)), open_by_topic(bank)
    rows = []
    for pk, query_id, text, about, position in _topics(collection.pk):
        if pk not in pool.by_topic:
            continue  # imported since the pool was read
        items = columns_by_topic.get(pk, ())
        grades = tuple((kind, by_config[config.pk][pk]) for kind, config in rater.by_kind.items())
        facts = topic_facts(grades, rater.graded_items(items), collection.min_relevant)
        facts = replace(facts, missing=missing.get(pk, facts.missing))
        rows.append(
            ListedTopic(
                pk=pk,
                query_id=query_id,
                text=text,
                about=about,
                position=position,
                subtopics=subtopics.get(pk, 0),
                pool=len(pool.by_topic[pk].doc_ids),
                questions=sum(column.kind == ItemKind.QUESTION for column in items),
                nuggets=sum(column.kind == ItemKind.NUGGET for column in items),
                facts=facts,
                flagged=flagged.get(pk, 0),
            )
        )
    return rows


@compiled_once
def _topics(collection: int) -> QuerySet[Topic, Any]:
    """Return id, query id, title, beginning of the narrative, and position of each topic."""
    about = Left(Case(When(narrative="", then="description"), default="narrative"), ABOUT_CHARS)
    rows = Topic.objects.filter(collection=collection).annotate(about=about)
    listed: QuerySet[Topic, Any] = rows.values_list("pk", "query_id", "text", "about", "position")
    return listed


def _missing_behind(
    collection: Collection, rater: Rater, columns_by_topic: Mapping[int, tuple[ItemColumn, ...]]
) -> dict[int, int]:
    """Return how many cells have no grade, by topic with cells hidden from the reader.

    A hidden cell counts as graded; only its grade is not shown.
    """
    hidden = [pk for pk, missing in visibility.hidden_cells(collection.pk).items() if missing.graders]
    if not hidden:
        return {}
    with reader.everything():
        by_config = {config.pk: matrices(config, collection_pool(collection)) for config in rater.configs}
    missing = {}
    for pk in hidden:
        grades = tuple((kind, by_config[config.pk][pk]) for kind, config in rater.by_kind.items())
        items = rater.graded_items(columns_by_topic.get(pk, ()))
        missing[pk] = topic_facts(grades, items, collection.min_relevant).missing
    return missing


def totals(rows: Iterable[ListedTopic]) -> Totals:
    listed = list(rows)
    return Totals(
        topics=len(listed),
        items=sum(row.items for row in listed),
        subtopics=sum(row.subtopics for row in listed),
        pooled=sum(row.pool for row in listed),
        cells=sum(row.facts.cells for row in listed),
        missing=sum(row.facts.missing for row in listed),
        failed=sum(row.facts.failed for row in listed),
    )


class TopicsForm(ChipForm, GraderForm):
    """The table of topics."""

    in_toolbar = ("bank", "grader", "q")
    outdated = ("page",)

    bank = select_at_once("Rubric", ())
    q = forms.CharField(
        label="Find",
        required=False,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "topic or words"}),
    )
    sort = forms.ChoiceField(
        choices=[(sign + name, name) for name in SORTS for sign in ("", "-")],
        required=False,
        widget=forms.HiddenInput,
    )
    page = forms.IntegerField(min_value=1, required=False)

    def __init__(self, address: QueryDict) -> None:
        super().__init__(address)
        self._first_bank = ""

    def default_value(self, name: str) -> str:
        return {"bank": self._first_bank, "grader": self.data.get("grader", "")}.get(name, "")

    def offer_banks(self, banks: list[Bank]) -> Bank:
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        by_pk = {str(bank.pk): bank for bank in banks}
        self._first_bank = str(banks[0].pk)
        chosen = by_pk.get(self.data.get("bank", ""), banks[0])
        self.data.setdefault("bank", str(chosen.pk))
        return chosen


@require_safe
def collection(request: http.HtmxRequest, slug: str) -> HttpResponse:
    """Show a collection's topics in one bank, with a summary of their grades."""
    place = access.collection_for(request.user, slug)
    form = TopicsForm(request.GET)
    context = {
        "collection": place,
        "counts": collection_counts(place),
        "form": form,
        **_table(banks(place), form, address_kept(request)["joiner"]),
    }
    bank = context.get("bank")
    if roles.may_edit(request.user, place):
        context["start"] = start_of(place, bank if isinstance(bank, Bank) else None)
    if bank is None:
        context["topics"] = place.topics.order_by("position", "pk")[:PAGE_TOPICS]
        if roles.holds(request.user, place, roles.TO_SEE_RUNS):
            context["official"] = [(board, _best_first(board)) for board in official.official_boards(place)]
    return http.page_or_part(request, "home/collection.html", context, part="topics")


def _best_first(board: official.Official) -> list[tuple[str, float]]:
    return sorted(board.values.items(), key=lambda row: row[1], reverse=not board.is_rank)


def _table(banks: list[Bank], form: TopicsForm, joiner: str) -> dict[str, object]:
    """Return the table's part of the context; empty without a bank."""
    if not banks:
        return {"banks": banks}
    bank = form.offer_banks(banks)
    rater = form.offer(raters(bank))
    rows = topic_rows(bank.collection, bank, rater)
    sort = form.value("sort", "topic")
    folded = form.value("q", "").casefold()
    matching = [row for row in rows if folded in row.query_id.casefold() or folded in row.text.casefold()]
    chosen = sorted(matching, key=SORTS[sort.removeprefix("-")], reverse=sort.startswith("-"))
    page = Paginator(chosen, PAGE_TOPICS).get_page(form.value("page", 1))
    sums = totals(rows)
    writer = TopicWriter(bank.collection.slug, bank.pk, joiner, has_subtopics=bool(sums.subtopics))
    table = {"page": page, "rows": joined(map(writer.row, page)), "totals": sums, "sort": sort}
    return {"banks": banks, "bank": bank, "rater": rater, **table}
