"""The webhooks of a collection: a section of its settings, in which a webhook and its messages open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, Max, Prefetch, Q, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.http import Context, HtmxRequest, form_response, shows_a_secret
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.webhooks import actions, deliveries, sending
from rubricweb.webhooks.models import ADDRESS_CHARS, CHOSEN, Delivery, DeliveryAttempt, Endpoint


def webhook_for(user: User, slug: str, webhook_id: int) -> Endpoint:
    """Return a webhook of the collection. Outsiders get 404, and those who do not organize it 403."""
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    endpoint: Endpoint = get_object_or_404(
        collection.webhooks.with_right().select_related("by"), pk=webhook_id
    )
    endpoint.collection = collection
    return endpoint


def delivery_for(user: User, slug: str, webhook_id: int, delivery_id: int) -> Delivery:
    endpoint = webhook_for(user, slug, webhook_id)
    row: Delivery = get_object_or_404(endpoint.deliveries.select_related("message"), pk=delivery_id)
    row.endpoint = endpoint
    return row


LISTED = 50
"""Deliveries on a page of the log."""

PAGE = "webhooks/webhooks.html"
ACTS: dict[str, tuple[Callable[..., object], str]] = {
    "test": (actions.send_test, "A test message is on its way. The log will show the answer."),
    "on": (actions.turn_on, "The webhook is on."),
    "off": (actions.turn_off, "The webhook is off. Nothing is sent to it."),
}


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One attempt as it went out and what came back."""

    attempt: DeliveryAttempt
    headers: Mapping[str, str]
    """The headers without the signature, which a secret of that time made."""


def _headers(delivery: Delivery, attempt: DeliveryAttempt) -> dict[str, str]:
    headers = deliveries.headers_of(delivery.message, delivery.endpoint, attempt.at)
    return {name: value for name, value in headers.items() if name != "webhook-signature"}


def check_address(text: str) -> None:
    """Raise ValidationError if messages cannot be sent to this address."""
    try:
        sending.target_of(text)
    except sending.BadAddress as error:
        raise ValidationError(str(error)) from error


