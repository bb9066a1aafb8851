"""People, and their roles in collections."""

from django.contrib.auth.models import AbstractUser
from django.db import models

from rubricweb.accounts.roles import Role

TEAM_CHARS = 100


class User(AbstractUser):
    """A person who signs in."""

    key_map = models.JSONField(default=dict, blank=True)
    """By action: this person's key, if it is not the default (`accounts.keys`)."""

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
