"""Corpora on disk, which systems may search instead of a collection's passages: one folder each."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import mkdtemp

from django.conf import settings

from grading.errors import BadFormat
from grading.formats.passages import PassageEntry, read_passages
from grading.systems import retrieval
from grading.systems.retrieval import Corpus
from rubricweb.jobs.kinds import CannotRun

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")

_opened: dict[str, tuple[int, Corpus]] = {}
"""By name: when the index was written that this process has open."""


class BadName(ValueError):
    """The text says what a name may have."""


def names() -> list[str]:
    """Of the corpora on this machine."""
    folder = _root()
    found = (path.parent.name for path in folder.glob("*/index.json"))
    return sorted(name for name in found if NAME.fullmatch(name))


def open_corpus(name: str) -> Corpus:
    """The corpus, opened once a process and again when it was built anew. Raises CannotRun without it."""
    folder = folder_of(name)
    try:
        built = (folder / "index.json").stat().st_mtime_ns
        known = _opened.get(name)
        if known is None or known[0] != built:
            _opened[name] = known = built, Corpus.open(folder)
    except (OSError, BadFormat) as error:
        there = ", ".join(names()) or "none"
        raise CannotRun(
            f"This machine has no corpus {name} (it has: {there}). Build it by index_corpus."
        ) from error
    return known[1]


def index_corpus(name: str, files: Iterable[Path]) -> int:
    """Build the corpus of these files, or bring it up to date, and return its number of passages.

    Raises BadName, BadFormat with file and line, and ValueError without passages or with an id twice.
    """
    paths, folder = tuple(files), folder_of(name)

    def entries() -> Iterable[PassageEntry]:
        return (entry for path in paths for entry in read_passages(path))

    count = 0

    def write(made: Path) -> None:
        nonlocal count
        count = retrieval.build(made, entries, reused=folder)

    replace_folder(folder, write)
    return count


def size_of(name: str) -> tuple[int, float]:
    """Its passages, and the characters of one on average, without opening it; zeros where it is not here."""
    try:
        return retrieval.size(_root() / name)
    except BadFormat:
        return 0, 0.0


def folder_of(name: str) -> Path:
    """Raises BadName."""
    if not NAME.fullmatch(name):
        raise BadName(f"{name!r} is no name of a corpus: letters, digits, dots, - and _, 80 at most")
    return _root() / name


def replace_folder(folder: Path, write: Callable[[Path], object]) -> None:
    """Write a new folder and put it in the place of the old one, which others may still read."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        write(made)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    old = made.with_name(f"{made.name}-old")
    if folder.exists():
        folder.rename(old)
    made.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _root() -> Path:
    return Path(settings.DATA_DIR) / "corpora"
