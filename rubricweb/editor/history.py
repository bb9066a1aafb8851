"""The history of a bank: one time line of changes and versions; versions are named, compared and restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from heapq import merge
from operator import attrgetter
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.text import capfirst
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.actions import MOVED
from rubricweb.banks.changes import BankError
from rubricweb.banks.models import Bank, BankVersion, Item, ItemChange, ItemRevision
from rubricweb.banks.versions import (
    NAME_CHARS,
    bank_stamp,
    difference,
    name_version,
    restore_version,
    versions,
)
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import HtmxRequest, form_response, parse_id, part_or_redirect
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.access import collection_for
from rubricweb.editor.forms import FiguresForm, board_graders, rating_graders
from rubricweb.editor.what_if import BoardDiff, board_diff
from rubricweb.grades.selectors import banks

PAGE_ROWS = 50
MOVE = ("moved", "moved")
NAMED = ("named", "Version named")
"""A move is no version of its item, so that it is in nobody's way; the audit trail has it."""
PAGE = "editor/history.html"
NOW = "now"


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the time line; None shows all."""

    by: int | None = None
    verb: str | None = None
    topic: int | None = None


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A row of the time line, with the names of an ItemChange."""

    at: datetime
    by: User | None
    item: Item
    detail: str
    pk: int
    verb = MOVE[0]
    get_verb_display = MOVE[1]
    source = None

    @property
    def revision(self) -> ItemRevision:
        return self.item.revision


@dataclass(frozen=True, slots=True)
class Seen:
    """The last rows of the page before, by their keys; None where it had none."""

    change: int | None = None
    move: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    changes: list[ItemChange | TimelineRow | BankVersion]
    before: Seen | None
    """The parameter of the next, older page; None on the last."""


def history_page(bank: Bank, filters: Filters, *, before: Seen | None = None) -> HistoryPage:
    """Return the rows that are older than `before`."""
    seen = before or Seen()
    parts: tuple[list[ItemChange], list[TimelineRow]] = (
        _changes(bank, filters, seen),
        _moves(bank, filters, seen),
    )
    rows: list[ItemChange | TimelineRow] = list(merge(*parts, key=attrgetter("at"), reverse=True))
    page = rows[:PAGE_ROWS]
    last = Seen(
        min((row.pk for row in page if isinstance(row, ItemChange)), default=seen.change),
        min((row.pk for row in page if isinstance(row, TimelineRow)), default=seen.move),
    )
    is_last = len(rows) <= PAGE_ROWS
    since = None if is_last else page[-1].at
    named = _versions(bank, filters, since=since, until=_at(before))
    merged: list[ItemChange | TimelineRow | BankVersion] = list(
        merge(page, named, key=attrgetter("at"), reverse=True)
    )
    return HistoryPage(merged, None if is_last else last)


def _at(seen: Seen | None) -> datetime | None:
    """Return when the last row of the page before happened; None on the first page."""
    if seen is None:
        return None
    change = ItemChange.objects.filter(pk=seen.change or 0).values_list("at", flat=True)
    move = AuditEntry.objects.filter(pk=seen.move or 0).values_list("at", flat=True)
    return min([*change, *move], default=None)


def _versions(
    bank: Bank, filters: Filters, *, since: datetime | None, until: datetime | None
) -> list[BankVersion]:
    """Return the versions that were named after `since` and not after `until`, newest first."""
    if filters.topic or filters.verb not in (None, NAMED[0]):
        return []
    rows = versions(bank).filter(**_chosen({"by": filters.by, "at__gt": since, "at__lte": until}))
    return list(rows.order_by("-at", "-pk"))


def _changes(bank: Bank, filters: Filters, seen: Seen) -> list[ItemChange]:
    """Return the changes of a page and one more, newest first."""
    if filters.verb == NAMED[0]:
        return []
    conditions = {"by": filters.by, "verb": filters.verb, "item__topic": filters.topic, "pk__lt": seen.change}
    rows = ItemChange.objects.filter(item__bank=bank, **_chosen(conditions))
    rows = rows.select_related("item__topic", "revision", "by", "source__passage").order_by("-pk")
    return list(rows[: PAGE_ROWS + 1])


