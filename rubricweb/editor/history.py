"""The history of a bank: one time line of changes and versions; versions are named, compared, restored."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import roles
from rubricweb.banks.errors import BankError
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.banks.version_diff import difference
from rubricweb.banks.versions import bank_stamp, name_version, restore_version, versions
from rubricweb.core.http import HtmxRequest, after_post, form_response, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.editor import changes
from rubricweb.editor.figures import rating_graders
from rubricweb.editor.forms import FiguresForm, board_graders
from rubricweb.editor.history_forms import HistoryForm, VersionForm
from rubricweb.editor.version_boards import BoardDiff, board_diff
from rubricweb.grades.defaults import banks

PAGE = "editor/history.html"
NOW = "now"


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
        return after_post(request, f"{PAGE}#changes", fresh, to=history_url(bank))
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
    page = changes.history(bank, form.filters, before=form.seen)
    return _place(bank) | {"form": form, "page": page, "banks": banks(bank.collection)}


def _place(bank: Bank) -> dict[str, object]:
    return {"bank": bank, "collection": bank.collection}


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
