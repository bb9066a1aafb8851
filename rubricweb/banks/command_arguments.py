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
        names = ", ".join(collection.banks.values_list("name", flat=True)) or "none"
        raise CommandError(f"{slug} has no bank {name}; its banks are {names}")
    return bank


def named_version(bank: Bank, named: str) -> BankVersion | None:
    """Return the version of this number or name, or None for no name.

    Raises CommandError, which lists the versions.
    """
    if not named:
        return None
    versions = list(bank.versions.all())
    match = next((version for version in versions if named in {version.name, str(version.number)}), None)
    if match is None:
        listed = ", ".join(f"{version.number} ({version.name})" for version in versions) or "none"
        raise CommandError(f"{bank} has no version {named}; its versions are {listed}")
    return match
