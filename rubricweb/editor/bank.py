"""The bank editor: a topic's page, the list of its items with their grades, and a passage beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.contrib import messages
from django.db.models import prefetch_related_objects
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks import access, actions, changes, selectors
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import (
    Context,
    HtmxRequest,
    form_response,
    offer_undo,
    page_or_part,
    parse_id,
    part_or_redirect,
)
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.editor import draft_inbox, what_if
from rubricweb.editor.figures import FiguredRow, editor_sheet, item_figures
from rubricweb.editor.forms import FiguresForm, SeenForm, focused, new_item_form, rating_graders
from rubricweb.editor.items import (
    PAGE,
    change_url,
    editor_url,
    item_panel,
    items_changed,
    open_panel,
    to_the_row,
)
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec

TOPIC_PAGE = "editor/topic.html"
VIEWS = (("grid", "Grid"), ("bank", "Rubric"), ("both", "Both"))
"""The views that every topic offers, as its address names them."""
PLACES = {"try": "editor:trial", "drafts": "editor:drafts"}
"""Routes of the views with an address of their own; the switch names them while they are open."""


@dataclass(frozen=True, slots=True)
class PassageOption:
    """A passage of the pool, as it is chosen from a list."""

    pk: int
    doc_id: str
    judgment: int | None

    def __str__(self) -> str:
        return self.doc_id if self.judgment is None else f"{self.doc_id} (judged {self.judgment})"


@dataclass(frozen=True, slots=True)
class PassageBeside:
    """The chosen passage and its place among the others: highest judgment first."""

    passage: Passage
    options: tuple[PassageOption, ...]
    at: int

    @property
    def number(self) -> int:
        return self.at + 1

    @property
    def judgment(self) -> int | None:
        return self.options[self.at].judgment

    @property
    def before(self) -> PassageOption | None:
        return self.options[self.at - 1] if self.at else None

    @property
    def after(self) -> PassageOption | None:
        return self.options[self.at + 1] if self.number < len(self.options) else None


def passage_beside(topic: Topic, chosen: int) -> PassageBeside | None:
    """Return the passage with the key `chosen`, or the first one; None for an empty pool."""
    options = _options(collection_pool(topic.collection).by_topic[topic.pk])
    if not options:
        return None
    at = next((at for at, option in enumerate(options) if option.pk == chosen), 0)
    return PassageBeside(topic.collection.passages.get(pk=options[at].pk), options, at)


def _options(pool: TopicPool) -> tuple[PassageOption, ...]:
    options = [
        PassageOption(pk, doc_id, pool.judgments.get(doc_id))
        for pk, doc_id in zip(pool.passage_pks, pool.doc_ids, strict=True)
    ]
    unjudged = min(pool.judgments.values(), default=0) - 1
    return tuple(
        sorted(options, key=lambda option: -(unjudged if option.judgment is None else option.judgment))
    )


def topic_frame(bank: Bank, topic: Topic, view: str) -> dict[str, object]:
    """Return the context of the page around one of its views."""
    return {
        "bank": bank,
        "topic": topic,
        "collection": bank.collection,
        "view": view,
        "views_of_topic": VIEWS,
        "place": PLACES.get(view, "review:topic"),
        "neighbours": partial(selectors.neighbours, topic),
        "banks": partial(selectors.banks_for, bank.collection_id, topic.pk),
    }


def bank_page(request: HtmxRequest, bank: Bank, topic: Topic) -> HttpResponse:
    """Show the topic's items in a list that refreshes itself.

    `item` is open beside it, or `beside` is a passage to read there.
    """
    figures = _figures(request, bank)
    prefetch_related_objects([topic], "subtopics")  # the list of items and the forms below it name them
    panel = passage_beside(topic, parse_id(request.GET["beside"])) if "beside" in request.GET else None
    passage_pk = panel.passage.pk if panel else None
    sheet = editor_sheet(bank, topic, figures.graders, min_grade=figures.threshold, passage_pk=passage_pk)
    # The template calls them, so that a fragment costs nothing.
    page_context = {
        "panel": partial(open_panel, request, bank, parse_id(request.GET.get("item", ""))),
        "new_item": partial(new_item_form, topic),
        "drafting": partial(draft_inbox.drafting_form, topic),
        "inbox": partial(draft_inbox.inbox, bank, topic),
        "writers": partial(draft_inbox.writers, bank.collection),
        "changed": partial(_just_changed, request.GET.get("changed", ""), bank, figures),
    }
    context = topic_frame(bank, topic, "bank") | page_context
    context |= {"sheet": sheet, "figures": figures, "beside": panel}
    context["can_edit"] = _can_edit(request, bank.collection)
    if not sheet.groups:  # whoever opens a topic without items comes to write the first
        context["new_item"] = lambda: focused(new_item_form(topic))
    return page_or_part(request, TOPIC_PAGE, context, part="items")


@require_POST
def bank_begin(request: HtmxRequest, slug: str) -> HttpResponse:
    """Make the collection's first bank, empty, and go to its first topic to fill it."""
    collection = access.collection_for_editor(request.user, slug)
    topic = collection.topics.first()
    if topic is None:
        messages.error(request, "A rubric needs topics: import those first.")
        return redirect(collection)
    bank = actions.begin_bank(collection, by=request.user)
    return redirect("review:topic", bank.pk, topic.pk)


