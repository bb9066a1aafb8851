"""What assessors read in place of the names of runs, which could tell them whose passage they rate."""

from __future__ import annotations

from django.utils.crypto import salted_hmac

from rubricweb.accounts import roles
from rubricweb.accounts.roles import Role
from rubricweb.core.reading import reader
from rubricweb.corpus.models import Collection

NAME_DIGITS = 6


def shown_names(collection_id: int, run_tags: tuple[str, ...]) -> tuple[str, ...]:
    """The runs' names for whoever reads now: pseudonyms for assessors, unless organizers show tags."""
    now = reader()
    if now is None or now.user is None or roles.role_in(now.user, collection_id) != Role.ASSESSOR:
        return run_tags
    collection = Collection.objects.only("shows_run_tags", "name_salt").get(pk=collection_id)
    if collection.shows_run_tags:
        return run_tags
    return tuple(run_pseudonym(collection, tag) for tag in run_tags)


def run_pseudonym(collection: Collection, run_tag: str) -> str:
    """The same for a run on every page and in every file, and not to be found out from its tag."""
    digest = salted_hmac("rubricweb.runs", run_tag, secret=collection.name_salt, algorithm="sha256")
    return f"run {digest.hexdigest()[:NAME_DIGITS]}"
