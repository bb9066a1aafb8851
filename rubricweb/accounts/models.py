"""People, and their roles in collections."""

from django.contrib.auth.models import AbstractUser
from django.db import models

from rubricweb.accounts.roles import Role


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

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "collection"), name="one_role_per_member"),)

    def __str__(self) -> str:
        return f"{self.user} as {self.get_role_display()}"
