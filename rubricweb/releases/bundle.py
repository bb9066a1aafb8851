"""Write a release: every part's files, a README, a manifest and checksums, as one zip.

Equal data makes equal bytes: names are sorted, times are fixed, and nothing depends on the clock or on keys.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from django.db import transaction
from django.db.models import Max

from grading.errors import BadFormat
from rubricweb import __version__
from rubricweb.banks.models import ItemChange
from rubricweb.core import events
from rubricweb.corpus.models import Collection
from rubricweb.grades import visibility
from rubricweb.grades.human_models import HumanStamp
from rubricweb.grades.models import MatrixStamp
from rubricweb.jobs import leases
from rubricweb.leaderboards.actions import Document, document_of, publish_document
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.models import PublicBoard
from rubricweb.releases import boards, parts, readme, support
from rubricweb.releases.models import Release
from rubricweb.releases.parts import Contents, Names, ReleaseFile, ReleaseOptions, ReleasePart, contents_of
from rubricweb.webhooks import actions as webhooks
from rubricweb.webhooks.models import EventType

VERSION = 1
"""Version of the manifest and of the list of files."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the zip."""
MODE = 0o100644 << 16
PACKED = (".gz",)
"""Endings of files that are compressed already."""
BLOCK = 1 << 20
PARTS: tuple[ReleasePart, ...] = (
    parts.TOPICS,
    parts.BANKS,
    parts.PROMPTS,
    parts.GRADES,
    parts.RUNS,
    support.SUPPORT,
    boards.QRELS,
    boards.BOARDS,
    boards.AGREEMENT,
    boards.FIGURES,
    boards.PROVENANCE,
)

Progress = Callable[[str, int], None]
"""Called with what is written next, and how many parts are done."""

