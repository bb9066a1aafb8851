"""Tokens with which scripts sign in, and answers kept for requests that are sent twice."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from rubricweb.corpus.models import Collection

KEY_CHARS = 200


class Token(models.Model):
    """A secret with which a script acts as a person; only its digest is stored."""

    class Scope(models.TextChoices):
        """What a token may do, within what its owner's role allows."""

        READ = "read", "read everything that I can read"
        ASSESS = "assess", "rate passages"
        EDIT = "edit", "change questions and nuggets"
        GRADE = "grade", "start and steer grading jobs"
        SUBMIT = "submit", "submit files and withdraw them"
        ORGANIZE = "organize", "import, release, open campaigns, and manage members"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    """What it is for, in its owner's words."""
    prefix = models.CharField(max_length=16, unique=True)
    """The part that is shown in lists, by which a sent token is found."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the secret, in hexadecimal: the secret has 256 random bits, so that no salt is needed."""
    scopes = models.JSONField(default=list)
    collection = models.ForeignKey(
        Collection, null=True, blank=True, on_delete=models.CASCADE, related_name="tokens"
    )
    """The only collection that it opens; None for all of its owner's."""
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    """To within `tokens.NOTED_EVERY`."""
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.name} (rw_{self.prefix}_…)"

    @property
    def is_open(self) -> bool:
        return self.revoked_at is None and timezone.now() < self.expires_at


class KeptAnswer(models.Model):
    """The answer to a write that named an Idempotency-Key: sent again, it is answered alike, and not done."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_CHARS)
    request_digest = models.CharField(max_length=64)
    """SHA-256 of method, path and body, so that a key is not used for two different requests."""
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    body = models.JSONField(null=True)
    at = models.DateTimeField(auto_now_add=True)
    role = models.CharField(max_length=20, blank=True, db_default="")
    """The person's in the collection of the request: with less, the answer is not given again."""
    lease_until = models.DateTimeField(null=True)
    """Until then a request without an answer counts as being worked on; then another may take its key."""
    begun = models.PositiveBigIntegerField(null=True)
    """Key of a row that the request has made and not finished."""
    made = models.PositiveBigIntegerField(null=True)
    """Key of the row that the request made, saved with that row: it is not made again."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "key"), name="key_once_a_person"),)

    def __str__(self) -> str:
        return f"answer {self.status} to {self.key}"
