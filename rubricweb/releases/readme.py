"""What a release leaves out and why, and its README: what each file is, how it was made, how to cite it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count
from django.urls import reverse

from rubricweb import __version__
from rubricweb.arena.models import Vote
from rubricweb.banks.models import Item
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Run
from rubricweb.grades import visibility
from rubricweb.grades.engine.missing import failed_cells, missing_cells
from rubricweb.releases.boards import board_specs
from rubricweb.releases.parts import Contents, ReleasePart

if TYPE_CHECKING:
    from rubricweb.releases.bundle import WrittenFile


LISTED = 50
"""Losses of a file that the README lists one by one."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about a release, and where to do something about it."""

    text: str
    address: str = ""


def left_out(contents: Contents) -> list[Remark]:
    """Return what is not in the release, and why. Call it inside `contents.names.reading()`."""
    collection, remarks = contents.collection, []
    states = collection.runs.not_accepted().values_list("state").annotate(Count("pk")).order_by("state")
    for state, number in states:
        remarks.append(
            Remark(f"{counted(number, 'run')}: {Run.State(state).label}", _at("corpus:runs", contents))
        )
    if not contents.options.has_runs:
        remarks.append(Remark("Rankings and responses of runs, by choice of the organizers"))
    if hidden := visibility.hidden_count(collection.pk):
        label = "of open campaigns: their ratings; scores count them as not covered and are too low"
        remarks.append(Remark(f"{counted(hidden, 'pair')} {label}"))
    if retired := Item.objects.retired().filter(bank__collection=collection).count():
        remarks.append(Remark(f"{counted(retired, 'retired item')}, with {_their(retired)} grades"))
    if unknown := Item.objects.active().filter(bank__collection=collection, revision__text="").count():
        label = f"{counted(unknown, 'item')} without a text: not in the rubrics, but with their grades"
        remarks.append(Remark(label))
    secret = Item.including_secret.active().filter(bank__collection=collection, revision__is_secret=True)
    if kept := secret.count():
        remarks.append(Remark(f"{counted(kept, 'secret item')}, with {_their(kept)} grades; boards use them"))
    remarks += [Remark(text, _at("grades:jobs", contents)) for text in _ungraded(contents)]
    if votes := Vote.objects.holding(collection).count():
        label = f"{counted(votes, 'vote')} in the arena; download them from the vote board"
        remarks.append(Remark(label, _at("arena:board", contents)))
    remarks.append(Remark("Ratings by people, comments, flags and the names of people"))
    return remarks


def _ungraded(contents: Contents) -> list[str]:
    """Return, for each board, the cells without a grade and with a failed one."""
    sentences = []
    for spec in board_specs(contents.collection):
        if spec.runs:  # of pairs that the board of all runs has
            continue
        items = Item.objects.filter(bank=spec.bank) if spec.bank else None
        scope = {"items": items} if items is not None else {}
        for label, look in (("without a grade by", missing_cells), ("with a failed grade by", failed_cells)):
            if cells := sum(gap.cells for gap in look(contents.collection, [spec.config], **scope)):
                sentences.append(f"{counted(cells, 'pair')} {label} {spec.config}: not counted on any board")
    return sentences


def _at(route: str, contents: Contents) -> str:
    return reverse(route, args=[contents.collection.slug])


def _their(number: int) -> str:
    return "its" if number == 1 else "their"


def text(
    contents: Contents, files: Sequence[WrittenFile], not_written: Sequence[str], parts: Iterable[ReleasePart]
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


def _parts(files: Sequence[WrittenFile], parts: Iterable[ReleasePart]) -> Iterator[str]:
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
    """Yield losses item by item, up to LISTED a file, sorted, since databases differ in key order."""
    lossy = [file for file in files if file.losses]
    if not lossy:
        yield "Nothing is lost."
    for file in lossy:
        yield f"- `{file.name}` lacks:"
        yield from (f"  - {loss}" for loss in sorted(file.losses)[:LISTED])
        if len(file.losses) > LISTED:
            yield f"  - and {len(file.losses) - LISTED:,} more of these"
