"""A published board: an address, and which board it shows."""

from django.conf import settings
from django.db import models
from django.urls import reverse

from rubricweb.corpus.models import Collection


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
