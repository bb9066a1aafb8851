"""Create a collection, and change its settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal

from django.db import transaction

from grading.graders.backend_options import Value
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit, events
from rubricweb.corpus.models import Collection


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """The settings that an organizer may change."""

    name: str
    min_relevant: int
    grader_backend: str
    grader_llm: str
    description: str = ""
    grader_prompts: tuple[str, ...] = ()
    """Prompt classes; empty for the back-end's defaults."""
    grader_options: Mapping[str, Value] = field(default_factory=dict)
    """Options of the back-end that differ from its defaults."""
    blind_sums: str = Collection.BlindSums.LEFT_OUT
    public_counts_blind: bool = False
    shows_run_tags: bool = False
    requires_calibration: bool = False
    assessors_edit: bool = True
    assessors_grade: bool = True
    assessors_grade_up_to: Decimal = Decimal(1)


def settings_of(collection: Collection) -> CollectionSettings:
    values = {field.name: getattr(collection, field.name) for field in fields(CollectionSettings)}
    return CollectionSettings(**values | {"grader_prompts": tuple(collection.grader_prompts)})


class SettingsChanged(ValueError):
    """Somebody saved other settings since the writer read them."""


def settings_digest(collection: Collection) -> str:
    """What a form sends back to say which settings its writer started from."""
    now = [(field.name, getattr(collection, field.name)) for field in fields(CollectionSettings)]
    return hashlib.md5(repr(now).encode(), usedforsecurity=False).hexdigest()


@transaction.atomic
def create_collection(collection: Collection, *, by: User) -> Collection:
    """Save a new collection, which `by` organizes."""
    collection.save()
    set_role(by, collection, role=Role.ORGANIZER, by=by)
    audit.record("collection created", collection, by=by, detail=collection.slug)
    return collection


@transaction.atomic
def change_settings(
    collection: Collection, settings: CollectionSettings, *, by: User | None, seen: str = ""
) -> Collection:
    """Change a collection's settings. Grades of earlier graders are kept.

    Raises SettingsChanged where `seen` is given and is not the digest of the settings as they are.
    """
    stored = Collection.objects.select_for_update().get(pk=collection.pk)
    if seen and seen != settings_digest(stored):
        raise SettingsChanged
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    values["grader_prompts"] = list(settings.grader_prompts)
    for name, value in values.items():
        setattr(collection, name, value)
    collection.save(update_fields=values)
    changed = [f"{name} {value}" for name, value in values.items() if getattr(stored, name) != value]
    audit.record("settings changed", collection, by=by, detail=", ".join(changed) or "nothing")
    events.publish_on_commit(collection.channel, "items")
    return collection


@transaction.atomic
def choose_default_grader(collection: Collection, fingerprint: str, *, by: User | None) -> Collection:
    """Make the grader with this fingerprint the one that pages show by default."""
    if collection.default_grader == fingerprint:
        return collection
    collection.default_grader = fingerprint
    collection.save(update_fields=["default_grader"])
    audit.record("default grader chosen", collection, by=by, detail=fingerprint)
    events.publish_on_commit(collection.channel, "grades")
    return collection


@transaction.atomic
def choose_answers(collection: Collection, fingerprint: str, *, by: User | None) -> Collection:
    """Verify the answers that the grader with this fingerprint extracted; without one, the grader's own."""
    collection.answers_by = fingerprint
    collection.save(update_fields=["answers_by"])
    audit.record("answers to verify chosen", collection, by=by, detail=fingerprint or "the grader's own")
    events.publish_on_commit(collection.channel, "items")
    return collection
