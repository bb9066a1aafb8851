"""Fetch and authorise in one call, always through the parent; and what commands name."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.core.management import CommandError
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.draft_models import Draft, DraftJob, DraftRequest, ImportanceSuggestion
from rubricweb.banks.models import Bank, BankVersion, Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection, Topic

_guards: list[Guard] = []


@compiled_once
def _banks(bank_id: int) -> QuerySet[Bank]:
    return Bank.objects.select_related("collection").filter(pk=bank_id)


@compiled_once
def _topics(collection_id: int, topic_id: int) -> QuerySet[Topic]:
    return Topic.objects.filter(pk=topic_id, collection=collection_id)


def bank_for(user: User, bank_id: int, *, needed: Role = roles.TO_VIEW) -> Bank:
    bank = next(iter(_banks(bank_id)), None)
    if bank is None:
        raise Http404("No such rubric.")
    roles.require(user, bank.collection, needed)
    return bank


def bank_topic_for(
    user: User, bank_id: int, topic_id: int, *, needed: Role = roles.TO_VIEW
) -> tuple[Bank, Topic]:
    bank = bank_for(user, bank_id, needed=needed)
    topic = next(iter(_topics(bank.collection_id, topic_id)), None)
    if topic is None:
        raise Http404("No such topic.")
    topic.collection = bank.collection
    return bank, topic


def item_for(user: User, bank_id: int, item_id: int, *, needed: Role = roles.TO_VIEW) -> Item:
    bank = bank_for(user, bank_id, needed=needed)
    item: Item | None = next(iter(_items(bank.collection_id, bank.pk, item_id)), None)
    if item is None:
        raise Http404("No such item.")
    return item


@compiled_readable
def _items(bank_id: int, item_id: int) -> QuerySet[Item]:
    items: QuerySet[Item] = Item.including_secret.filter(bank=bank_id, pk=item_id)
    return items.select_related("revision", "topic", "bank__collection")


def collection_for_editor(user: User, slug: str) -> Collection:
    """Return the collection if the user may create banks in it."""
    collection: Collection = get_object_or_404(Collection.objects.visible_to(user), slug=slug)
    roles.require(user, collection, roles.role_to_edit(collection))
    return collection


def bank_topic_for_editor(user: User, bank_id: int, topic_id: int) -> tuple[Bank, Topic]:
    """Return the bank and the topic if the user may add items to them."""
    bank, topic = bank_topic_for(user, bank_id, topic_id)
    roles.require(user, bank.collection, roles.role_to_edit(bank.collection))
    return bank, topic


def item_for_editor(user: User, bank_id: int, item_id: int) -> Item:
    """Return the item if the user may edit it. Raises Held while a guard keeps the user from it."""
    item = item_for(user, bank_id, item_id)
    roles.require(user, item.bank.collection, roles.role_to_edit(item.bank.collection))
    if held := next(filter(None, (guard(user, item) for guard in _guards)), None):
        raise held
    return item


class Held(PermissionDenied):
    """The user rates the item blind, and must finish or release it before they may change it."""

    def __init__(self, item: Item, *, finish_at: str, release_at: str) -> None:
        """Say where the item is held; `release_at` takes a POST, and is empty for cells that others gave."""
        end = "Finish or release it to edit." if release_at else "Finish it to edit."
        super().__init__(f"You are rating this {item.kind} blind. {end}")
        self.item, self.finish_at, self.release_at = item, finish_at, release_at


Guard = Callable[[User, Item], Held | None]
"""Why the user must not edit the item now; None if they may."""


def register_guard(guard: Guard) -> None:
    """Let a room above forbid editing certain items; call it once per process."""
    if guard not in _guards:
        _guards.append(guard)


def draft_for_editor(user: User, bank_id: int, draft_id: int) -> Draft:
    bank = bank_for(user, bank_id, needed=roles.TO_EDIT_BANK)
    drafts = Draft.objects.select_related("request__bank__collection", "request__topic__collection")
    draft: Draft = get_object_or_404(drafts, pk=draft_id, request__bank=bank)
    return draft


def request_for_editor(user: User, bank_id: int, request_id: int) -> DraftRequest:
    bank = bank_for(user, bank_id, needed=roles.TO_EDIT_BANK)
    requests = DraftRequest.objects.select_related("bank__collection", "topic__collection")
    return get_object_or_404(requests, pk=request_id, bank=bank)


def draft_job_for(user: User, bank_id: int, job_id: int, *, needed: Role = roles.TO_VIEW) -> DraftJob:
    bank = bank_for(user, bank_id, needed=needed)
    job: DraftJob = get_object_or_404(bank.draft_jobs.select_related("bank__collection", "by"), pk=job_id)
    return job


def suggestion_for_editor(user: User, bank_id: int, suggestion_id: int) -> ImportanceSuggestion:
    bank = bank_for(user, bank_id, needed=roles.TO_EDIT_BANK)
    rows = ImportanceSuggestion.objects.select_related(
        "request__bank__collection", "request__topic__collection", "item__bank__collection", "item__revision"
    )
    suggestion: ImportanceSuggestion = get_object_or_404(
        rows, pk=suggestion_id, request__bank=bank, item__isnull=False
    )
    return suggestion


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
