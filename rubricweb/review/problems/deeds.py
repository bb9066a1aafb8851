"""The ways to end a problem, and to take that back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks import actions
from rubricweb.banks.access import bank_topic_for_editor, item_for_editor
from rubricweb.banks.errors import BankError, Conflict
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.selectors import last_change
from rubricweb.core.http import Context, HtmxRequest, offer_undo_on_page, parse_id
from rubricweb.editor.item_forms import SeenForm, wording_form
from rubricweb.review.flags import actions as flags
from rubricweb.review.flags.models import Flag
from rubricweb.review.flags.subjects import Subject as FlagSubject
from rubricweb.review.problems.forms import ReasonForm, draft_form, named_item, rewording
from rubricweb.review.problems.listing import FLAG_KINDS, reason_of_pair
from rubricweb.review.problems.opened import APair, APassage, Subject


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was done, as the opened problem shows it."""

    context: Context
    status: int = 422


Deed = Callable[[HtmxRequest, Bank, Subject, str], Refusal | None]


def do(request: HtmxRequest, bank: Bank, subject: Subject, *, undo_at: str) -> Refusal | None:
    """Do what the form's button says; return why not, or None."""
    name = "rewording" if "rewording" in request.POST else request.POST.get("deed", "")
    deed = DEEDS.get(name, _unfit)
    return deed(request, bank, subject, undo_at)


