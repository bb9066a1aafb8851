"""The page of a topic's grid: its address, the card of an item beside it, and the views that people save.

The card of one item beside the grid.

It says how the item is covered, which passages should not cover it, and what retiring it would do.

The page of a topic's grid: its address, and the views that people save.

A parameter of the address that cannot be read is named on the page and replaced by its default.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from grading.arrays import undefined_last
from grading.types import Ratings
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.models import Bank, BankVersion, Item
from rubricweb.core import audit
from rubricweb.core.compiled import compiled_once
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import HtmxRequest, page_or_part, parse_id, parse_ids
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Topic
from rubricweb.editor.bank import bank_page, topic_frame
from rubricweb.editor.what_if import WhatIf, what_if
from rubricweb.grades import scoring, topic_ratings
from rubricweb.grades.raters import KINDS, GraderForm, Rater, covered_from, covering, raters, select_at_once
from rubricweb.review.models import Flag, FlagEvent, SavedView
from rubricweb.review.selectors import GROUPS, ITEM_FILTERS, ORDERS, SHOWS, SORTS, SOURCES, GridQuery
from rubricweb.review.selectors.columns import GridColumn
from rubricweb.review.selectors.grid import TopicGrid, grid_window, run_tags, topic_grid
from rubricweb.review.selectors.window import excerpts

SHOWN_PASSAGES = 8
BAR_HEIGHT = 40
FIRST_SUSPECT = "spurious"
"""Names, in the address, the item that passages judged not relevant cover most often."""


@dataclass(frozen=True, slots=True)
class RatingBar:
    """Passages of one grade: relevant ones above the axis, those judged not relevant below."""

    grade: int
    relevant: int
    not_relevant: int
    up: int
    """Pixels."""
    down: int
    covers: bool


@dataclass(frozen=True, slots=True)
class WronglyCovered:
    """A passage judged not relevant that covers the item."""

    passage_pk: int
    doc_id: str
    rating: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class ItemCard:
    item: Item
    column: GridColumn
    of_kind: int
    before: GridColumn | None
    after: GridColumn | None
    bars: tuple[RatingBar, ...]
    relevant: int
    """Graded passages that are judged relevant."""
    relevant_covering: int
    not_relevant: int
    not_relevant_covering: int
    wrongly: tuple[WronglyCovered, ...]
    """The first of `not_relevant_covering`, the highest grades first."""
    reasons: tuple[FlagEvent, ...]
    """Comments of those who flagged it as spurious."""
    what_if: WhatIf | None
    """The effect of retiring it; None if no grader grades its kind."""


def item_card(
    bank: Bank, topic: Topic, rater: Rater, query: GridQuery, *, name: str, reader: User
) -> ItemCard | None:
    """Return the card of the item with this key, or of the first suspect; None where the topic has none."""
    grid = topic_grid(bank, topic, rater, query, reader)
    column = _named(grid, name)
    if column is None:
        return None
    at, fellows = grid.items.index(column), [other for other in grid.items if other.kind == column.kind]
    sheet, ratings, covers = grid.sheet, grid.sheet.ratings[:, column.at], grid.sheet.covers[:, column.at]
    graded = ratings >= 0
    relevant, not_relevant = graded & sheet.relevant, graded & sheet.not_relevant
    item = bank.items.select_related("revision", "topic", "bank__collection").get(pk=column.pk)
    config = rater.rating_config(column.kind)
    measure = scoring.MeasureSpec(min_grade=int(sheet.min_grades[column.at]))
    counts = [
        (grade, int((relevant & (ratings == grade)).sum()), int((not_relevant & (ratings == grade)).sum()))
        for grade in range(sheet.highest + 1)
    ]
    # Grade 0 is most of the pool: bars of the others would vanish beside it.
    tallest = max([1, *(max(above, below) for grade, above, below in counts if grade)])
    heights = [[min(BAR_HEIGHT, round(BAR_HEIGHT * n / tallest)) for n in pair] for _, *pair in counts]
    return ItemCard(
        item=item,
        column=column,
        of_kind=len(fellows),
        before=grid.items[at - 1] if at else None,
        after=grid.items[at + 1] if at + 1 < len(grid.items) else None,
        bars=tuple(
            RatingBar(*count, up=up, down=down, covers=count[0] >= measure.min_grade)
            for count, (up, down) in zip(counts, heights, strict=True)
        ),
        relevant=int(relevant.sum()),
        relevant_covering=int((relevant & covers).sum()),
        not_relevant=int(not_relevant.sum()),
        not_relevant_covering=int((not_relevant & covers).sum()),
        wrongly=_wrongly(grid, ratings, not_relevant & covers),
        reasons=_reasons(item),
        what_if=what_if(item, config, measure) if config else None,
    )


def _named(grid: TopicGrid, name: str) -> GridColumn | None:
    if name == FIRST_SUSPECT:
        return max(grid.items, key=lambda column: undefined_last(column.spurious), default=None)
    return next((column for column in grid.items if column.pk == parse_id(name)), None)


def _wrongly(grid: TopicGrid, ratings: Ratings, mask: topic_ratings.Mask) -> tuple[WronglyCovered, ...]:
    rows = sorted(np.flatnonzero(mask).tolist(), key=lambda row: (-ratings[row], row))[:SHOWN_PASSAGES]
    pool = grid.pool
    excerpt_by_pk = excerpts(pool.passage_pks[row] for row in rows)
    return tuple(
        WronglyCovered(pk, pool.doc_ids[row], int(ratings[row]), excerpt_by_pk.get(pk, ""))
        for row in rows
        for pk in [pool.passage_pks[row]]
    )


def _reasons(item: Item) -> tuple[FlagEvent, ...]:
    """Return the texts of open flags on the item itself.

    A flag on a cell may tell of a rating that the reader must not see.
    """
    opened = FlagEvent.objects.filter(
        verb=FlagEvent.Verb.OPENED,
        flag__item=item,
        flag__passage=None,
        flag__kind=Flag.Kind.SPURIOUS,
        flag__resolved_at=None,
    )
    return tuple(opened.exclude(text="").select_related("by").order_by("-at"))


PAGE, INSET = "review/grid.html", "review/inset.html"
"""The grid, and what stands in its page instead of it."""
OF_ONE_TOPIC = {"page", "columns", "at"}
"""Fields of the grid's address that mean nothing in another topic."""
QUERIED = (
    "groups",
    "sort",
    "show",
    "covers",
    "items",
    "order",
    "kind",
    "run",
    "source",
    "version",
    "min_grade",
    "rows",
    "page",
    "columns",
)
_DEFAULT = GridQuery()


