"""Versions of a bank: name, compare, restore."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_for
from rubricweb.banks.errors import BankError
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.banks.version_diff import difference
from rubricweb.banks.versions import bank_stamp, name_version, restore_version, versions
from rubricweb.core.http import HtmxRequest, after_post, form_response, page_or_part
from rubricweb.core.ids import parse_id
from rubricweb.editor.figures import rating_graders
from rubricweb.editor.forms import FiguresForm, board_graders
from rubricweb.editor.ledger_forms import VersionForm
from rubricweb.editor.version_boards import BoardDiff, board_diff

NOW = "now"


@require_http_methods(["GET", "HEAD", "POST"])
def bank_versions(request: HtmxRequest, bank_id: int) -> HttpResponse:
    """List the versions; POST names the bank's present state."""
    is_change = request.method == "POST"
    bank = bank_for(request.user, bank_id, needed=roles.TO_EDIT_BANK if is_change else roles.TO_VIEW)
    form = VersionForm(request.POST if is_change else None, auto_id="version-%s")
    if form.is_valid() and _named(request, bank, form):
        to = reverse("editor:versions", args=[bank.pk])
        fresh = _place(bank) | {"form": VersionForm(auto_id="version-%s"), "versions": versions(bank)}
        return after_post(request, "editor/versions.html#list", fresh, to=to)
    context = _place(bank) | {"form": form, "versions": versions(bank)}
    return form_response(request, "editor/versions.html", context, part="list")


def _place(bank: Bank) -> dict[str, object]:
    return {"bank": bank, "collection": bank.collection, "section": "topics"}


def _named(request: HtmxRequest, bank: Bank, form: VersionForm) -> bool:
    """Return False if the bank refuses; the form then says why."""
    cleaned = form.cleaned_data
    try:
        version = name_version(bank, name=cleaned["name"], note=cleaned["note"], by=request.user)
    except BankError as refusal:
        form.add_error("name", str(refusal))
        return False
    messages.success(request, gettext("Version %(number)s named.") % {"number": version.number})
    return True


@require_safe
def version_diff(request: HtmxRequest, bank_id: int) -> HttpResponse:
    """`?before=1&after=now` compares two versions, or a version and the bank as it is now."""
    bank = bank_for(request.user, bank_id)
    before = _version(bank, request.GET.get("before", ""))
    after = _version(bank, request.GET.get("after", NOW))
    return page_or_part(
        request, "editor/version_diff.html", _compared(request, bank, before, after), part="diff"
    )


def _version(bank: Bank, number: str) -> BankVersion | None:
    """None for the bank as it is now."""
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
    return _place(bank) | {
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
def version_restore(request: HtmxRequest, bank_id: int, number: int) -> HttpResponse:
    """Restore a version: all of it, or nothing on a conflict."""
    bank = bank_for(request.user, bank_id, needed=roles.TO_EDIT_BANK)
    version = get_object_or_404(bank.versions, number=number)
    try:
        changed = restore_version(version, seen=request.POST.get("seen", ""), by=request.user)
    except BankError as refusal:
        context = _compared(request, bank, version, None) | {"refusal": refusal, "form": None}
        return form_response(request, "editor/version_diff.html", context, part="diff", status=409)
    items = "1 item" if changed == 1 else f"{changed} items"
    messages.success(
        request,
        gettext("Restored version %(number)s: %(items)s changed.")
        % {"number": version.number, "items": items},
    )
    to = reverse("editor:versions", args=[bank.pk])
    context = _compared(request, bank, version, None)
    return after_post(request, "editor/version_diff.html#diff", context, to=to)
