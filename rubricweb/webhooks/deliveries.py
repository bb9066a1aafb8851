"""How one delivery is tried, and what follows from the reply."""

from __future__ import annotations

import datetime as dt
import logging
import time
from dataclasses import dataclass

from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone
from standardwebhooks import Webhook

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit, servers
from rubricweb.jobs import leases
from rubricweb.webhooks import sending
from rubricweb.webhooks.models import EXCERPT_CHARS, Delivery, DeliveryAttempt, Endpoint, Message

WAITS = tuple(
    dt.timedelta(seconds=seconds)
    for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""Between the tries of a delivery: those of the specification of Standard Webhooks, three days in all."""
DISABLED_AFTER = dt.timedelta(days=3)
"""An endpoint that failed so long without a success is turned off."""
SHORTEST_REST = dt.timedelta(seconds=5)
LONGEST_REST = dt.timedelta(minutes=5)
LONGEST_ASKED_REST = dt.timedelta(hours=1)
"""At most so long an endpoint can ask for no messages (`Retry-After`)."""
GONE = 410
"""The endpoint says by this that it wants no more."""


def mail_organizers(endpoint: Endpoint, why: str) -> None:
    """Mail the organizers who have an address, where the server has a mail server.

    What is not sent is logged only: the webhook's page and home say it anyway.
    """
    held = {"memberships__collection": endpoint.collection_id, "memberships__role": Role.ORGANIZER}
    recipients = User.objects.filter(is_active=True, **held).exclude(email="")
    mailed = sorted(set(recipients.values_list("email", flat=True)))
    if not mailed or not servers.is_set_up():
        return
    context = {"endpoint": endpoint, "collection": endpoint.collection, "why": why}
    text = render_to_string("webhooks/turned_off_mail.txt", context)
    subject = f"A webhook of {endpoint.collection} was turned off"
    for email in mailed:
        about = f"webhook {endpoint.pk}: a notice"
        servers.mail(email, subject, text, about=about)


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """What one try came to."""

    at: dt.datetime
    seconds: float
    answer: sending.HttpAnswer | None
    error: str
    """Empty for a success."""


def headers_of(message: Message, endpoint: Endpoint, at: dt.datetime) -> dict[str, str]:
    """Return the headers that Standard Webhooks asks for, signed with each valid secret of the endpoint."""
    signed = (Webhook(secret).sign(message.uid, at, message.body) for secret in endpoint.secrets)
    return {
        "Content-Type": "application/json",
        "webhook-id": message.uid,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signed),
    }


def deliver(lease: leases.Lease[Delivery]) -> None:
    """Try once. Raises LeaseLost where another worker has it meanwhile."""
    message = lease.work.message
    endpoint = lease.work.endpoint
    at, began, answer = timezone.now(), time.monotonic(), None
    try:
        target = sending.target_of(endpoint.address)
        answer = sending.post(target, headers_of(message, endpoint, at), message.body.encode())
        error = "" if answer.is_success else _refused(answer)
    except (sending.BadAddress, sending.AddressRefused, sending.NotAnswered) as failure:
        error = str(failure)
    outcome = DeliveryOutcome(at, time.monotonic() - began, answer, error[:EXCERPT_CHARS])
    _save(lease, outcome)
    result = outcome.error or "delivered"
    logger.info("delivery %d to webhook %d: %s", lease.work.pk, lease.work.endpoint_id, result)


def _refused(answer: sending.HttpAnswer) -> str:
    redirected = " Redirects are not followed." if 300 <= answer.status < 400 else ""
    return f"Answered with status {answer.status}.{redirected}"


@transaction.atomic
def _save(lease: leases.Lease[Delivery], outcome: DeliveryOutcome) -> None:
    endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=lease.work.endpoint_id)
    answer = outcome.answer
    DeliveryAttempt.objects.create(
        delivery=lease.work,
        at=outcome.at,
        seconds=outcome.seconds,
        status=answer.status if answer else None,
        answer=answer.excerpt if answer else "",
        error=outcome.error,
    )
    if outcome.error:
        endpoint.failing_since = endpoint.failing_since or outcome.at
        endpoint.failures += 1
        endpoint.rests_until = timezone.now() + _rest(endpoint.failures, outcome.answer)
        _try_again(lease, endpoint, outcome)
    else:
        endpoint.failing_since, endpoint.failures, endpoint.rests_until = None, 0, None
        leases.finish(lease, error="")
    endpoint.save(update_fields=["failing_since", "failures", "rests_until", "state"])


def _rest(failures: int, answer: sending.HttpAnswer | None) -> dt.timedelta:
    requested = answer.retry_after if answer else ""
    if requested.isdecimal() and len(requested) < 10:
        return min(dt.timedelta(seconds=int(requested)), LONGEST_ASKED_REST)
    doublings = min(failures - 1, 10)
    return min(SHORTEST_REST * (1 << doublings), LONGEST_REST)


def _try_again(lease: leases.Lease[Delivery], endpoint: Endpoint, outcome: DeliveryOutcome) -> None:
    """Schedule another try; or give up, and turn the endpoint off if it is gone or failed for days."""
    tries = lease.work.tries + 1
    is_gone = outcome.answer is not None and outcome.answer.status == GONE
    if tries <= len(WAITS) and not is_gone:
        not_before = timezone.now() + WAITS[tries - 1]
        leases.postpone(lease, tries=tries, not_before=not_before, error=outcome.error)
        return
    leases.fail(lease, error=outcome.error, tries=tries)
    since = endpoint.failing_since or outcome.at
    if is_gone or outcome.at - since >= DISABLED_AFTER:
        _disable(endpoint, outcome.error)


def _disable(endpoint: Endpoint, why: str) -> None:
    if not endpoint.is_on:
        return
    endpoint.state = Endpoint.State.DISABLED
    audit.record("webhook turned off after failures", endpoint, by=None, detail=f"{endpoint}: {why}")
    transaction.on_commit(lambda: mail_organizers(endpoint, why))
