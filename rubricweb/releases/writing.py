"""A worker writes a release, and publishes its boards."""

from __future__ import annotations

import logging
from dataclasses import asdict

from django.db import transaction

from rubricweb.core import events
from rubricweb.grades.visibility import Refused
from rubricweb.jobs import endings
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.leaderboards.actions import Document, document_of, publish_document
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.models import PublicBoard
from rubricweb.releases import checks
from rubricweb.releases.boards import boards
from rubricweb.releases.bundle import ChangedMeanwhile, WrittenRelease, write_release
from rubricweb.releases.contents import Contents, ReleaseOptions, contents_of
from rubricweb.releases.models import Release
from rubricweb.webhooks import outbox
from rubricweb.webhooks.models import EventType

logger = logging.getLogger(__name__)
CHOSEN = ("title", "license", "citation", "contact", "has_runs", "is_anonymous")


def options_of(release: Release) -> ReleaseOptions:
    return ReleaseOptions(**{name: getattr(release, name) for name in CHOSEN})


def write(lease: Lease[Release]) -> None:
    """Write the zip, then publish. A worker that lost its lease publishes nothing."""
    release = lease.work
    contents = contents_of(release.collection, options_of(release))
    release.path.parent.mkdir(parents=True, exist_ok=True)

    def note(doing: str, done: int) -> None:
        if not lease.held().update(doing=doing, done=done):
            raise LeaseLost
        events.publish(release.collection.channel, "progress")

    try:
        written = write_release(contents, release.path, note=note)
    except (Refused, ChangedMeanwhile) as error:
        endings.fail(lease, error=str(error))
        return
    _finish(lease, contents, written)
    logger.info("release %s: %d files, %d bytes", release.pk, len(written.files), written.size)


def _finish(lease: Lease[Release], contents: Contents, written: WrittenRelease) -> None:
    with contents.names.reading():
        left_out = [remark.text for remark in checks.left_out(contents)]
        frozen = _documents(contents) if lease.work.freezes_boards else []
    fields = {
        "doing": "",
        "sha256": written.sha256,
        "size": written.size,
        "files": [
            {name: value for name, value in asdict(one).items() if name != "losses"} for one in written.files
        ],
        "left_out": [*left_out, *written.not_written],
        "still_named": list(written.still_named),
        "names": {"runs": dict(written.names.runs), "teams": dict(written.names.teams)},
    }
    with transaction.atomic():
        endings.finish(lease, **fields)
        lease.work.boards.add(*(_publish(lease.work, *pair) for pair in frozen))
        _tell(lease.work, written)


def _tell(release: Release, written: WrittenRelease) -> None:
    named = {"id": release.pk, "title": release.title, "sha256": written.sha256, "bytes": written.size}
    collection = release.collection
    api = outbox.api_address("release", collection.slug, release.pk)
    details = {"release": named, "page": release.get_absolute_url(), "api": api}
    outbox.write(collection, EventType.RELEASE_MADE, details)


def _documents(contents: Contents) -> list[tuple[str, Document]]:
    """Each board of the release with its title; several are told apart by their measure and grader."""
    made = [shown for _, shown in boards(contents)]
    return [
        (
            contents.title if len(made) == 1 else f"{contents.title}: {shown.spec.config}"[:120],
            document_of(shown, provenance.statements(shown)),
        )
        for shown in made
    ]


def _publish(release: Release, title: str, document: Document) -> PublicBoard:
    return publish_document(
        release.collection, document, title=title[:120], is_anonymous=release.is_anonymous, by=release.by
    )
