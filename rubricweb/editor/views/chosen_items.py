"""Several items of a topic at once: set their importance, or retire them."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from rubricweb.banks import access
from rubricweb.banks import selectors as banks
from rubricweb.banks.errors import BankError, Conflict
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.weighing import retire_items, weigh_items
from rubricweb.core.http import HtmxRequest, after_post, form_response
from rubricweb.corpus.models import Topic
from rubricweb.editor.figures import rating_graders
from rubricweb.editor.forms import FiguresForm, board_graders
from rubricweb.editor.item_forms import ChosenItemsForm
from rubricweb.editor.trial import Setting, Trial, trial
from rubricweb.editor.views.items import editor_url, items_changed

PAGE = "editor/chosen_items.html"


@require_POST
def items_change(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Do `act` to the chosen items; retiring asks first, with what it would change."""
    bank, topic = access.bank_topic_for_editor(request.user, bank_id, topic_id)
    form = ChosenItemsForm(request.POST)
    if not form.is_valid():
        return _asked(request, (bank, topic), form, problem="Choose items first, then what to do with them.")
    for item in _items(bank, topic, form.seen):
        access.item_for_editor(request.user, bank.pk, item.pk)
    if form.cleaned_data["act"] == "retire":
        return _asked(request, (bank, topic), form)
    try:
        changed = _changed(request, (bank, topic), form)
    except BankError as refusal:
        return _asked(request, (bank, topic), form, problem=_words(refusal), status=409)
    messages.success(request, f"{changed} item{'' if changed == 1 else 's'} changed.")
    context = {"bank": bank, "topic": topic}
    response = after_post(request, f"{PAGE}#done", context, to=editor_url(request, bank, topic))
    return items_changed(response)


def _items(bank: Bank, topic: Topic, seen: Mapping[int, int]) -> list[Item]:
    active = bank.items.active().for_topic(topic).filter(pk__in=seen)
    return list(active.select_related("revision", "topic", "bank__collection"))


def _changed(request: HtmxRequest, place: tuple[Bank, Topic], form: ChosenItemsForm) -> int:
    items = _items(*place, form.seen)
    if form.importance is None:
        return retire_items(items, seen=form.seen, by=request.user)
    return weigh_items(items, importance=form.importance, seen=form.seen, by=request.user)


def _words(refusal: BankError) -> str:
    if not isinstance(refusal, Conflict):
        return str(refusal)
    theirs = banks.last_change(refusal.item)
    by, verb = (theirs.by or "somebody", theirs.verb) if theirs else ("somebody", "changed")
    return f"Nothing was changed: \u201c{refusal.item}\u201d was {verb} by {by} meanwhile. Choose again."


def _asked(
    request: HtmxRequest,
    place: tuple[Bank, Topic],
    form: ChosenItemsForm,
    *,
    problem: str = "",
    status: int = 0,
) -> HttpResponse:
    """The confirmation with its consequences, or why nothing was done (422, or the status that is given)."""
    bank, topic = place
    items = [] if problem else _items(bank, topic, form.seen)
    context = {"bank": bank, "topic": topic, "collection": bank.collection, "section": "topics"}
    context |= {"form": form, "problem": problem, "items": items}
    context["trial"] = _trial(request, bank, topic, items)
    return form_response(request, PAGE, context, status=status or (422 if problem else 200))


def _trial(request: HtmxRequest, bank: Bank, topic: Topic, items: list[Item]) -> Trial | None:
    """The board without the items; None where no grader has one."""
    figures = FiguresForm(request.GET, rating_graders(bank))
    config = next(iter(board_graders(figures, bank.collection)), None)
    if config is None or not items:
        return None
    off = {item.pk: Setting(is_on=False, weight=item.weight) for item in items}
    return trial(bank, topic, config, figures.measure_by(config), off)