def _moves(bank: Bank, filters: Filters, seen: Seen) -> list[TimelineRow]:
    """Return the moves of a page and one more, newest first, of items that the reader may see."""
    if filters.verb not in (None, MOVE[0]):
        return []
    items = bank.items.filter(**_chosen({"topic": filters.topic}))
    entries = _moves_of(items).filter(**_chosen({"by": filters.by, "pk__lt": seen.move}))
    newest = list(entries.select_related("by").order_by("-pk")[: PAGE_ROWS + 1])
    moved = items.select_related("topic", "revision").in_bulk({entry.object_id for entry in newest})
    return [
        TimelineRow(entry.at, entry.by, moved[entry.object_id], entry.detail, entry.pk)
        for entry in newest
        if entry.object_id in moved
    ]


def _moves_of(items: QuerySet[Item]) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(kind="item", verb=MOVED, object_id__in=items.order_by().values("pk"))


def _chosen(conditions: Mapping[str, object]) -> dict[str, object]:
    """Return the conditions that limit anything."""
    return {name: value for name, value in conditions.items() if value}


def authors(bank: Bank) -> QuerySet[User]:
    """Return everybody who changed or moved an item of the bank."""
    changed = ItemChange.objects.filter(item__bank=bank).order_by().values("by")
    moved = _moves_of(bank.items.all()).order_by().values("by")
    return (User.objects.filter(pk__in=changed) | User.objects.filter(pk__in=moved)).order_by("username")


class HistoryForm(ChipForm):
    """A value that cannot be read is ignored."""

    in_toolbar = ("by", "verb", "topic")
    outdated = ("before", "before_move")

    by = forms.TypedChoiceField(
        label="Person",
        coerce=int,
        empty_value=None,
        required=False,
    )
    verb = forms.ChoiceField(
        label="What happened",
        required=False,
        choices=[
            ("", "anything"),
            *((verb.value, capfirst(verb.label)) for verb in ItemChange.Verb),
            (MOVE[0], capfirst(MOVE[1])),
            NAMED,
        ],
    )
    topic = forms.TypedChoiceField(
        label="Topic",
        coerce=int,
        empty_value=None,
        required=False,
    )
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)
    before_move = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, address: QueryDict, bank: Bank) -> None:
        self.address = address
        super().__init__(address, auto_id="history-%s")
        choices = [(person.pk, str(person)) for person in authors(bank)]
        offer_choices(self, "by", [("", "anybody"), *choices])
        topics = bank.collection.topics.values_list("pk", "query_id")
        offer_choices(self, "topic", [("", "all"), *topics])
        self.is_valid()

    @property
    def filters(self) -> Filters:
        cleaned = self.cleaned_data
        return Filters(cleaned.get("by"), cleaned.get("verb") or None, cleaned.get("topic"))

    @property
    def seen(self) -> Seen | None:
        """Return the last rows of the page before; None on the newest page."""
        change, move = self.cleaned_data.get("before"), self.cleaned_data.get("before_move")
        return Seen(change, move) if change or move else None


class VersionForm(forms.Form):
    """A name for the bank's present state."""

    name = forms.CharField(
        label="Name", max_length=NAME_CHARS, error_messages={"required": "Give it a name."}
    )
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Its purpose: a notebook paper, a run submission, a pilot.",
    )


def history_url(bank: Bank) -> str:
    return f"{reverse('editor:history', args=[bank.collection.slug])}?{urlencode({'bank': bank.pk})}"


def _bank(request: HtmxRequest, slug: str, *, needed: roles.Role = roles.TO_VIEW) -> Bank:
    """Return the bank of the address, or the collection's first one."""
    collection = collection_for(request.user, slug, needed=needed)
    listed = banks(collection)
    named = parse_id(request.GET.get("bank", ""))
    bank = next((bank for bank in listed if bank.pk == named), None)
    if bank is None and (named or not listed):
        raise Http404("No such rubric.")
    return bank or listed[0]


