"""The webhooks of a collection: list, form, secret and log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.http import HtmxRequest, form_response, page_or_part, shows_a_secret
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.webhooks import access, actions, selectors
from rubricweb.webhooks.forms import ReplayForm, WebhookForm
from rubricweb.webhooks.models import Delivery, Endpoint

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

LIST = "webhooks/webhooks.html"
PAGE = "webhooks/webhook.html"
ACTS: dict[str, tuple[Callable[..., object], StrPromise]] = {
    "test": (actions.send_test, gettext_lazy("A test is on its way. The log shows what is answered.")),
    "on": (actions.turn_on, gettext_lazy("The webhook is on.")),
    "off": (actions.turn_off, gettext_lazy("The webhook is off. Nothing is sent to it.")),
}


@shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HtmxRequest, slug: str) -> HttpResponse:
    """The list; after a POST, with the new webhook's secret, which is shown this once."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form, added = WebhookForm(request.POST if request.method == "POST" else None), None
    if form.is_bound and form.is_valid():
        added = _added(form, collection, request.user)
        form = WebhookForm() if added else form
    context = _place(collection) | {"form": form, "added": added}
    context["webhooks"] = selectors.webhooks(collection)
    return _unkept(form_response(request, LIST, context, part="webhooks"), is_secret=bool(added))


def _added(form: WebhookForm, collection: Collection, by: User) -> Endpoint | None:
    try:
        return actions.add_webhook(collection, form.wanted, by=by)
    except actions.TooMany as error:
        form.add_error(None, str(error))
        return None


@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    """One webhook with its log; POST changes it."""
    endpoint = access.webhook_for(request.user, slug, webhook_id)
    form = WebhookForm.of(endpoint, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        actions.change_webhook(endpoint, form.wanted, by=request.user)
        messages.success(request, gettext("Saved."))
        return redirect(endpoint)
    return form_response(request, PAGE, _context(endpoint, request, form), part="webhook")


def _context(endpoint: Endpoint, request: HtmxRequest, form: WebhookForm) -> dict[str, object]:
    state = request.GET.get("state", "")
    known = state if state in Delivery.State.values else ""
    log = selectors.log_of(endpoint, state=known, page=request.GET.get("page"))
    start = {"since": endpoint.failing_since or endpoint.created_at}
    shown = {
        "webhook": endpoint,
        "form": form,
        "log": log,
        "state": known,
        "replay": ReplayForm(initial=start),
    }
    return _place(endpoint.collection) | shown


@shows_a_secret
@require_POST
def secret(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Replace the secret, and show the new one this once."""
    endpoint = access.webhook_for(request.user, slug, webhook_id)
    actions.rotate_secret(endpoint, by=request.user)
    context = _context(endpoint, request, WebhookForm.of(endpoint)) | {"secret": endpoint.secret}
    return _unkept(page_or_part(request, PAGE, context, part="webhook"), is_secret=True)


@require_POST
def remove(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Delete the webhook with its log."""
    endpoint = access.webhook_for(request.user, slug, webhook_id)
    actions.remove_webhook(endpoint, by=request.user)
    messages.success(request, gettext("The webhook is removed."))
    return redirect("webhooks:webhooks", slug)


@require_POST
def act(request: HtmxRequest, slug: str, webhook_id: int, act: str) -> HttpResponse:
    """Send a test, or turn the webhook on or off."""
    endpoint = access.webhook_for(request.user, slug, webhook_id)
    if act not in ACTS:
        raise Http404(f"Use one of {', '.join(ACTS)}.")
    do, words = ACTS[act]
    try:
        do(endpoint, by=request.user)
    except actions.NotOn as error:
        messages.error(request, str(error))
    else:
        messages.success(request, str(words))
    return redirect(endpoint)


@require_POST
def replay_failed(request: HtmxRequest, slug: str, webhook_id: int) -> HttpResponse:
    endpoint = access.webhook_for(request.user, slug, webhook_id)
    form = ReplayForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("Give a date and a time."))
        return redirect(endpoint)
    since = form.cleaned_data["since"]
    _say_replayed(request, lambda: actions.replay_failed(endpoint, since=since, by=request.user))
    return redirect(endpoint)


@require_safe
def delivery(request: HtmxRequest, slug: str, webhook_id: int, delivery_id: int) -> HttpResponse:
    """One message: its body, and each attempt to deliver it."""
    row = access.delivery_for(request.user, slug, webhook_id, delivery_id)
    context = _place(row.endpoint.collection) | {"webhook": row.endpoint, "delivery": row}
    context["requests"] = selectors.requests_of(row)
    return page_or_part(request, "webhooks/message.html", context, part="message")


@require_POST
def replay(request: HtmxRequest, slug: str, webhook_id: int, delivery_id: int) -> HttpResponse:
    row = access.delivery_for(request.user, slug, webhook_id, delivery_id)
    _say_replayed(request, lambda: actions.replay(row, by=request.user))
    return redirect("webhooks:delivery", slug, webhook_id, delivery_id)


def _say_replayed(request: HtmxRequest, do: Callable[[], int]) -> None:
    try:
        count = do()
    except actions.NotOn as error:
        messages.error(request, str(error))
        return
    words = ngettext("%(count)d message is sent again.", "%(count)d messages are sent again.", count)
    messages.success(request, words % {"count": count})


def _unkept(response: HttpResponse, *, is_secret: bool) -> HttpResponse:
    if is_secret:
        response.status_code = 200
        response["Cache-Control"] = "no-store"
    return response


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "section": "settings"}