CHOSEN = ("title", "license", "citation", "contact", "has_runs", "is_anonymous")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of a release as it was written."""

    name: str
    part: str
    about: str
    size: int
    sha256: str
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenRelease:
    sha256: str
    """SHA-256 of the whole zip."""
    size: int
    files: tuple[WrittenFile, ...]
    not_written: tuple[str, ...]
    """Files that a format refuses, with the reason."""
    names: Names
    still_named: tuple[str, ...]
    """Own names of runs and teams that texts of an anonymous release have, with the file: for organizers."""


@dataclass(slots=True)
class _Folder:
    """The files of a release before they are packed."""

    path: Path
    files: list[WrittenFile] = field(default_factory=list)
    not_written: list[str] = field(default_factory=list)

    def add(self, part: ReleasePart, file: ReleaseFile) -> None:
        path = self.path / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file.write(path)
        except BadFormat as error:
            path.unlink(missing_ok=True)
            self.not_written.append(f"{file.name}: {error.problem}")
        else:
            size, digest = path.stat().st_size, _digest(path)
            self.files.append(WrittenFile(file.name, part.name, file.about, size, digest, file.losses))

    def names(self) -> list[str]:
        """Return the names of all files, in the order of the zip."""
        files = (path for path in self.path.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.path).as_posix() for path in files)

    def add_text(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8", newline="\n")


class ChangedWhileWritten(Exception):
    """Grades, ratings, items or runs changed while the release was written: its parts do not agree."""

    def __str__(self) -> str:
        return (
            "The collection was changed while the release was being written. Make it again when "
            "nobody is working on it."
        )


def write_release(
    contents: Contents, out: Path, *, note: Progress = lambda doing, done: None
) -> WrittenRelease:
    """Write the zip to `out`, beside it and renamed, so that nobody reads half of it.

    Ratings are read as everybody sees them. Raises `visibility.Refused` where the collection shows no sums
    while cells are to be rated blind, ChangedWhileWritten, and OSError where the files cannot be written.
    """
    before = _state(contents.collection)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as name:
        folder = _Folder(Path(name) / "files")
        folder.path.mkdir()
        with contents.names.reading():
            visibility.refuse_sums(contents.collection)
            for number, part in enumerate(PARTS):
                note(part.title, number)
                for file in part.files(contents):
                    folder.add(part, file)
            note("Packing", len(PARTS))
            files = sorted(folder.files, key=lambda file: file.name)
            folder.add_text("README.md", readme.text(contents, files, folder.not_written, PARTS))
            listed = [
                {"name": file.name, "part": file.part, "size": file.size, "sha256": file.sha256}
                for file in files
            ]
            document = {
                "format": "rubricweb-release",
                "version": VERSION,
                "software": f"RubricWeb {__version__}",
                "collection": contents.collection.slug,
                "options": asdict(contents.options),
                "files": listed,
            }
            folder.add_text(
                "manifest.json", json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            )
            sums = {file.name: file.sha256 for file in files}
            sums |= {name: _digest(folder.path / name) for name in ("README.md", "manifest.json")}
            folder.add_text("SHA256SUMS", "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))
        if _state(contents.collection) != before:
            raise ChangedWhileWritten
        written = _packed(folder, contents.names, Path(name) / "release.zip")
        (Path(name) / "release.zip").replace(out)
    return written


def _packed(folder: _Folder, names: Names, out: Path) -> WrittenRelease:
    still_named = [
        f"{name} in {file}" for file in folder.names() for name in names.found_in(folder.path / file)
    ]
    _pack(folder, out)
    return WrittenRelease(
        sha256=_digest(out),
        size=out.stat().st_size,
        files=tuple(sorted(folder.files, key=lambda file: file.name)),
        not_written=tuple(folder.not_written),
        names=names,
        still_named=tuple(still_named),
    )


def _state(collection: Collection) -> tuple[object, ...]:
    """Return what moves with every change to imports, runs, grades, ratings and items."""
    queries = (
        MatrixStamp.objects.filter(topic__collection=collection).aggregate(Max("number")),
        HumanStamp.objects.filter(topic__collection=collection).aggregate(Max("number")),
        ItemChange.objects.filter(item__bank__collection=collection).aggregate(Max("pk")),
        Collection.objects.filter(pk=collection.pk).aggregate(Max("stamp")),
    )
    return tuple(value for query in queries for value in query.values())


def _pack(folder: _Folder, out: Path) -> None:
    """Delete each file once it is in the zip, so that the disk holds a release once and not twice."""
    with zipfile.ZipFile(out, "w") as archive:
        for name in folder.names():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(PACKED) else zipfile.ZIP_DEFLATED
            entry.external_attr, entry.create_system = MODE, 3
            path = folder.path / name
            entry.file_size = path.stat().st_size  # zipfile has to know whether it is over 2 GB
            with path.open("rb") as source, archive.open(entry, "w") as target:
                shutil.copyfileobj(source, target, BLOCK)
            path.unlink()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


logger = logging.getLogger(__name__)


def options_of(release: Release) -> ReleaseOptions:
    return ReleaseOptions(**{name: getattr(release, name) for name in CHOSEN})


def write(lease: leases.Lease[Release]) -> None:
    """Write the zip, then publish. A worker that lost its lease publishes nothing."""
    release = lease.work
    contents = contents_of(release.collection, options_of(release))
    release.path.parent.mkdir(parents=True, exist_ok=True)

    def note(doing: str, done: int) -> None:
        if not lease.held().update(doing=doing, done=done):
            raise leases.LeaseLost
        events.publish(release.collection.channel, "progress")

    try:
        written = write_release(contents, release.path, note=note)
    except (visibility.Refused, ChangedWhileWritten) as error:
        leases.fail(lease, error=str(error))
        return
    _finish(lease, contents, written)
    logger.info("release %s: %d files, %d bytes", release.pk, len(written.files), written.size)


def _finish(lease: leases.Lease[Release], contents: Contents, written: WrittenRelease) -> None:
    with contents.names.reading():
        left_out = [remark.text for remark in readme.left_out(contents)]
        frozen = _documents(contents) if lease.work.freezes_boards else []
    fields = {
        "doing": "",
        "sha256": written.sha256,
        "size": written.size,
        "files": [
            {name: value for name, value in asdict(file).items() if name != "losses"}
            for file in written.files
        ],
        "left_out": [*left_out, *written.not_written],
        "still_named": list(written.still_named),
        "names": {"runs": dict(written.names.runs), "teams": dict(written.names.teams)},
    }
    with transaction.atomic():
        leases.finish(lease, **fields)
        lease.work.boards.add(*(_publish(lease.work, *pair) for pair in frozen))
        release = lease.work
        named = {"id": release.pk, "title": release.title, "sha256": written.sha256, "bytes": written.size}
        collection = release.collection
        api = webhooks.api_address("release", collection.slug, release.pk)
        details = {"release": named, "page": release.get_absolute_url(), "api": api}
        webhooks.write(collection, EventType.RELEASE_MADE, details)


def _documents(contents: Contents) -> list[tuple[str, Document]]:
    """Return each board of the release with its title; several are told apart by their measure and grader."""
    made, documents = [board for _, board in boards.boards(contents)], []
    for board in made:
        spec, title = board.spec, contents.title
        if len(made) > 1:
            title = f"{title}: {spec.config}{f', {spec.runs.label}' if spec.runs else ''}"[:120]
        documents.append((title, document_of(board, provenance.statements(board))))
    return documents


def _publish(release: Release, title: str, document: Document) -> PublicBoard:
    return publish_document(
        release.collection, document, title=title[:120], is_anonymous=release.is_anonymous, by=release.by
    )
