"""Whether a collection has changed since it was archived."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from django.db.models import Count, Max

from rubricweb.archives import tables
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_models import HumanStamp
from rubricweb.grades.models import Grade, MatrixStamp

STAMPED = (Grade,)
"""Tables too large to count, whose changes move stamps."""


def state_digest(collection: Collection) -> str:
    """Another one after each change: by an action, which leaves an audit entry, by a rating or by a grade."""
    digest = hashlib.sha256()
    for part in _state(collection):
        digest.update(f"{part}\n".encode())
    return digest.hexdigest()


def _state(collection: Collection) -> Iterator[object]:
    yield Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk)
    for table in tables.archived():
        rows = table.archived_rows(collection).order_by()
        if table.model in (MatrixStamp, HumanStamp):
            yield from rows.order_by("pk").values_list("pk", "number")
        elif table.model is AuditEntry:
            yield rows.aggregate(last=Max("pk"))
        elif table.model not in STAMPED:
            yield table.label, sorted(rows.aggregate(count=Count("pk"), last=Max("pk")).items())