def _just_changed(named: str, bank: Bank, figures: FiguresForm) -> Context | None:
    """Return the item that the address names after a change without JavaScript, and its effect."""
    if not named:
        return None
    item = (
        bank.items.select_related("revision", "topic", "bank__collection").filter(pk=parse_id(named)).first()
    )
    return {"item": item, "what_if": _what_if(what_if.what_changed, item, figures)} if item else None


def _figures(request: HtmxRequest, bank: Bank) -> FiguresForm:
    return FiguresForm(request.GET, rating_graders(bank))


def _can_edit(request: HtmxRequest, collection: Collection) -> bool:
    return roles.may_edit(request.user, collection)


def _what_if(
    ask: Callable[[Item, GraderConfig, MeasureSpec], what_if.WhatIf], item: Item, figures: FiguresForm
) -> what_if.WhatIf | None:
    """Return the effect of a change; None if no grader grades this kind of item."""
    config = figures.graders.get(ItemKind(item.kind))
    return ask(item, config, figures.measure_by(config)) if config else None


@require_safe
def item(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """Render the row of one item, to close the panel that shows it."""
    item = access.item_for(request.user, bank_id, item_id)
    bank, figures = item.bank, _figures(request, item.bank)
    fellows = selectors.topic_items(bank, item.topic)  # without them nothing says how the item separates
    row_figures = item_figures(
        bank.collection, item.topic, fellows, figures.graders, min_grade=figures.threshold
    )
    row = selectors.item_row(item)
    subtopic = item.topic.subtopics.filter(facet_id=item.facet_id).first()
    figured = FiguredRow(
        item,
        row.place,
        row.is_last,
        figures=row_figures.get(item.pk),
        about=(item.topic.text, str(subtopic or "")),
        set_aside=bank.flags.model.set_aside_of_items(bank.pk, item.topic_id),
    )
    context: dict[str, object] = {"bank": bank, "topic": item.topic, "collection": bank.collection}
    context |= {
        "row": figured,
        "is_fresh": True,
        "figures": figures,
        "can_edit": _can_edit(request, bank.collection),
    }
    to = f"{editor_url(request, bank, item.topic)}#item-{item.pk}"
    return to_the_row(request, item, part_or_redirect(request, "editor/_item.html", context, to=to))


@require_http_methods(["GET", "HEAD", "POST"])
def item_retire(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """Ask, with the effect of retiring the item; POST retires it."""
    item = access.item_for_editor(request.user, bank_id, item_id)
    return _weighed(request, item, actions.retire_item)


@require_http_methods(["GET", "HEAD", "POST"])
def item_restore(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """Ask, with the effect of restoring the item; POST restores it."""
    item = access.item_for_editor(request.user, bank_id, item_id)
    return _weighed(request, item, actions.restore_item)


def _weighed(request: HtmxRequest, item: Item, change: Callable[..., Item]) -> HttpResponse:
    form = SeenForm(request.POST) if request.method == "POST" else None
    if form is None or not form.is_valid():
        return _confirmation(request, item, status=200 if form is None else 422)
    try:
        change(item, seen=form.cleaned_data["seen"], by=request.user)
    except changes.EditConflict as conflict:
        return _confirmation(request, item, refusal=conflict, status=409)
    except changes.BankError as refusal:
        return _confirmation(request, item, refusal=refusal, status=422)
    figures = _figures(request, item.bank)
    context = item_panel("retire", "", item, None)
    context["what_if"] = _what_if(what_if.what_changed, item, figures)
    inverse = "restore" if item.is_retired else "retire"
    sentence = f"{item.get_kind_display().capitalize()} {'retired' if item.is_retired else 'restored'}."
    undo_at = change_url(request, item, inverse)
    offer_undo(request, sentence, undo_at, seen=item.version)
    to = f"{editor_url(request, item.bank, item.topic, changed=item.pk)}#changed"
    return items_changed(part_or_redirect(request, "editor/_item_retire.html#done", context, to=to))


def _confirmation(
    request: HtmxRequest, item: Item, *, refusal: changes.BankError | None = None, status: int = 200
) -> HttpResponse:
    """Ask to restore a retired item, or to retire an active one, with the consequences."""
    figures = _figures(request, item.bank)
    form = SeenForm(initial={"seen": item.version}, auto_id=f"item-{item.pk}-%s")
    verb = "Restore" if item.is_retired else "Retire"
    context = item_panel("retire", f"{verb} a {item.get_kind_display()}?", item, form) | {
        "what_if": _what_if(what_if.what_if, item, figures),
        "refusal": refusal,
        "theirs": selectors.last_change(item) if refusal else None,
    }
    return form_response(request, PAGE, context, status=status)
