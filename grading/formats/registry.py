"""All file formats. To add one, write its reader and writer with a `Format`, and a line in FORMATS.

Imports, pages and docs/help/files.md read what is said here. A file of the format in fixtures/formats is its
test: it is recognised, read, written and read again, and after random changes refused with file and line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grading import formats
from grading.errors import BadFormat, Unclear
from grading.formats import (
    Content,
    Format,
    banks,
    battles,
    events,
    graded,
    leaderboards,
    listings,
    official,
    passages,
    topics,
    trec,
)
from grading.formats.annotation_tools import ARGILLA, DOCCANO, LABEL_STUDIO
from grading.formats.assessments import ASSESSMENTS
from grading.formats.battles import RAGDOLL_BATTLES
from grading.formats.nugget_grades import NUGGET_GRADES, UMBRELA
from grading.formats.ratings import AUTOJUDGE_ANNOTATE
from grading.formats.responses.conversion import FORMATS as RESPONSES
from grading.formats.responses.langfuse import LANGFUSE
from grading.formats.responses.otel import OTEL
from grading.formats.support_labels import JUDGED_PLACES, LABELLED_ANSWERS
from grading.formats.topic_dialects import TopicEntry
from grading.types import Response

FORMATS: tuple[Format, ...] = (
    *topics.FORMATS,
    *passages.FORMATS,
    graded.WORKBENCH_GRADED,
    *banks.FORMATS,
    *trec.FORMATS,
    *RESPONSES,
    OTEL,
    LANGFUSE,
    UMBRELA,
    NUGGET_GRADES,
    ARGILLA,
    DOCCANO,
    LABEL_STUDIO,
    AUTOJUDGE_ANNOTATE,
    *events.FORMATS,
    *battles.FORMATS,
    RAGDOLL_BATTLES,
    LABELLED_ANSWERS,
    JUDGED_PLACES,
    ASSESSMENTS,
    *official.FORMATS,
    *leaderboards.FORMATS,
    *listings.FORMATS,
)
"""Our formats, in the order of docs/help/files.md."""
PLUGGED: list[Format] = []
"""Those of plug-ins, in the order of loading. A file is one of theirs if it is none of ours."""
PLUGGABLE: Mapping[Content, type] = {
    Content.TOPICS: TopicEntry,
    Content.PASSAGES: passages.PassageEntry,
    Content.RESPONSES: Response,
}
"""Contents of which plug-ins may bring formats, and what their readers yield."""


def find(name: str) -> Format:
    """Return the format of that name. Raises `BadFormat`, which lists the known ones."""
    every = (*FORMATS, *PLUGGED)
    for each in every:
        if each.name == name:
            return each
    raise BadFormat(f"no format {name!r}, expected {', '.join(each.name for each in every)}")


def of_content(*contents: Content) -> tuple[Format, ...]:
    """Return the formats of these contents; all without an argument."""
    return tuple(each for each in (*FORMATS, *PLUGGED) if not contents or each.content in contents)


def candidates(path: Path, *contents: Content) -> list[Format]:
    """Return the formats that the file may have. Raises `BadFormat` for a file that is no text."""
    fitting = formats.candidates(path, of_content(*contents))
    return [each for each in fitting if not each.plugin] or fitting


def plugged(path: Path, content: Content) -> Format | None:
    """Return the plug-in's format that the file has; None if it has none, or one of ours.

    Raises `BadFormat` where several fit, and for a file that is no text.
    """
    if not any(each.content is content for each in PLUGGED):
        return None
    fitting = candidates(path, content)
    theirs = [each for each in fitting if each.plugin]
    if len(theirs) > 1:
        raise formats.unclear(path, theirs)
    return theirs[0] if theirs else None


def recognise(path: Path, *contents: Content) -> Format:
    """Return the file's format, which its first lines tell.

    Raises `BadFormat` where no format fits, with what could be read, or with what the file is instead of
    `contents`; and where several fit, with their names.
    """
    if contents and not candidates(path, *contents) and (others := candidates(path)):
        labels = " or ".join(each.label for each in others)
        problem = f"the content is {labels}, expected {' or '.join(contents)}"
        raise BadFormat(problem, file=path.name, line=1)
    try:
        return formats.recognise_among(path, candidates(path, *contents) or of_content(*contents))
    except Unclear:
        raise
    except BadFormat as error:
        near = banks.nearest_of(formats.read_sample(path)) if not contents or Content.BANK in contents else ""
        raise BadFormat(
            f"{near}; {error.problem}" if near else error.problem, file=path.name, line=1
        ) from error


def table() -> list[str]:
    """Return the table of docs/help/files.md as lines of Markdown."""
    head = ("format", "name", "content", "read", "write", "lossless", "source")
    rows = [head, ("---",) * len(head)]
    for each in FORMATS:
        marks = ("yes" if mark else "no" for mark in (each.is_read, each.write, each.is_lossless))
        rows.append((each.label, f"`{each.name}`", each.content.value, *marks, each.source))
    return [f"| {' | '.join(row)} |" for row in rows]
