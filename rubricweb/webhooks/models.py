"""Webhooks: where organizers have events sent to, the messages, their deliveries, a log of each attempt."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils import timezone

from rubricweb.accounts.models import maker_still_may
from rubricweb.core.redaction import MessageField, ShortMessageField
from rubricweb.corpus.models import Collection
from rubricweb.jobs.models import LeasedWork

ADDRESS_CHARS = 500
SECRET_BYTES = 32
EXCERPT_CHARS = 1_000
"""Maximum characters of a reply in the log."""


def new_secret() -> str:
    """Return a key as Standard Webhooks writes it: `whsec_` and base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def new_uid() -> str:
    """Return a new id of a message: the header `webhook-id`."""
    return f"msg_{secrets.token_urlsafe(18)}"


class EventType(models.TextChoices):
    """What can be sent; `TEST` only when somebody asks for it."""

    JOB_ENDED = "job.ended", "a job ended"
    BOARD_MOVED = "board.moved", "a leaderboard moved"
    CAMPAIGN_DONE = "campaign.done", "a campaign is done"
    SUBMISSION_RECEIVED = "submission.received", "a submission was received"
    RELEASE_MADE = "release.made", "a release was made"
    TEST = "webhook.test", "a test"


CHOSEN = [(value, label) for value, label in EventType.choices if value != EventType.TEST]
"""What an endpoint may ask for."""


class Endpoints(models.QuerySet["Endpoint"]):
    def live(self) -> Endpoints:
        """Return those to which events are sent: they are on, and whoever has them on still organizes."""
        return self.filter(maker_still_may(), state=Endpoint.State.ON)

    def with_right(self) -> Endpoints:
        """Annotate each with `maker_may`."""
        own = Endpoint.objects.filter(maker_still_may(), pk=OuterRef("pk"))
        return self.annotate(maker_may=Exists(own))


class Endpoint(models.Model):
    """An address that gets a collection's events."""

    class State(models.TextChoices):
        ON = "on", "on"
        OFF = "off", "turned off"
        DISABLED = "disabled", "turned off after failures"

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="webhooks")
    address = models.CharField(max_length=ADDRESS_CHARS)
    events: models.JSONField[Any, Any] = models.JSONField(default=list)
    """Values of `EventType`."""
    note = models.CharField(max_length=120, blank=True)
    """What it is for, in its owners' words."""
    secret = models.CharField(max_length=80, default=new_secret, editable=False)
    """Readable, because each message is signed with it; pages show it once."""
    earlier_secret = models.CharField(max_length=80, blank=True, editable=False)
    earlier_until = models.DateTimeField(null=True, blank=True, editable=False)
    """Until then messages are signed with the earlier secret too."""
    state = models.CharField(max_length=20, choices=State, default=State.ON)
    failing_since = models.DateTimeField(null=True, blank=True)
    """When the first of the failures began that no success has followed."""
    failures = models.PositiveIntegerField(default=0)
    """Failures in a row, without a success between them."""
    rests_until = models.DateTimeField(null=True, blank=True)
    """Nothing is sent before: an address that does not answer would keep workers waiting."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    """Who added it, or has turned it on since: with whose right events are sent."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Endpoints.as_manager()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.note or self.address

    def get_absolute_url(self) -> str:
        return reverse("webhooks:webhook", args=[self.collection.slug, self.pk])

    @property
    def is_on(self) -> bool:
        """Return whether events are sent to it, as far as has been read: see `with_right`."""
        return self.state == self.State.ON and self.__dict__.get("maker_may", True)

    @property
    def secrets(self) -> list[str]:
        """Return the secrets with which a message is signed now."""
        is_valid = self.earlier_until is not None and timezone.now() < self.earlier_until
        return [self.secret, self.earlier_secret] if is_valid else [self.secret]


class Message(models.Model):
    """What is told of one event. It never changes, and is sent to each endpoint as it stands here."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="webhook_messages")
    uid = models.CharField(max_length=40, unique=True, default=new_uid)
    event = models.CharField(max_length=40, choices=EventType)
    body = models.TextField()
    """JSON, byte for byte what is signed."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.event} {self.uid}"


class Delivery(LeasedWork):
    """One message on its way to one endpoint."""

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="deliveries")
    tries = models.PositiveSmallIntegerField(default=0)
    """Failed ones since it was last asked for; `attempts` counts workers that took it and told no end."""
    not_before = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    error = MessageField(blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=("endpoint", "message"), name="message_once_an_endpoint"),
        )
        indexes = (
            models.Index(
                fields=("not_before",), condition=Q(state__in=("queued", "leased")), name="deliveries_to_come"
            ),
        )

    def __str__(self) -> str:
        return f"delivery {self.pk}"


class DeliveryAttempt(models.Model):
    """The log: what was answered when a message was sent, or why it was not."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField()
    """The time of the event, which is also the header `webhook-timestamp`."""
    seconds = models.FloatField()
    status = models.PositiveSmallIntegerField(null=True)
    """HTTP status; None without a reply."""
    answer = ShortMessageField(max_length=EXCERPT_CHARS, blank=True)
    """Its first characters."""
    error = ShortMessageField(max_length=EXCERPT_CHARS, blank=True)
    """Why it counts as failed; empty for a success."""

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.error or f"answered {self.status}"


class Announced(models.Model):
    """What was last told of something whose events follow from its state, such as a leaderboard."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=60)
    """"campaign 7"."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("collection", "subject"), name="announced_once_a_collection"),
        )

    def __str__(self) -> str:
        return self.subject
