"""Start a release, delete one, and the work that writes it."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.template.defaultfilters import filesizeformat

from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.jobs import kinds, leases, listing, queue
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


class ReleaseKind(kinds.TaskKind[Release]):
    name = "release"
    model = Release
    related = ("collection", "by")
    is_retried = True

    def run(self, lease: leases.Lease[Release]) -> None:
        from rubricweb.releases import bundle  # boards, figures and formats: for workers only

        bundle.write(lease)

    def need(self, work: Release) -> kinds.Need:
        return kinds.Need("releases", "a release")

    def label(self, work: Release) -> str:
        return f"release {work.pk}"

    def changed(self, work: Release) -> None:
        events.publish_on_commit(work.collection.channel, "progress")


LISTING = listing.TaskListing(
    kind="releases",
    jobs=lambda key: Release.objects.filter(collection=key).select_related("collection", "by"),
    name=lambda release: f"Make the release {release.title}".strip(),
    does=lambda release: "with the runs" if release.has_runs else "",
    address=Release.get_absolute_url,
    acts={},
    is_for_its_starter=False,
    opens="Release",
    outcome=lambda release: filesizeformat(release.size) if release.size else "",
    is_for_organizers=True,
)
