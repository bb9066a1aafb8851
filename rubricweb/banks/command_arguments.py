"""What commands are told of banks: one by its name, and one of its versions."""

from __future__ import annotations

from django.core.management import CommandError

from rubricweb.banks.models import Bank, BankVersion
from rubricweb.corpus.command_arguments import collection_named


def named_bank(slug: str, name: str) -> Bank:
    """Return the bank. Raises CommandError, which lists those that there are."""
    collection = collection_named(slug)
    bank: Bank | None = collection.banks.filter(name=name).first()
    if bank is None:
        known = ", ".join(collection.banks.values_list("name", flat=True)) or "none"
        raise CommandError(f"{slug} has no bank {name}; its banks are {known}")
    return bank


def named_version(bank: Bank, named: str) -> BankVersion | None:
    """Return the version of this number or name, or None for no name. Raises CommandError, which lists those
    that there are.
    """
    if not named:
        return None
    versions = list(bank.versions.all())
    found = next((one for one in versions if named in {one.name, str(one.number)}), None)
    if found is None:
        known = ", ".join(f"{one.number} ({one.name})" for one in versions) or "none"
        raise CommandError(f"{bank} has no version {named}; its versions are {known}")
    return found
