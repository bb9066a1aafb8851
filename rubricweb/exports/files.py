"""What the files of this room share: names, the page on which a format is chosen, and what Import reads."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.forms import BaseForm
from django.http import HttpResponse

from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.models import Collection

UNSAFE = re.compile(r"[^A-Za-z0-9.@_-]+")
SHOWN = 500
"""How many entries of each list of losses the page shows."""


def file_page(
    request: HtmxRequest,
    collection: Collection,
    form: BaseForm,
    export: object | None,
    **context: object,
) -> HttpResponse:
    """Let people choose a format, and show `export`, with what it lacks; None where the form is invalid.

    `context` has the `title` and `intro` of the page, and the `file_address` of the download.
    """
    respond = form_response if export is None else page_or_part
    context |= {"collection": collection, "form": form, "export": export, "shown": SHOWN}
    return respond(request, "exports/file.html", context, part="file")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file beside `path` to write, which takes its place, so that nobody reads half of it."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        written = Path(folder) / path.name
        yield written
        written.replace(path)


def joined(*parts: str) -> str:
    """Return the parts as the stem of a file's name, without those that are empty."""
    return "_".join(UNSAFE.sub("-", part).strip("-.") for part in parts if part)


@dataclass(frozen=True, slots=True)
class OneWay:
    """Files that Import does not read."""

    files: tuple[str, ...]
    """Routes, after a blank those of one form of theirs; folders and files of a release after `release`."""
    description: str
    """What they are, and what is read instead."""


ONE_WAY = (
    OneWay(
        ("exports:human-grades tsv", "exports:flags tsv"),
        "Ratings and flags as TSV, for spreadsheets: import JSON Lines.",
    ),
    OneWay(
        ("exports:random-cells jsonl", "exports:random-cells tsv"),
        "Pairs drawn at random, which belong to their campaign: an archive contains campaigns.",
    ),
    OneWay(
        ("arena:votes-file csv", "arena:votes-file tsv", "arena:votes-file json"),
        "Votes that count as CSV, TSV and JSON: import all votes as JSON Lines, or as battles.",
    ),
    OneWay(
        ("arena:board-file csv", "arena:board-file tsv", "arena:board-file json"),
        "The vote board, which is computed from the votes.",
    ),
    OneWay(("exports:support qrels",), "Support labels as qrels, which name nobody: import JSON Lines."),
    OneWay(
        ("exports:leaderboard tex", "exports:leaderboard eval.measures.yml"),
        "Leaderboards as LaTeX, and their measures as YAML: import another format.",
    ),
    OneWay(
        (
            "exports:listing verify",
            "exports:listing spurious",
            "exports:listing uncovered",
            "exports:listing grid",
        ),
        "Listings of the Workbench, which are written for people.",
    ),
    OneWay(("exports:qrels-losses", "exports:bank-losses"), "Lists of what a file leaves out."),
    OneWay(
        (
            *("corpus:audit-file csv", "corpus:audit-file tsv"),
            *("leaderboards:plot", "graders:card-file", "releases:names"),
        ),
        "The audit trail, figures, calibration cards, and the names behind pseudonyms of a release.",
    ),
    OneWay(
        (
            *("release prompts", "release runs/runs.tsv", "release agreement", "release figures"),
            *(
                "release provenance",
                "release tex",
                "release py",
                "release README.md",
                "release manifest.json",
            ),
            "release SHA256SUMS",
        ),
        "Of a release: prompts, the list of runs, agreement, figures, LaTeX, provenance, the script.",
    ),
)
"""In the order of the page Share."""
