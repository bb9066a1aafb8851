"""Near-duplicates among a topic's items: list and merge them."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from grading.generation import near_duplicates
from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks import actions
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.errors import BankError
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import HtmxRequest, after_post, form_response
from rubricweb.core.undo import offer_undo
from rubricweb.corpus.models import Topic
from rubricweb.editor import what_if as what_ifs
from rubricweb.editor.figures import rating_graders
from rubricweb.editor.forms import FiguresForm
from rubricweb.editor.item_forms import MergeForm
from rubricweb.editor.views.items import items_changed
from rubricweb.editor.what_if import WhatIf


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two similar items; the earlier one is offered to stay."""

    keep: Item
    duplicate: Item
    score: float


@require_http_methods(["GET", "HEAD", "POST"])
def duplicates(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """`?keep=1&duplicate=2` shows the effect of merging these; POST merges them."""
    is_change = request.method == "POST"
    needed = roles.TO_EDIT_BANK if is_change else roles.TO_VIEW
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=needed)
    items = {str(item.pk): item for item in _items(bank, topic)}
    sent = request.POST if is_change else request.GET
    form = MergeForm(sent if "keep" in sent else None, list(items.values()))
    if is_change and form.is_valid() and _merged(request, form, items):
        to = reverse("editor:duplicates", args=[bank.pk, topic.pk])
        return items_changed(after_post(request, "editor/duplicates.html#merged", {"bank": bank}, to=to))
    return _shown(request, (bank, topic), items, form)


def _items(bank: Bank, topic: Topic) -> list[Item]:
    rows = bank.items.active().for_topic(topic).exclude(revision__text="")
    return list(rows.select_related("revision", "topic", "bank__collection").order_by("position", "pk"))


def _merged(request: HtmxRequest, form: MergeForm, items: dict[str, Item]) -> bool:
    """Return False if the bank refuses; the form then says why."""
    cleaned = form.cleaned_data
    keep, duplicate = items[cleaned["keep"]], items[cleaned["duplicate"]]
    try:
        actions.merge_items(keep, duplicate, seen=cleaned["seen"] or 0, by=request.user)
    except BankError as refusal:
        form.add_error(None, str(refusal))
        return False
    undo_at = reverse("editor:item-restore", args=[duplicate.bank_id, duplicate.pk])
    offer_undo(request, gettext("Merged: the duplicate is retired."), undo_at, seen=duplicate.version)
    return True


def _shown(
    request: HtmxRequest, place: tuple[Bank, Topic], items: dict[str, Item], form: MergeForm
) -> HttpResponse:
    bank, topic = place
    chosen = [items[form.cleaned_data[name]] for name in ("keep", "duplicate")] if form.is_valid() else []
    context = {
        "bank": bank,
        "topic": topic,
        "collection": bank.collection,
        "section": "topics",
        "form": form,
        "pairs": _pairs(list(items.values())),
        "chosen": chosen,
        "what_if": _what_if(request, chosen[1]) if chosen else None,
    }
    is_wrong = form.is_bound and not form.is_valid()
    return form_response(
        request, "editor/duplicates.html", context, part="pairs", status=422 if is_wrong else 200
    )


def _what_if(request: HtmxRequest, duplicate: Item) -> WhatIf | None:
    figures = FiguresForm(request.GET, rating_graders(duplicate.bank))
    config = figures.graders.get(ItemKind(duplicate.kind))
    return what_ifs.what_if(duplicate, config, figures.measure_by(config)) if config else None


def _pairs(items: list[Item]) -> list[NearPair]:
    """Questions are compared with questions only, nuggets with nuggets."""
    pairs: list[NearPair] = []
    for kind in ItemKind:
        by_text = {str(item): item for item in items if item.kind == kind}
        near = near_duplicates(list(by_text))
        pairs += [NearPair(by_text[pair.other], by_text[pair.text], pair.score) for pair in near]
    return sorted(pairs, key=lambda pair: -pair.score)
