"""How far an import is, and how much a collection holds."""

from __future__ import annotations

from django.db.models import Model, QuerySet, Sum

from rubricweb.banks.models import Item
from rubricweb.core import events
from rubricweb.corpus.models import Collection, Judgment, Pooled
from rubricweb.grades.models import MatrixStamp
from rubricweb.imports.models import Import
from rubricweb.jobs.leases import Lease, LeaseLost


def note(lease: Lease[Import], doing: str, *, done: int) -> None:
    """Tell people what the worker is at, outside of the import's transaction. Raises LeaseLost."""
    if not lease.held().update(doing=doing, done=done):
        raise LeaseLost
    events.publish(lease.work.collection.channel, "progress")


def totals(collection: Collection) -> dict[str, int]:
    """By kind, as imports name them: how many rows the collection has."""
    of_topics: dict[str, QuerySet[Model]] = {
        "pooled": Pooled.objects.filter(topic__collection=collection),
        "judgments": Judgment.objects.filter(topic__collection=collection),
        "items": Item.objects.filter(bank__collection=collection),
    }
    stamps = MatrixStamp.objects.filter(topic__collection=collection)
    return {
        "topics": collection.topics.count(),
        "passages": collection.passages.count(),
        "runs": collection.runs.count(),
        "banks": collection.banks.count(),
        "grades": stamps.aggregate(number=Sum("grades"))["number"] or 0,
    } | {kind: rows.count() for kind, rows in of_topics.items()}
