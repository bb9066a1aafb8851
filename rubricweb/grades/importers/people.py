"""Imports of people's work from RubricWeb's own files: its authors, and the room that keeps it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol
from uuid import UUID, uuid5

from django.apps import apps
from django.db.models import Model, Q
from django.utils.module_loading import import_string

from grading.formats.base import Content
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.core import audit
from rubricweb.core.database import LOOKED_UP
from rubricweb.corpus.importers.base import Tally, some
from rubricweb.corpus.importers.topics import TopicImporter
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pseudonyms import assessor_pseudonym

USERNAME_CHARS = 150
_UNFIT = re.compile(r"[^\w.@+-]")

Kinds = Mapping[str, tuple[type[Model], str]]
"""Models of the imported kinds and the path to their collection, in an order of removal."""


class Accounts:
    """A lookup of the accounts of the people whom files name."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @cached_property
    def _here(self) -> dict[str, User]:
        """Return members by user name, and by pseudonym members and all who rated here."""
        members = User.objects.filter(memberships__collection=self._collection)
        outside = Q(is_active=False, username__startswith=f"{self._collection.slug}.")
        rated = Q(human_grades__topic__collection=self._collection)
        by_name = {
            assessor_pseudonym(self._collection, person.pk): person
            for person in (*User.objects.filter(outside | rated).distinct(), *members)
        }
        return by_name | {person.username: person for person in members}

    def of(self, name: str) -> User | None:
        """Return the member of that name or pseudonym, else an account that nobody can sign in to.

        None for an empty name.
        """
        if not name:
            return None
        return self._here.get(name) or self.outside(name)

    def outside(self, name: str) -> User:
        """Return the account for a person of this collection's files, to which nobody can sign in.

        So a file of another tool attributes nothing to a real account.
        """
        username = f"{self._collection.slug}.{_UNFIT.sub('-', name)}"[:USERNAME_CHARS]
        person = User.objects.filter(username=username).first()
        if person is not None and person.is_active:
            username = f"{username[: USERNAME_CHARS - 5]}.file"
            person = User.objects.filter(username=username).first()
        if person is None:
            person = User(username=username, first_name=name[:150], is_active=False)
            person.set_unusable_password()
            person.save()
        return person


@dataclass(frozen=True, slots=True)
class Work:
    """An import of people's work: the collection, and the counts."""

    collection: Collection
    topics: TopicImporter
    accounts: Accounts
    tally: Tally
    is_replacing: bool
    credits: Counter[tuple[User, str]] = field(default_factory=Counter)
    """Number of events of each kind added in each person's name."""
    _wordings: dict[int, dict[str, int]] = field(default_factory=dict)

    def wordings_of(self, topic: Topic) -> dict[str, int]:
        """Return the keys of the topic's wordings by their uids, secret ones too; read once a topic."""
        if topic.pk not in self._wordings:
            rows = ItemRevision.including_secret.filter(topic=topic)
            self._wordings[topic.pk] = dict(rows.values_list("uid", "pk"))
        return self._wordings[topic.pk]

    def identify(self, model: type[Model], path: str, uids: Iterable[str]) -> dict[str, tuple[UUID, bool]]:
        """Return a row's id in this collection for the id in the file, and whether it exists.

        Where another collection has the id, because one is a copy of the other, the row gets one that is made
        of it. `path` leads from the model to its collection.
        """
        listed = list(uids)
        copied = {uid: uuid5(UUID(uid), f"collection {self.collection.pk}") for uid in listed}
        where: dict[UUID, int] = {}
        for some_uids in in_portions([*map(UUID, listed), *copied.values()]):
            where |= dict(model._base_manager.filter(uid__in=some_uids).values_list("uid", path))
        here = self.collection.pk
        return {
            uid: (copied[uid], where.get(copied[uid]) == here)
            if where.get(UUID(uid), here) != here
            else (UUID(uid), UUID(uid) in where)
            for uid in listed
        }

    def passages(self, doc_ids: Iterable[str]) -> dict[str, int]:
        """Return the keys of those of these passages that the collection has."""
        keys: dict[str, int] = {}
        for named in in_portions(doc_ids):
            rows = self.collection.passages.filter(doc_id__in=named)
            keys |= dict(rows.values_list("doc_id", "pk"))
        return keys

    def leave_out(self, path: Path, lacking: Mapping[str, Counter[str]]) -> None:
        """Note what was left out by kind: the names, and how often each occurred."""
        for what, names in lacking.items():
            if names:
                self.tally.note(f"{path.name}: left out {what}: {names.total()} ({some(names)})")

    def finish(self, *, by: User | None) -> None:
        """Note in whose name something was added, also in the audit trail."""
        if not self.credits:
            return
        listed = [f"{person.username} ({number:,} {kind})" for (person, kind), number in self.credits.items()]
        audit.record("work of people imported", self.collection, by=by, detail=", ".join(sorted(listed)))
        outside = sum(not person.is_active for person in {person for person, _ in self.credits})
        if outside:
            self.tally.note(f"accounts that cannot sign in stand for the people who did this ({outside})")


class WorkImporter(Protocol):
    """An importer of events into one room, all or nothing; importing them again adds nothing."""

    kinds: ClassVar[Kinds]

    def __init__(self, work: Work) -> None: ...

    def read(self, path: Path, events: Iterable[Any], **options: str) -> None:
        """Read the files' events. Raises BadFormat."""


def importer_of(content: Content) -> type[WorkImporter]:
    """Return the class that imports the content, named as `imports` by the app of a room above."""
    importer: type[WorkImporter] = import_string(_paths()[content])
    return importer


def registered_kinds() -> Kinds:
    """Return the kinds that other rooms' importers count, in an order in which rows can be removed."""
    return {kind: row for content in _paths() for kind, row in importer_of(content).kinds.items()}


def _paths() -> dict[Content, str]:
    """Return the dotted paths of the importers, unloaded, so that other processes do not wait for them."""
    own = (getattr(app, "imports", {}) for app in apps.get_app_configs())
    return {Content(name): path for paths in own for name, path in paths.items()}


def in_portions(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the different values, as many at a time as a query may name."""
    distinct = list(dict.fromkeys(values))
    for start in range(0, len(distinct), LOOKED_UP):
        yield distinct[start : start + LOOKED_UP]
