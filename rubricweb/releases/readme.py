"""The README of a release: what each file is, how it was made, how to cite it, and what is not in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rubricweb import __version__
from rubricweb.releases.checks import left_out
from rubricweb.releases.contents import Contents, Part

if TYPE_CHECKING:
    from rubricweb.releases.bundle import WrittenFile

LISTED = 50
"""Losses of a file that the README lists one by one."""


def text(
    contents: Contents, files: Sequence[WrittenFile], not_written: Sequence[str], parts: Iterable[Part]
) -> str:
    lines = [*_head(contents), "", "## Files", "", *_check(), *_parts(files, parts)]
    lines += ["", "## What is not in it", "", *_left_out(contents, not_written)]
    lines += ["", "## What the formats cannot say", "", *_losses(files), ""]
    return "\n".join(lines)


def _head(contents: Contents) -> Iterator[str]:
    collection, options = contents.collection, contents.options
    yield f"# {contents.title}"
    yield ""
    yield f"A release of the test collection {collection.slug}, written by RubricWeb {__version__}."
    if collection.description:
        yield from ("", collection.description)
    yield from ("", "## Licence, citation, contact", "")
    yield f"- Licence of the data: {options.license or 'not stated'}"
    yield f"- Cite as: {options.citation or 'not stated'}"
    yield f"- Contact: {options.contact or 'not stated'}"
    if contents.names.are_made_up:
        yield from ("", "Runs and teams have pseudonyms, which are the same in every file.")


def _check() -> Iterator[str]:
    yield "`sha256sum -c SHA256SUMS` checks the files; `manifest.json` lists them for programs."
    yield ""


def _parts(files: Sequence[WrittenFile], parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        own = [file for file in files if file.part == part.name]
        if own:
            yield from (f"### {part.title}", "", part.how, "")
            yield from (f"- `{file.name}` ({file.size:,} bytes): {file.about}" for file in own)
            yield ""


def _left_out(contents: Contents, not_written: Sequence[str]) -> Iterator[str]:
    yield from (f"- {remark.text}" for remark in left_out(contents))
    yield from (f"- {problem}" for problem in not_written)


def _losses(files: Sequence[WrittenFile]) -> Iterator[str]:
    """Item by item, up to LISTED a file, sorted: databases differ in the order of keys."""
    lossy = [file for file in files if file.losses]
    if not lossy:
        yield "Nothing is lost."
    for file in lossy:
        yield f"- `{file.name}` lacks:"
        yield from (f"  - {loss}" for loss in sorted(file.losses)[:LISTED])
        if len(file.losses) > LISTED:
            yield f"  - and {len(file.losses) - LISTED:,} more of these"