class GridForm(ChipForm, GraderForm):
    """The parameters of the grid's address."""

    in_toolbar = ("show", "groups", "sort", "grader", "run")
    in_menu = ("covers", "items", "source", "min_grade", "order", "kind", "version", "rows")
    outdated = ("page", "columns", "at")

    show = select_at_once("Passages", [(name, label) for name, (label, _) in SHOWS.items()])
    covers = covering()
    sort = select_at_once("Sort", [(name, label) for name, (label, _) in SORTS.items()])
    groups = select_at_once("Groups", list(GROUPS.items()))
    kind = select_at_once("Kind of item", [("", "all"), *((str(kind), f"{kind}s") for kind in KINDS)])
    items = select_at_once("Items", [(name, label) for name, (label, _) in ITEM_FILTERS.items()])
    min_grade = covered_from()
    run = select_at_once("Run", ())
    source = select_at_once("Ratings by", [(str(source), label) for source, label in SOURCES.items()])
    order = select_at_once("Order of items", [(name, label) for name, (label, _) in ORDERS.items()])
    version = select_at_once("Rubric", ())
    rows = select_at_once("Rows", (("", "compact"), ("roomy", "with their runs")))
    page = forms.IntegerField(min_value=1, required=False)
    columns = forms.IntegerField(min_value=1, required=False)
    at = forms.RegexField(r"^\d{1,18}-\d{1,18}$", required=False)

    def __init__(self, address: QueryDict) -> None:
        super().__init__(address)
        self.hidden = parse_ids(address.getlist("hide"))
        if self.data.get("rows") == "compact":  # from addresses that people kept: the default now
            self.data["rows"] = ""

    def default_value(self, name: str) -> str:
        named = {"grader": self.data["grader"], "min_grade": str(self.default_min_grade)}
        return named.get(name, str(getattr(_DEFAULT, name, "")))

    def offer_bank(self, bank: Bank) -> Rater:
        """Offer what the bank has to choose from, and return the chosen rater."""
        rater = self.offer(raters(bank))
        offer_choices(self, "run", [("", "any"), *((tag, tag) for tag in run_tags(bank.collection))])
        self.offer_versions(bank)
        return rater

    def offer_versions(self, bank: Bank) -> None:
        versions = [(str(number), f"version {number}: {name}") for number, name in _versions(bank.pk)]
        offer_choices(self, "version", [("", "as it is"), *versions])

    def query(self, at: tuple[int, int] | None = None) -> GridQuery:
        default = {name: getattr(_DEFAULT, name) for name in QUERIED} | {"min_grade": self.default_min_grade}
        chosen = {name: self.value(name, default[name]) for name in QUERIED}
        is_paged = "page" in self.data or "columns" in self.data
        named = "" if is_paged else self.value("at", "")
        passage, _, item = named.partition("-")
        at = at or ((int(passage), int(item)) if named else None)
        return GridQuery(**chosen | {"version": int(chosen["version"])}, hidden=self.hidden, at=at)


