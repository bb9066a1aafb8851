"""The bank as a ledger: name what it holds now, so that boards and qrels can be made as of then."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max

from rubricweb.accounts.models import User
from rubricweb.banks.errors import UnfitVersion
from rubricweb.banks.models import Bank, BankVersion, VersionItem
from rubricweb.core import audit, events

NAME_CHARS = 120


@transaction.atomic
def name_version(bank: Bank, *, name: str, by: User | None, note: str = "") -> BankVersion:
    """Keep the active items, their wordings, order and weights as the bank's next version."""
    name = " ".join(name.split())
    if not name or len(name) > NAME_CHARS:
        raise UnfitVersion(f"Give the version a name of at most {NAME_CHARS} characters.")
    Bank.objects.select_for_update().get(pk=bank.pk)  # numbers are given out in turn
    if bank.versions.filter(name=name).exists():
        raise UnfitVersion(f"This bank has a version named \u201c{name}\u201d already.")
    number = (bank.versions.aggregate(last=Max("number"))["last"] or 0) + 1
    version = bank.versions.create(number=number, name=name, note=note.strip(), by=by)
    VersionItem.objects.bulk_create(
        VersionItem(
            version=version,
            item=item,
            revision_id=item.revision_id,
            position=item.position,
            importance=item.importance,
            weight=item.weight,
        )
        for item in bank.items.active()
    )
    audit.record("bank version named", version, by=by, detail=f"{bank.name} {number}")
    events.publish_on_commit(bank.collection.channel, "items")
    return version
