"""People, and their roles in collections."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from rubricweb.accounts.roles import TO_ORGANIZE, Role, roles_with

TEAM_CHARS = 100


class User(AbstractUser):
    """A person who signs in."""

    class Density(models.TextChoices):
        COMPACT = "compact", "compact: more rows on a screen"
        ROOMY = "roomy", "roomy: larger type and controls"

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
    """The team for which a participant submits runs; empty for everybody else."""

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


def maker_still_may(by: str = "by", collection: str = "collection") -> Q:
    """Return the condition that the account in the column `by` is open and organizes the row's collection.

    What lets somebody in is used with the right of whoever made it: filter by this when it is used, not only
    when it is made. A row by nobody was made by a command of the server, whose right does not end.
    """
    held = Membership.objects.filter(
        user=OuterRef(by), collection=OuterRef(collection), role__in=roles_with(TO_ORGANIZE)
    )
    may = Q(**{f"{by}__is_superuser": True}) | Q(Exists(held))
    return Q(**{by: None}) | (Q(**{f"{by}__is_active": True}) & may)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def usable(self) -> InvitationQuerySet:
        """Return the invitations that let somebody in now."""
        is_open = Q(revoked_at=None, uses__lt=F("max_uses"), expires_at__gt=Now())
        return self.filter(is_open & maker_still_may(), collection__is_gone=False)

    def with_usable(self) -> InvitationQuerySet:
        """Annotate each with `is_usable`."""
        return self.annotate(is_usable=Exists(Invitation.objects.usable().filter(pk=OuterRef("pk"))))


class Invitation(models.Model):
    """An offer of a role in a collection: by a link, or to one account, whose person accepts it at home."""

    collection = models.ForeignKey("corpus.Collection", on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=20, choices=Role)
    team = models.CharField(max_length=TEAM_CHARS, blank=True)
    token_digest = models.CharField(max_length=64, unique=True)
    """SHA-256 of the token, in hexadecimal: the token has 256 random bits, so that no salt is needed.

    Nobody gets the token of an invitation to one account.
    """
    username = models.CharField(max_length=150, blank=True, db_default="")
    """Whom an organizer named, whether or not there is such an account; empty for a link."""
    person = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="invitations")
    """The account of that name when it was invited."""
    by = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    max_uses = models.PositiveIntegerField()
    uses = models.PositiveIntegerField(default=0)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(condition=Q(uses__lte=F("max_uses")), name="invitation_used_within_limit"),
            models.CheckConstraint(
                condition=Q(role=Role.PARTICIPANT) | Q(team=""),
                name="invitation_of_team_is_of_participant",
            ),
        )

    def __str__(self) -> str:
        return f"invitation {self.pk} as {self.get_role_display()}"

    @property
    def names_no_team(self) -> bool:
        """Return whether a participant who joins by it names a new team."""
        return self.role == Role.PARTICIPANT and not self.team
