"""Published boards, and how a watched board stood when a webhook was last told of it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse

from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.jobs.models import LeasedWork


class PublicBoard(models.Model):
    """A board that everybody with the link reads, until somebody closes it; then it is gone for good.

    A live one shows the board as it is when it is read, a frozen one what it was when it was published.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="public_boards")
    token = models.CharField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    query = models.TextField()
    """The board's controls, as the tail of an address."""
    is_anonymous = models.BooleanField(default=False)
    """Runs go by made-up names."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    frozen = models.JSONField(null=True, blank=True)
    """What a frozen board shows, as `documents.document_of` writes it; None for a live one."""
    at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("leaderboards:public", args=[self.token])

    @property
    def is_frozen(self) -> bool:
        return self.frozen is not None

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


class BoardWatch(LeasedWork):
    """The leaderboard of a bank, looked at again whenever something that it is computed from has changed."""

    bank = models.OneToOneField(Bank, on_delete=models.CASCADE, related_name="board_watch")
    stamp = models.CharField(max_length=64, blank=True)
    """The digest of all that the board is computed from, as of the last look."""
    standing: models.JSONField[Any, Any] = models.JSONField(null=True)
    """{run: [rank, score]} by primary keys of runs; None before it was ever looked at."""
    moved_at = models.DateTimeField(null=True)
    """When webhooks were last told."""

    def __str__(self) -> str:
        return f"the leaderboard of bank {self.bank_id}"
