"""The pages of the help in the order of its table of contents, read from docs/help and docs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from rubricweb.help.markdown import Document, parse

INDEX = "index"
CONTENTS: dict[str, tuple[str, ...]] = {
    "Start": (
        INDEX,
        "tutorials/assessor",
        "tutorials/topic-developer",
        "tutorials/organizer",
        "tutorials/participant",
    ),
    "Work with it": ("topics", "work", "results", "runs", "files", "graders", "people"),
    "Run it": ("server", "programs", "commands"),
    "Look up": ("measures", "certainty", "glossary"),
}
"""The names of the pages by section; `measures` is `docs/help/measures.md` or `docs/measures.md`."""


def page_names() -> list[str]:
    return [name for names in CONTENTS.values() for name in names if path_of(name)]


def path_of(name: str) -> Path | None:
    """The file of a page; None where the name is not in the contents, or has no file."""
    if not any(name in names for names in CONTENTS.values()):
        return None
    paths = (settings.HELP_DIR / "help" / f"{name}.md", settings.HELP_DIR / f"{name}.md")
    return next((path for path in paths if path.is_file()), None)


def document(name: str) -> Document | None:
    """The page, parsed again when its file has changed."""
    path = path_of(name)
    return _parsed(name, path, path.stat().st_mtime_ns) if path else None


@lru_cache(maxsize=64)
def _parsed(name: str, path: Path, modified: int) -> Document:
    return parse(name, path.read_text(encoding="utf-8"))


def table_of_contents() -> list[tuple[str, list[Document]]]:
    """The sections with their pages."""
    return [
        (section, [page for name in names if (page := document(name))]) for section, names in CONTENTS.items()
    ]


def search(words: str) -> list[tuple[Document, str, str, str]]:
    """The parts of pages that have every word: page, anchor, heading and the beginning of the text.

    Hits in headings come first, otherwise in the order of the contents.
    """
    wanted = words.casefold().split()
    hits = []
    for page in filter(None, map(document, page_names())):
        for part in page.parts if wanted else ():
            heading = f"{page.title} {part.heading}".casefold()
            if all(word in heading or word in part.text.casefold() for word in wanted):
                hits.append((-sum(word in heading for word in wanted), page, part))
    hits.sort(key=lambda hit: hit[0])
    return [(page, part.anchor, part.heading, part.text[:200]) for _, page, part in hits]
