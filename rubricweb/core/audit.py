"""The one way to write the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Model

from rubricweb.core.models import AuditEntry

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


def record(verb: str, thing: Model, *, by: User | None, detail: object = "") -> AuditEntry:
    """Write one entry; `by` is None for a command or the demo, and `detail` holds no passage text."""
    return AuditEntry.objects.create(
        verb=verb, kind=thing._meta.model_name or "", object_id=thing.pk, by=by, detail=str(detail)[:500]
    )
