"""The items of a whole bank, to keep many of them secret at once or to make them public again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_for
from rubricweb.banks.errors import BankError
from rubricweb.banks.models import Bank
from rubricweb.banks.querysets import ItemQuerySet
from rubricweb.banks.secret_items import hide_items, show_items
from rubricweb.core.counted import counted
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, page_or_part

PAGE_ITEMS = 100
CHANGES = {"hide": (hide_items, "secret"), "show": (show_items, "public")}


class SecretsFilterForm(forms.Form):
    """Which items of the bank are listed."""

    q = forms.CharField(
        label=gettext_lazy("Item or topic contains"),
        required=False,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    state = forms.ChoiceField(
        label=gettext_lazy("Listed"),
        required=False,
        choices=[
            ("", gettext_lazy("all items")),
            ("secret", gettext_lazy("secret items")),
            ("public", gettext_lazy("public items")),
        ],
    )

    def listed(self, bank: Bank) -> ItemQuerySet:
        """The items that the form asks for, topic by topic; values that cannot be read are ignored."""
        self.is_valid()
        words, state = self.cleaned_data.get("q", ""), self.cleaned_data.get("state", "")
        items: ItemQuerySet = bank.items.active().select_related("revision", "topic")
        if words:
            in_topic = Q(topic__query_id__icontains=words) | Q(topic__text__icontains=words)
            items = items.filter(in_topic | Q(revision__text__icontains=words))
        if state:
            items = items.filter(revision__is_secret=state == "secret")
        return items.order_by("topic__position", "topic", "position", "pk")


class MarkForm(forms.Form):
    """Items to change: those that are ticked, or all that are listed."""

    item = forms.TypedMultipleChoiceField(coerce=int, required=False)
    every = forms.BooleanField(required=False)
    change = forms.ChoiceField(choices=[(name, name) for name in CHANGES])

    def __init__(self, sent: Mapping[str, Any], listed: ItemQuerySet) -> None:
        super().__init__(sent)
        self.listed = listed
        offer_choices(self, "item", [(pk, str(pk)) for pk in listed.values_list("pk", flat=True)])

    @property
    def chosen(self) -> ItemQuerySet:
        if self.cleaned_data["every"]:
            return self.listed
        return self.listed.filter(pk__in=self.cleaned_data["item"])


@require_http_methods(["GET", "HEAD", "POST"])
def bank_secrets(request: HtmxRequest, bank_id: int) -> HttpResponse:
    bank = bank_for(request.user, bank_id, needed=roles.TO_SEE_SECRETS)
    filters = SecretsFilterForm(request.GET)
    listed = filters.listed(bank)
    if request.method == "POST":
        _mark(request, MarkForm(request.POST, listed))
        return redirect(request.get_full_path())
    context = {
        "bank": bank,
        "collection": bank.collection,
        "section": "topics",
        "filters": filters,
        "page": Paginator(listed, PAGE_ITEMS).get_page(request.GET.get("page")),
        "secret": bank.items.active().filter(revision__is_secret=True).count(),
    }
    return page_or_part(request, "editor/bank_secrets.html", context, part="secrets")


def _mark(request: HtmxRequest, form: MarkForm) -> None:
    if not form.is_valid():
        messages.error(
            request, gettext("Nothing was changed: some of these items are no longer listed. Select again.")
        )
        return
    change, state = CHANGES[form.cleaned_data["change"]]
    try:
        changed = change(form.chosen, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(
            request,
            gettext("%(items)s made %(state)s.") % {"items": counted(changed, "item"), "state": state},
        )