class WebhookForm(forms.Form):
    address = forms.CharField(
        label="Address",
        max_length=ADDRESS_CHARS,
        help_text="Messages are sent there by POST, for example https://example.org/hook.",
        validators=[check_address],
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
    )
    events = forms.MultipleChoiceField(
        label="Send when",
        choices=CHOSEN,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    note = forms.CharField(label="What it is for", max_length=120, required=False, help_text="Optional.")

    @classmethod
    def of(cls, endpoint: Endpoint, submitted: Any = None) -> WebhookForm:
        """Return the form of an endpoint that there is."""
        current = {"address": endpoint.address, "events": endpoint.events, "note": endpoint.note}
        return cls(submitted, initial=current)

    @property
    def chosen(self) -> actions.WebhookFields:
        return actions.WebhookFields(**self.cleaned_data)


class ReplayForm(forms.Form):
    """Since when what failed is sent again."""

    since = forms.DateTimeField(
        label="Since (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )


@shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the list; after a POST, with the new webhook's secret, which is shown this once."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _new_form(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            added = actions.add_webhook(collection, form.chosen, by=request.user)
        except actions.TooMany as error:
            form.add_error(None, str(error))
        else:
            return _with_secret(request, collection, added.secret)
    return _page(request, collection, {"form": form, "new_form": form})


@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Show the list, with one webhook and its log open below its row; POST changes it."""
    endpoint = webhook_for(request.user, slug, webhook_id)
    form = WebhookForm.of(endpoint, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        actions.change_webhook(endpoint, form.chosen, by=request.user)
        messages.success(request, "Saved.")
        return redirect(endpoint)
    return _page(request, endpoint.collection, {"form": form} | _opened(request, endpoint, form))


@require_safe
def delivery(request: HtmxRequest, slug: str, webhook_id: int, delivery_id: int) -> HttpResponse:
    """Show the log with one message open below its row: its body, and each attempt to deliver it."""
    row = delivery_for(request.user, slug, webhook_id, delivery_id)
    context = _opened(request, row.endpoint, WebhookForm.of(row.endpoint))
    rows = row.log.order_by("-pk")
    context |= {
        "opened_message": row,
        "requests": [SentRequest(attempt, _headers(row, attempt)) for attempt in rows],
    }
    return _page(request, row.endpoint.collection, {"form": context["change_form"]} | context)


@shows_a_secret
@require_POST
def secret(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Replace the secret, and show the new one this once."""
    endpoint = webhook_for(request.user, slug, webhook_id)
    actions.rotate_secret(endpoint, by=request.user)
    opened = _opened(request, endpoint, WebhookForm.of(endpoint))
    return _with_secret(request, endpoint.collection, endpoint.secret, opened)


def _opened(request: HtmxRequest, endpoint: Endpoint, form: WebhookForm) -> dict[str, object]:
    state = request.GET.get("state", "")
    chosen = state if state in Delivery.State.values else ""
    rows = endpoint.deliveries.select_related("message").order_by("-message__at", "-pk")
    if chosen:
        rows = rows.filter(state=chosen)
    latest = Prefetch("log", DeliveryAttempt.objects.order_by("-pk"), to_attr="latest")
    page_of_log = Paginator(rows.prefetch_related(latest), LISTED).get_page(request.GET.get("page"))
    for delivery in page_of_log:
        delivery.endpoint = endpoint
    return {
        "opened": endpoint,
        "change_form": form,
        "log": page_of_log,
        "state": chosen,
        "replay": ReplayForm(initial={"since": endpoint.failing_since or endpoint.created_at}),
    }


def _new_form(submitted: QueryDict | None = None) -> WebhookForm:
    return WebhookForm(submitted, auto_id="new_%s")


def _with_secret(
    request: HtmxRequest, collection: Collection, text: str, context: Context | None = None
) -> HttpResponse:
    form = _new_form()
    response = _page(request, collection, {"form": form, "secret": text} | dict(context or {}))
    response["Cache-Control"] = "no-store"
    return response


def _page(request: HtmxRequest, collection: Collection, context: Context) -> HttpResponse:
    """Return the settings with this section open."""
    rows: QuerySet[Endpoint] = collection.webhooks.with_right().select_related("collection")
    page = {
        "collection": collection,
        "section": "Webhooks",
        "webhooks": rows.annotate(
            delivered=Count("deliveries", filter=Q(deliveries__state=Delivery.State.DONE)),
            failed=Count("deliveries", filter=Q(deliveries__state=Delivery.State.FAILED)),
            last_at=Max("deliveries__message__at"),
        ),
        "new_form": _new_form(),
    }
    return form_response(request, PAGE, page | dict(context), part="webhooks")


@require_POST
def remove(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Delete the webhook with its log."""
    endpoint = webhook_for(request.user, slug, webhook_id)
    actions.remove_webhook(endpoint, by=request.user)
    messages.success(request, "The webhook is removed.")
    return redirect("webhooks:webhooks", slug)


@require_POST
def act(request: HtmxRequest, slug: str, webhook_id: int, act: str) -> HttpResponse:
    """Send a test, or turn the webhook on or off."""
    endpoint = webhook_for(request.user, slug, webhook_id)
    if act not in ACTS:
        raise Http404(f"Use one of {', '.join(ACTS)}.")
    do, done = ACTS[act]
    try:
        do(endpoint, by=request.user)
    except actions.NotOn as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return redirect(endpoint)


@require_POST
def replay_failed(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    endpoint = webhook_for(request.user, slug, webhook_id)
    form = ReplayForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Give a date and a time.")
        return redirect(endpoint)
    since = form.cleaned_data["since"]
    _say_replayed(request, lambda: actions.replay_failed(endpoint, since=since, by=request.user))
    return redirect(endpoint)


@require_POST
def replay(request: HtmxRequest, slug: str, webhook_id: int, delivery_id: int) -> HttpResponse:
    row = delivery_for(request.user, slug, webhook_id, delivery_id)
    _say_replayed(request, lambda: actions.replay(row, by=request.user))
    return redirect("webhooks:delivery", slug, webhook_id, delivery_id)


def _say_replayed(request: HtmxRequest, do: Callable[[], int]) -> None:
    try:
        count = do()
    except actions.NotOn as error:
        messages.error(request, str(error))
        return
    messages.success(
        request, "1 message is sent again." if count == 1 else f"{count} messages are sent again."
    )
