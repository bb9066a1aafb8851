"""Keep items secret: one, or those that are ticked in the list of a topic."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_topic_for, item_for
from rubricweb.banks.errors import BankError
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.secret_items import choose_secrets, hide_item, show_item
from rubricweb.core.counted import counted
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, after_post, form_response
from rubricweb.corpus.models import Topic
from rubricweb.editor.item_forms import SeenForm
from rubricweb.editor.views.items import after_change, items_changed


class SecretItemsForm(forms.Form):
    """The items of a topic that are secret."""

    secret = forms.MultipleChoiceField(required=False)

    @property
    def chosen(self) -> set[int]:
        return {int(pk) for pk in self.cleaned_data["secret"]}


@require_http_methods(["GET", "HEAD", "POST"])
def secret_items(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """List the topic's items with a box each; POST makes the ticked ones secret and the others public."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_SEE_SECRETS)
    items = list(bank.items.active().for_topic(topic).select_related("revision"))
    form = SecretItemsForm(request.POST if request.method == "POST" else None)
    offer_choices(form, "secret", [(str(item.pk), str(item)) for item in items])
    if form.is_valid() and _chosen(request, form, items):
        here = reverse("editor:secret-items", args=[bank.pk, topic.pk])
        items = list(bank.items.active().for_topic(topic).select_related("revision"))
        context = _context(bank, topic, items, SecretItemsForm())
        return items_changed(after_post(request, "editor/secret_items.html#secrets", context, to=here))
    return form_response(
        request, "editor/secret_items.html", _context(bank, topic, items, form), part="secrets"
    )


def _chosen(request: HtmxRequest, form: SecretItemsForm, items: list[Item]) -> bool:
    """Return False if the bank refuses; the form then says why."""
    try:
        changed = choose_secrets(items, secret=form.chosen, by=request.user)
    except BankError as refusal:
        form.add_error(None, str(refusal))
        return False
    messages.success(
        request,
        gettext("Saved: %(items)s changed.") % {"items": counted(changed, "item")},
    )
    return True


def _context(bank: Bank, topic: Topic, items: list[Item], form: SecretItemsForm) -> dict[str, object]:
    return {
        "bank": bank,
        "topic": topic,
        "collection": bank.collection,
        "section": "topics",
        "items": items,
        "count": sum(item.is_secret for item in items),
        "form": form,
    }


@require_POST
def item_hide(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    return _changed(request, (bank_id, item_id), hide_item, "The item is secret now.")


@require_POST
def item_show(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    return _changed(request, (bank_id, item_id), show_item, "The item is public again.")


def _changed(
    request: HtmxRequest, place: tuple[int, int], change: Callable[..., Item], done: str
) -> HttpResponse:
    item, form = item_for(request.user, *place, needed=roles.TO_SEE_SECRETS), SeenForm(request.POST)
    try:
        change(item, seen=form.cleaned_data["seen"] if form.is_valid() else 0, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
        item.refresh_from_db()
    else:
        messages.success(request, done)
    return after_change(request, item)
