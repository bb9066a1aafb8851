"""The audit trail, and shared parts of other models."""

import secrets
from uuid import UUID, uuid5

from django.apps import apps
from django.conf import settings
from django.db import IntegrityError, models

STAMP_BITS = 62


def new_stamp() -> int:
    """Return a number that no other state of any database has, as a key for caches."""
    return secrets.randbits(STAMP_BITS)


def copied_uid(uid: UUID) -> UUID:
    """Return the uid of the copy of a row that is there already; always the same for the same uid."""
    return uuid5(uid, "copy")


def is_duplicate(error: IntegrityError, model: type[models.Model]) -> bool:
    """Return whether a unique constraint of the model's table refused a row."""
    refused = getattr(error.__cause__, "diag", None)  # PostgreSQL's
    if refused is not None:
        return bool(refused.sqlstate == "23505" and refused.table_name == model._meta.db_table)
    return str(error).startswith(f"UNIQUE constraint failed: {model._meta.db_table}.")


class AuditEntry(models.Model):
    """An entry of the audit trail: who did what to which object, and when."""

    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    verb = models.CharField(max_length=60)
    kind = models.CharField(max_length=40)
    object_id = models.BigIntegerField(null=True)
    detail = models.CharField(max_length=500, blank=True)
    collection = models.ForeignKey(
        "corpus.Collection", null=True, on_delete=models.SET_NULL, related_name="audit_entries"
    )
    """Collection whose organizers may read it; None for changes to a person's own account."""

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("kind", "object_id"), name="audit_by_object"),)

    def __str__(self) -> str:
        return f"{self.verb} ({self.kind} {self.object_id})"

    @property
    def kind_name(self) -> str:
        """Return the name of the kind, "grading job"; the stored name where no model has it any more."""
        names = (str(m._meta.verbose_name) for m in apps.get_models() if m._meta.model_name == self.kind)
        return next(names, self.kind)