@require_http_methods(["GET", "HEAD", "POST"])
def history(request: HtmxRequest, slug: str) -> HttpResponse:
    """List changes and versions, newest first; POST names the bank's present state as a version.

    `?of=1` compares that version with the bank as it is now, `?of=1&with=2` with another one.
    """
    is_change = request.method == "POST"
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK if is_change else roles.TO_VIEW)
    if not collection.banks.exists():
        return redirect(collection)
    bank = _bank(request, slug)
    naming = VersionForm(request.POST if is_change else None, auto_id="version-%s")
    if naming.is_valid() and _named(request, bank, naming):
        fresh = _listed(request, bank) | {"naming": VersionForm(auto_id="version-%s")}
        return part_or_redirect(request, f"{PAGE}#changes", fresh, to=history_url(bank))
    context = _listed(request, bank) | {"naming": naming}
    if "of" in request.GET:
        sides = (_version(bank, request.GET["of"]), _version(bank, request.GET.get("with", NOW)))
        context |= {
            "compared": partial(_compared, request, bank, *sides),
            "opened": sides[0] and sides[0].number,
        }
    status = 422 if naming.is_bound else 200
    return form_response(request, PAGE, context, part="changes", status=status)


def _listed(request: HtmxRequest, bank: Bank) -> dict[str, object]:
    form = HistoryForm(request.GET, bank)
    page = history_page(bank, form.filters, before=form.seen)
    return {"bank": bank, "collection": bank.collection} | {
        "form": form,
        "page": page,
        "banks": banks(bank.collection),
    }


def _named(request: HtmxRequest, bank: Bank, form: VersionForm) -> bool:
    """Return False if the bank refuses; the form then says why."""
    cleaned = form.cleaned_data
    try:
        version = name_version(bank, name=cleaned["name"], note=cleaned["note"], by=request.user)
    except BankError as refusal:
        form.add_error("name", str(refusal))
        return False
    messages.success(request, f"Version {version.number} named.")
    return True


def _version(bank: Bank, number: str) -> BankVersion | None:
    """Return None for the bank as it is now."""
    if number == NOW:
        return None
    version: BankVersion = get_object_or_404(bank.versions, number=parse_id(number))
    return version


def _compared(
    request: HtmxRequest, bank: Bank, before: BankVersion | None, after: BankVersion | None
) -> dict[str, object]:
    figures = FiguresForm(request.GET, rating_graders(bank))
    boards: list[BoardDiff] = [
        board_diff(bank, (before, after), config, figures.measure_by(config))
        for config in board_graders(figures, bank.collection)
    ]
    topics = difference(bank, before, after)
    return {
        "before": before,
        "after": after,
        "versions": versions(bank),
        "figures": figures,
        "topics": topics,
        "changes": sum(len(topic.items) for topic in topics),
        "boards": boards,
        "stamp": bank_stamp(bank),
    }


@require_POST
def version_restore(request: HtmxRequest, slug: str, number: int) -> HttpResponse:
    """Restore a version: all of it, or nothing on a conflict."""
    bank = _bank(request, slug, needed=roles.TO_EDIT_BANK)
    version = get_object_or_404(bank.versions, number=number)
    try:
        changed = restore_version(version, seen=request.POST.get("seen", ""), by=request.user)
    except BankError as refusal:
        context = _listed(request, bank) | {"naming": VersionForm(auto_id="version-%s"), "opened": number}
        context["compared"] = _compared(request, bank, version, None) | {"refusal": refusal}
        return form_response(request, PAGE, context, part="changes", status=409)
    items = "1 item" if changed == 1 else f"{changed} items"
    messages.success(request, f"Restored version {version.number}: {items} changed.")
    return redirect(history_url(bank))
