"""What RubricWeb writes and does not read again; a test looks at every download and part of a release."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy


@dataclass(frozen=True, slots=True)
class OneWay:
    """Files that Import does not read."""

    files: tuple[str, ...]
    """Routes, after a blank those of one form of theirs; folders and files of a release after `release`."""
    description: str | Promise
    """What they are, and what is read instead."""


ONE_WAY = (
    OneWay(
        ("exports:human-grades tsv", "exports:flags tsv"),
        gettext_lazy("Ratings and flags as TSV, for spreadsheets: JSON Lines are read."),
    ),
    OneWay(
        ("exports:random-cells jsonl", "exports:random-cells tsv"),
        gettext_lazy("Random cells, which belong to their campaign: an archive brings campaigns along."),
    ),
    OneWay(
        ("arena:votes-file csv", "arena:votes-file tsv", "arena:votes-file json"),
        gettext_lazy("Votes that count as CSV, TSV and JSON: all votes as JSON Lines are read."),
    ),
    OneWay(
        ("arena:board-file csv", "arena:board-file tsv", "arena:board-file json"),
        gettext_lazy("The vote board, which is computed of the votes."),
    ),
    OneWay(
        ("exports:support qrels",),
        gettext_lazy("Labels of support as qrels, which name nobody: JSON Lines are read."),
    ),
    OneWay(
        ("exports:leaderboard tex", "exports:leaderboard eval.measures.yml"),
        gettext_lazy("Leaderboards as LaTeX, and the YAML of their measures: the other formats are read."),
    ),
    OneWay(
        (
            "exports:listing verify",
            "exports:listing spurious",
            "exports:listing uncovered",
            "exports:listing grid",
        ),
        gettext_lazy("Listings of the Workbench, which are written for people."),
    ),
    OneWay(
        ("exports:qrels-losses", "exports:bank-losses"),
        gettext_lazy("Lists of what a file leaves out."),
    ),
    OneWay(
        (
            *("corpus:audit-file csv", "corpus:audit-file tsv"),
            *("leaderboards:plot", "calibration:card-file", "releases:names"),
        ),
        gettext_lazy(
            "The audit trail, figures, calibration cards, and the names behind pseudonyms of a release."
        ),
    ),
    OneWay(
        (
            *("release prompts", "release runs/runs.tsv", "release agreement", "release figures"),
            *("release provenance", "release tex", "release README.md", "release manifest.json"),
            "release SHA256SUMS",
        ),
        gettext_lazy("Of a release: prompts, the list of runs, agreement, figures, LaTeX, provenance."),
    ),
)
"""In the order of the page Export."""
