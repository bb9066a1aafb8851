"""Pseudonyms of runs and assessors, for readers who must not know whose passage or rating they see."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.crypto import salted_hmac

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.reader import reader
from rubricweb.corpus.models import Collection

NAME_DIGITS = 6
Naming = Callable[[User | None], str]
"""The name of a person; empty for nobody."""


def shown_names(collection_id: int, run_tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the runs' names for the reader: pseudonyms for viewers and assessors, unless tags are shown.

    Readers of an anonymous release know runs by the names that it gave them.
    """
    now = reader()
    if now.sees_everything:
        return run_tags
    if now.run_names:
        return tuple(now.run_names[tag] for tag in run_tags)
    if now.user is None:
        return run_tags
    if collection_id not in now.salts:
        now.salts[collection_id] = _salt(now.user, collection_id)
    salt = now.salts[collection_id]
    return tuple(run_pseudonym(salt, tag) for tag in run_tags) if salt else run_tags


def hides_names(collection_id: int) -> bool:
    """Return whether the reader knows runs by pseudonyms, on pages or in an anonymous release."""
    return bool(reader().run_names) or hides_origins(collection_id)


def hides_origins(collection_id: int) -> bool:
    """Return whether the reader knows runs by pseudonyms, and sees no team and no task of theirs.

    A release without names has the tasks of runs.
    """
    return not reader().run_names and shown_names(collection_id, ("",)) != ("",)


def sees_names(user: User, collection: Collection) -> bool:
    """Return whether the reader, who is a member, sees the names of runs."""
    return not _salt(user, collection.pk)


def _salt(user: User, collection_id: int) -> str:
    """Return the salt of the collection's pseudonyms; empty for readers who see names."""
    role = roles.role_in(user, collection_id)
    if role is None or role.includes(roles.TO_SEE_RUNS):
        return ""
    collection = Collection.objects.only("shows_run_tags", "name_salt").get(pk=collection_id)
    return "" if collection.shows_run_tags else collection.name_salt


def run_pseudonym(salt: str, run_tag: str) -> str:
    """Return the run's pseudonym on every page and in every file; its tag cannot be derived from it.

    `salt` is the `name_salt` of its collection.
    """
    digest = salted_hmac("rubricweb.runs", run_tag, secret=salt, algorithm="sha256")
    return f"run {digest.hexdigest()[:NAME_DIGITS]}"


def assessor_pseudonym(collection: Collection, person_id: int) -> str:
    """Return the person's pseudonym on all pages and in all files of this collection only.

    It cannot be reversed without the collection's salt, which only the database has.
    """
    digest = salted_hmac("rubricweb.pseudonym", str(person_id), secret=collection.name_salt).hexdigest()
    return f"assessor-{digest[:6]}"


def naming(collection: Collection, *, with_names: bool) -> Naming:
    """Return what files call people by: their user names, or their pseudonyms in the collection."""

    def name(person: User | None) -> str:
        if person is None:
            return ""
        return person.username if with_names else assessor_pseudonym(collection, person.pk)

    return name
