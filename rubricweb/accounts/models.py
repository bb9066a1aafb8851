"""People, and their roles in collections."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from rubricweb.accounts.roles import Role

TEAM_CHARS = 100


class User(AbstractUser):
    """A person who signs in."""

    class Density(models.TextChoices):
        COMPACT = "compact", gettext_lazy("compact: more rows on a screen")
        ROOMY = "roomy", gettext_lazy("roomy: larger type and controls")

    key_map = models.JSONField(default=dict, blank=True)
    """By action: this person's key, if it is not the default (`accounts.keys`)."""
    density = models.CharField(max_length=10, choices=Density, default=Density.COMPACT)

    def __str__(self) -> str:
        return self.get_full_name() or self.username


class Membership(models.Model):
    """A person's role in one collection."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    collection = models.ForeignKey("corpus.Collection", on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role)
    team = models.CharField(max_length=TEAM_CHARS, blank=True)
    """Whose runs a participant hands in; empty for everybody else."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "collection"), name="one_role_per_member"),
            models.CheckConstraint(
                condition=(models.Q(role=Role.PARTICIPANT) & ~models.Q(team=""))
                | (~models.Q(role=Role.PARTICIPANT) & models.Q(team="")),
                name="participants_have_a_team",
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} as {self.get_role_display()}"


class Invitation(models.Model):
    """A link with which people join a collection. Only a digest of its token is stored."""

    collection = models.ForeignKey("corpus.Collection", on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=20, choices=Role)
    team = models.CharField(max_length=TEAM_CHARS, blank=True)
    token_digest = models.CharField(max_length=64, unique=True)
    """SHA-256 of the token, in hexadecimal: the token has 256 random bits, so that no salt is needed."""
    by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    max_uses = models.PositiveIntegerField()
    uses = models.PositiveIntegerField(default=0)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(condition=Q(uses__lte=F("max_uses")), name="invitation_used_within_limit"),
            models.CheckConstraint(
                condition=(Q(role=Role.PARTICIPANT) & ~Q(team="")) | (~Q(role=Role.PARTICIPANT) & Q(team="")),
                name="participants_are_invited_to_a_team",
            ),
        )

    def __str__(self) -> str:
        return f"invitation {self.pk} as {self.get_role_display()}"

    @property
    def is_open(self) -> bool:
        return self.revoked_at is None and self.uses < self.max_uses and timezone.now() < self.expires_at
