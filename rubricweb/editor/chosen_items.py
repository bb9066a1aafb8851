"""Several items of a topic at once: set their importance, retire them, or keep them secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from django.contrib import messages
from django.core.exceptions import SuspiciousOperation
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from rubricweb.accounts import roles
from rubricweb.banks import access, actions, selectors as banks
from rubricweb.banks.changes import BankError, EditConflict, hide_items, show_items
from rubricweb.banks.models import Bank, Item
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, form_response, offer_undo, part_or_redirect
from rubricweb.corpus.models import Topic
from rubricweb.editor import trial
from rubricweb.editor.forms import (
    ChosenItemsForm,
    FiguresForm,
    ItemsBeforeForm,
    board_graders,
    rating_graders,
)
from rubricweb.editor.items import PAGE, editor_url, items_changed

SECRECY = {"hide": (hide_items, "secret"), "show": (show_items, "public")}
NONE_CHOSEN = "Select items first, then choose what to do with them."


@require_POST
def items_change(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Do `act` to the chosen items; retiring asks first, with what it would change."""
    bank, topic = access.bank_topic_for_editor(request.user, bank_id, topic_id)
    form = ChosenItemsForm(request.POST)
    if not form.is_valid():
        return _confirmation(request, (bank, topic), form, problem=NONE_CHOSEN)
    items = _items(bank, topic, form.seen)
    _require_editor(request, items)
    if (act := form.cleaned_data["act"]) == "retire":
        return _confirmation(request, (bank, topic), form)
    if act in SECRECY:
        return _kept_secret(request, (bank, topic), items, act)
    before = undo_field(items)
    try:
        changed = _changed(request, items, form)
    except BankError as refusal:
        return _confirmation(request, (bank, topic), form, problem=_refusal_text(refusal), status=409)
    message = f"{counted(changed, 'item')} {'changed' if form.importance else 'retired'}."
    field = before(items)
    if field:
        offer_undo(
            request,
            message,
            reverse("editor:items-undo", args=[row.pk for row in (bank, topic)]),
            before=field,
        )
    else:
        messages.success(request, message)
    return _done(request, bank, topic)


def _kept_secret(
    request: HtmxRequest, place: tuple[Bank, Topic], items: list[Item], act: str
) -> HttpResponse:
    """Make the items secret, or public again."""
    bank, topic = place
    roles.require(request.user, bank.collection, roles.TO_SEE_SECRETS)
    change, state = SECRECY[act]
    try:
        changed = change(items, by=request.user)
    except BankError as refusal:
        return _confirmation(request, place, None, problem=_refusal_text(refusal), status=409)
    messages.success(request, f"{counted(changed, 'item')} made {state}.")
    return _done(request, bank, topic)


@require_POST
def items_undo(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Bring back what several items were before a change of all of them."""
    bank, topic = access.bank_topic_for_editor(request.user, bank_id, topic_id)
    form = ItemsBeforeForm(request.POST)
    if not form.is_valid():
        raise SuspiciousOperation("No items to bring back.")
    before = form.cleaned_data["before"]
    every = bank.items.for_topic(topic).filter(pk__in=before)
    items = list(every.select_related("revision", "topic", "bank__collection"))
    _require_editor(request, items)
    try:
        changed = actions.bring_back(items, before=before, by=request.user)
    except BankError as refusal:
        return _confirmation(request, (bank, topic), None, problem=_refusal_text(refusal), status=409)
    messages.success(request, f"{counted(changed, 'item')} brought back.")
    return _done(request, bank, topic)


def undo_field(items: Iterable[Item]) -> Callable[[Iterable[Item]], str]:
    """Remember what the items are; after a change, the function returns the field of an ItemsBeforeForm."""
    was = {item.pk: (item.version, f"{item.importance}:{item.weight!r}") for item in items}

    def field(changed: Iterable[Item]) -> str:
        mine = [item for item in changed if item.pk in was and item.version != was[item.pk][0]]
        return ",".join(f"{item.pk}:{item.version}:{was[item.pk][1]}" for item in mine)

    return field


def _require_editor(request: HtmxRequest, items: Iterable[Item]) -> None:
    for item in items:
        access.item_for_editor(request.user, item.bank_id, item.pk)


def _done(request: HtmxRequest, bank: Bank, topic: Topic) -> HttpResponse:
    context = {"bank": bank, "topic": topic}
    response = part_or_redirect(
        request, "editor/_items_retire.html#done", context, to=editor_url(request, bank, topic)
    )
    return items_changed(response)


def _items(bank: Bank, topic: Topic, seen: Mapping[int, int]) -> list[Item]:
    active = bank.items.active().for_topic(topic).filter(pk__in=seen)
    return list(active.select_related("revision", "topic", "bank__collection"))


def _changed(request: HtmxRequest, items: list[Item], form: ChosenItemsForm) -> int:
    if form.importance is None:
        return actions.retire_items(items, seen=form.seen, by=request.user)
    return actions.weigh_items(items, importance=form.importance, seen=form.seen, by=request.user)


def _refusal_text(refusal: BankError) -> str:
    if not isinstance(refusal, EditConflict):
        return str(refusal)
    theirs = banks.last_change(refusal.item)
    by, verb = (theirs.by or "somebody", theirs.verb) if theirs else ("somebody", "changed")
    return (
        f"Nothing was changed: \u201c{refusal.item}\u201d was {verb} by {by} in the meantime. Select again."
    )


def _confirmation(
    request: HtmxRequest,
    place: tuple[Bank, Topic],
    form: ChosenItemsForm | None,
    *,
    problem: str = "",
    status: int = 0,
) -> HttpResponse:
    """Ask for confirmation with the consequences, or say why nothing was done (422, or `status`)."""
    bank, topic = place
    items = _items(bank, topic, form.seen) if form and not problem else []
    context: dict[str, object] = {"bank": bank, "topic": topic, "collection": bank.collection}
    context |= {"form": form, "problem": problem, "items": items}
    context |= {"panel": "editor/_items_retire.html", "title": "Selected items"}
    context["trial"] = _trial(request, bank, topic, items)
    return form_response(request, PAGE, context, status=status or (422 if problem else 200))


def _trial(request: HtmxRequest, bank: Bank, topic: Topic, items: list[Item]) -> trial.Trial | None:
    """Return the board without the items; None where no grader has one."""
    figures = FiguresForm(request.GET, rating_graders(bank))
    config = next(iter(board_graders(figures, bank.collection)), None)
    if config is None or not items:
        return None
    off = {item.pk: trial.Setting(is_on=False, weight=item.weight) for item in items}
    return trial.trial_of(bank, topic, config, figures.measure_by(config), off)
