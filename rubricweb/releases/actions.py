"""Start a release, and delete one."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.jobs import queue
from rubricweb.releases.models import Release


@transaction.atomic
def start_release(release: Release, *, by: User) -> Release:
    """Have a worker write the release, which is not saved yet."""
    release.by = by
    release.save()
    audit.record("release started", release, by=by, detail=release.title)
    queue.enqueue([release])
    return release


@transaction.atomic
def delete_release(release: Release, *, by: User) -> None:
    """Delete the release with its zip. The boards that it froze stay until somebody closes them."""
    audit.record("release deleted", release, by=by, detail=f"{release.title}, SHA-256 {release.sha256}")
    transaction.on_commit(partial(release.path.unlink, missing_ok=True))
    release.delete()