@compiled_once
def _versions(bank: int) -> QuerySet[BankVersion, tuple[int, str]]:
    return BankVersion.objects.filter(bank=bank).values_list("number", "name")


def address_kept(request: HttpRequest) -> dict[str, str]:
    """Return the query strings that links append to keep the chosen grader and version."""
    kept = urlencode({name: request.GET[name] for name in ("grader", "version") if name in request.GET})
    return {"suffix": f"?{kept}" if kept else "", "joiner": f"?{kept}&" if kept else "?"}


def kept_fields(address: QueryDict) -> list[tuple[str, str]]:
    """Return the grid's parameters, without its window and the ticked heads, for hidden fields."""
    kept = {*GridForm.base_fields, "hide", "passage", "item"} - {"at", "page", "columns"}
    return [(name, value) for name, values in address.lists() if name in kept for value in values]


@require_safe
def topic(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show a topic as its grid, as the list of its items, or both side by side: `?view=`."""
    if request.GET.get("view") in ("grid", "both"):
        return _grid(request, *bank_topic_for(request.user, bank_id, topic_id))
    return bank_page(request, *bank_topic_for(request.user, bank_id, topic_id))


def _grid(request: HtmxRequest, bank: Bank, topic: Topic) -> HttpResponse:
    """Show passages x items, a window at a time; beside them a cell, an item, or all items."""
    form = GridForm(request.GET)
    rater, query = form.offer_bank(bank), form.query()
    card = request.GET.get("card")
    context = topic_frame(bank, topic, request.GET["view"]) | {
        "form": form,
        "rater": rater,
        "query": query,
        **address_kept(request),
        "can_edit": roles.may_edit(request.user, bank.collection),
        "card": item_card(bank, topic, rater, query, name=card, reader=request.user) if card else None,
    }
    if request.htmx.target == "panel":
        return page_or_part(request, PAGE, context, part="card")
    context |= {
        "kept": kept_fields(request.GET),
        "grid": grid_window(bank, topic, rater, query, request.user),
        "rates_here": not rater.verifies and roles.holds(request.user, bank.collection, roles.TO_RATE),
        "views": saved_views(request.user, bank.collection),
    }
    return page_or_part(request, PAGE, context, part="table")


def inset_frame(request: HtmxRequest, bank: Bank, topic: Topic) -> dict[str, object]:
    """Return the context of the grid's page around what stands in it instead of the grid."""
    return topic_frame(bank, topic, "grid") | address_kept(request)


class SavedViewForm(forms.Form):
    name = forms.CharField(
        max_length=SavedView._meta.get_field("name").max_length,
        error_messages={"required": "Give the view a name."},
    )
    address = forms.CharField(max_length=2_000, required=False)


def saved_views(person: User, collection: Collection) -> list[SavedView]:
    """Return the person's views of this collection, by name."""
    return _views(person.pk, collection.pk)


@compiled_once
def _views(person: int, collection: int) -> QuerySet[SavedView]:
    return SavedView.objects.filter(user=person, collection=collection)


@transaction.atomic
def save_view(collection: Collection, *, name: str, address: str, by: User) -> SavedView:
    """Save the choices in `address`, the query part of a grid's; a view of the same name is replaced."""
    query, kept = QueryDict(address), QueryDict(mutable=True)
    for field in GridForm.base_fields:
        if field not in OF_ONE_TOPIC and query.get(field):
            kept[field] = query[field]
    view, _ = SavedView.objects.update_or_create(
        user=by, collection=collection, name=name, defaults={"address": kept.urlencode()}
    )
    audit.record("view saved", view, by=by, detail=name)
    return view


@transaction.atomic
def drop_view(view: SavedView, *, by: User) -> None:
    audit.record("view dropped", view, by=by, detail=view.name)
    view.delete()


@require_POST
def view_save(request: HtmxRequest, slug: str) -> HttpResponse:
    """Save the view that the grid shows."""
    collection = collection_for(request.user, slug)
    form = SavedViewForm(request.POST)
    if form.is_valid():
        view = save_view(collection, **form.cleaned_data, by=request.user)
        messages.success(request, f"View “{view.name}” saved.")
    else:
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    return _back(request, collection)


@require_POST
def view_drop(request: HtmxRequest, slug: str, view_id: int) -> HttpResponse:
    """Delete one of the person's own views."""
    collection = collection_for(request.user, slug)
    mine = SavedView.objects.filter(user=request.user, collection=collection)
    drop_view(get_object_or_404(mine, pk=view_id), by=request.user)
    messages.success(request, "View deleted.")
    return _back(request, collection)


def _back(request: HtmxRequest, collection: Collection) -> HttpResponse:
    """Redirect to the grid that the form was on."""
    to = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=request.is_secure()):
        return redirect("home:collection", collection.slug)
    return redirect(to)