def _unfit(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    return Refusal({"refusal": "Say what to do with it."})


def _reword(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    item = _editable(request, bank, subject)
    form = wording_form(item, sent=request.POST)
    if not form.is_valid():
        return Refusal({"item_form": form})
    mine, before = form.cleaned_data["text"], item.revision.text
    try:
        actions.revise_item(item, text=mine, seen=form.cleaned_data["seen"], by=request.user)
    except Conflict as conflict:
        both = {"item_form": wording_form(conflict.item, text=mine), "mine": mine, "item": conflict.item}
        return Refusal(both | {"theirs": last_change(item)}, 409)
    except BankError as refusal:
        form.add_error("text", str(refusal))
        return Refusal({"item_form": form})
    _offer(request, f"{_kind(item)} reworded.", undo_at, deed="reword", seen=item.version, text=before)
    return None


def _retire(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    item = _editable(request, bank, subject)
    return _decided(request, item, actions.retire_item, ("retired", "restore"), undo_at)


def _restore(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    item = _editable(request, bank, subject)
    return _decided(request, item, actions.restore_item, ("restored", "retire"), undo_at)


def _decided(
    request: HtmxRequest, item: Item, change: Callable[..., Item], verbs: tuple[str, str], undo_at: str
) -> Refusal | None:
    form = SeenForm(request.POST)
    if not form.is_valid():
        return Refusal({"refusal": "Say which version of the item you saw."})
    try:
        change(item, seen=form.cleaned_data["seen"], by=request.user)
    except Conflict as conflict:
        changed = {"refusal": conflict, "changed": last_change(conflict.item), "item": conflict.item}
        return Refusal(changed, 409)
    except BankError as refusal:
        return Refusal({"refusal": refusal})
    _offer(request, f"{_kind(item)} {verbs[0]}.", undo_at, deed=verbs[1], seen=item.version)
    return None


def _merge(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    """Retire the second of a pair as the first one's duplicate."""
    roles.require(request.user, bank.collection, roles.TO_EDIT_BANK)
    if not isinstance(subject, APair):
        return _unfit(request, bank, subject, undo_at)
    keep, duplicate, form = subject.keep, subject.item, SeenForm(request.POST)
    if not form.is_valid():
        return Refusal({"refusal": "Say which version of the item you saw."})
    try:
        actions.merge_items(keep, duplicate, seen=form.cleaned_data["seen"], by=request.user)
    except BankError as refusal:
        return Refusal({"refusal": refusal}, 409 if isinstance(refusal, Conflict) else 422)
    _offer(request, "Merged: the second is retired.", undo_at, deed="restore", seen=duplicate.version)
    return None


def _add(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    """Add the item that is written from a passage, or reword one."""
    bank_topic_for_editor(request.user, bank.pk, subject.topic.pk)
    if not isinstance(subject, APassage):
        return _unfit(request, bank, subject, undo_at)
    topic, passage = subject.topic, subject.passage
    form = draft_form(topic, passage, sent=request.POST)
    rewords = named_item(bank, topic, form["item"].value())
    if not form.is_valid():
        return Refusal({"item_form": form, "rewords": rewords})
    cleaned = form.cleaned_data
    change = {"text": cleaned["text"], "origin": cleaned["spans"], "by": request.user}
    try:
        if not cleaned["item"]:
            kind = ItemKind(cleaned["kind"])
            item = actions.add_item(bank, topic, kind=kind, facet_id=cleaned["facet_id"], **change)
            _offer(request, f"{_kind(item)} added.", undo_at, deed="retire", item=item.pk, seen=item.version)
            return None
        if rewords is None:
            raise BankError("That item has been retired. Write a new one, or choose another.")
        before = rewords.revision.text
        actions.revise_item(rewords, seen=cleaned["seen"] or 0, **change)
    except Conflict as conflict:
        spans = request.POST.get("spans", "")
        again = draft_form(topic, passage, initial=rewording(conflict.item, spans, mine=cleaned["text"]))
        both = {"theirs": last_change(conflict.item), "mine": cleaned["text"], "item": conflict.item}
        return Refusal(both | {"item_form": again, "rewords": conflict.item}, 409)
    except BankError as refusal:
        form.add_error("text", str(refusal))
        return Refusal({"item_form": form, "rewords": rewords})
    fields = {"item": rewords.pk, "seen": rewords.version, "text": before}
    _offer(request, f"{_kind(rewords)} reworded.", undo_at, deed="reword", **fields)
    return None


def _rewording(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    """Take an item of the topic into the form, or go back to a new one; nothing is saved."""
    bank_topic_for_editor(request.user, bank.pk, subject.topic.pk)
    if not isinstance(subject, APassage):
        return _unfit(request, bank, subject, undo_at)
    typed, passage = request.POST, subject.passage
    item = named_item(bank, subject.topic, typed.get("rewording", ""))
    kept = {name: typed.get(name, "") for name in ("spans", "kind", "facet_id", "text")}
    initial = rewording(item, typed.get("spans", "")) if item else kept
    form = draft_form(subject.topic, passage, initial=initial)
    if item:
        form.fields["text"].widget.attrs["autofocus"] = True
    return Refusal({"item_form": form, "rewords": item}, 200)


def _set_aside(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    """Keep a person's word that it is no problem, as a flag that is resolved with a reason."""
    bank_topic_for_editor(request.user, bank.pk, subject.topic.pk)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return Refusal({"reason": form})
    reason = form.cleaned_data["reason"]
    if isinstance(subject, APair):
        reason = reason_of_pair(str(subject.keep), reason)
    about, kind = _about(bank, subject), FLAG_KINDS[subject.kind]
    own = flags.open_flag(about, kind=kind, by=request.user)
    same = Flag.objects.about(bank, about.topic, about.item, about.passage).open().filter(kind=kind)
    for flag in same.select_related("bank__collection"):
        flags.resolve(flag, seen=flag.version, by=request.user, text=reason)
    _offer(request, "Set aside.", undo_at, deed="reopen", flag=own.pk)
    return None


def _reopen(request: HtmxRequest, bank: Bank, subject: Subject, undo_at: str) -> Refusal | None:
    """List a problem again that was set aside."""
    bank_topic_for_editor(request.user, bank.pk, subject.topic.pk)
    about = _about(bank, subject)
    flags_about = Flag.objects.about(bank, about.topic, about.item, about.passage)
    flag = (
        flags_about.filter(pk=parse_id(request.POST.get("flag"))).select_related("bank__collection").first()
    )
    if flag is None or flag.is_open:
        return Refusal({"refusal": "Nobody set it aside."})
    flag = flags.reopen(flag, seen=flag.version, by=request.user)
    flags.resolve(flag, seen=flag.version, by=request.user)
    return None


DEEDS: dict[str, Deed] = {
    "reword": _reword,
    "retire": _retire,
    "restore": _restore,
    "merge": _merge,
    "add": _add,
    "rewording": _rewording,
    "aside": _set_aside,
    "reopen": _reopen,
}


def _about(bank: Bank, subject: Subject) -> FlagSubject:
    """Return what a flag about the problem is about."""
    if isinstance(subject, APassage):
        return FlagSubject(bank, subject.topic, passage=subject.passage)
    return FlagSubject(bank, subject.topic, item=subject.item)


def _editable(request: HtmxRequest, bank: Bank, subject: Subject) -> Item:
    """Return the item to change: the subject's, or the one that the form of a passage names."""
    pk = parse_id(request.POST.get("item")) if isinstance(subject, APassage) else subject.item.pk
    return item_for_editor(request.user, bank.pk, pk)


def _offer(request: HtmxRequest, message: str, undo_at: str, **fields: object) -> None:
    offer_undo_on_page(request, message, undo_at, problem=request.POST["problem"], **fields)


def _kind(item: Item) -> str:
    return str(item.get_kind_display()).capitalize()
