"""How a leaderboard stood when a webhook was last told of it."""

from __future__ import annotations

from typing import Any

from django.db import models

from rubricweb.banks.models import Bank
from rubricweb.jobs.models import LeasedWork


class BoardWatch(LeasedWork):
    """The leaderboard of a bank, looked at again whenever something that it is computed from has changed."""

    bank = models.OneToOneField(Bank, on_delete=models.CASCADE, related_name="board_watch")
    stamp = models.CharField(max_length=64, blank=True)
    """Of all that the board is computed from, as it was when it was last looked at."""
    standing: models.JSONField[Any, Any] = models.JSONField(null=True)
    """{run: [rank, score]} by primary keys of runs; None before it was ever looked at."""
    moved_at = models.DateTimeField(null=True)
    """When webhooks were last told."""

    def __str__(self) -> str:
        return f"the leaderboard of bank {self.bank_id}"
