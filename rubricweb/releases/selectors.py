"""What the pages of releases show."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from rubricweb.corpus.models import Collection
from rubricweb.grades.visibility import Refused, refuse_sums
from rubricweb.home.home import Checklist, checklist_of
from rubricweb.releases import readme
from rubricweb.releases.bundle import PARTS
from rubricweb.releases.contents import Part, ReleaseOptions, contents_of
from rubricweb.releases.models import Release
from rubricweb.releases.readme import Remark


@dataclass(frozen=True, slots=True)
class PreviewRow:
    part: Part
    size: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A release before it is made: its parts with sizes, what is open, and what is left out."""

    rows: list[PreviewRow]
    checklist: Checklist
    left_out: list[Remark]
    refusal: str
    """Why no release can be made now; empty if one can."""


@dataclass(frozen=True, slots=True)
class PartFiles:
    """A part of a release that was made."""

    title: str
    files: list[dict[str, object]]
    size: int
    """Bytes."""


def preview(collection: Collection) -> Preview:
    """Preview a release with the runs, so that their number shows before the form takes them."""
    contents, checklist = contents_of(collection, ReleaseOptions(has_runs=True)), checklist_of(collection)
    with contents.names.reading():
        try:
            refuse_sums(collection)
            refusal = ""
        except Refused as error:
            refusal = str(error)
        rows = [PreviewRow(part, part.size(contents)) for part in PARTS]
        return Preview(rows, checklist, readme.left_out(contents), refusal)


def releases(collection: Collection) -> list[Release]:
    """Return the newest first, without the lists of their files."""
    rows = collection.releases.select_related("by").defer("files", "names", "left_out")
    return list(rows)


def parts_of(release: Release) -> list[PartFiles]:
    titles = {part.name: part.title for part in PARTS}
    order = list(titles)
    files = sorted(release.files, key=lambda file: (order.index(file["part"]), file["name"]))
    return [
        PartFiles(titles[name], rows, sum(row["size"] for row in rows))
        for name, listed in groupby(files, key=lambda file: file["part"])
        if (rows := list(listed))
    ]
