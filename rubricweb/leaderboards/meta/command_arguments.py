"""What commands share that compare boards or labels: graders and banks, several at a time, and formats."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any

from grading.formats.tables import tex_lines, text_lines
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import scored_graders
from rubricweb.leaderboards.board.types import BoardError

LINES = {"table": text_lines, "tex": tex_lines}
"""How a table is printed for people."""
FORMATS = ("json", "tsv", *LINES)

Options = Mapping[str, Any]  # as argparse and call_command give them


def add_comparing_arguments(parser: ArgumentParser) -> None:
    """Add what is compared, and how it is printed."""
    parser.add_argument("slug", help="the collection")
    parser.add_argument("--prompt-class", action="append", default=[], metavar="C", help="default: all")
    parser.add_argument("--llm", action="append", default=[], metavar="L", help="default: all")
    parser.add_argument("--bank", action="append", default=[], metavar="NAME", help="default: all graded")
    words = "first judgment that is relevant; default: the collection's"
    parser.add_argument("--min-relevant-judgment", type=int, metavar="N", help=words)
    parser.add_argument("--format", default="json", help="json (default), table, tsv or tex")


def first_relevant(collection: Collection, options: Options) -> int:
    stated: int | None = options["min_relevant_judgment"]
    return collection.min_relevant if stated is None else stated


def check_format(options: Options) -> None:
    if options["format"] not in FORMATS:
        raise BoardError("format", f"no format {options['format']!r}; known are {', '.join(FORMATS)}")


def graders_named(collection: Collection, options: Options) -> list[GraderConfig]:
    """Return the graders of the named prompt classes and llms; all that can be scored where none is named."""
    configs = [row.config for row in scored_graders(collection)]
    for name in ("prompt_class", "llm"):
        known = sorted({str(getattr(config, name)) for config in configs})
        _known(options[name], known, what=name.replace("_", " "))
        configs = [
            config for config in configs if not options[name] or getattr(config, name) in options[name]
        ]
    return configs


def banks_named(collection: Collection, names: Sequence[str]) -> list[Bank]:
    banks = list(collection.banks.all())
    _known(names, [bank.name for bank in banks], what="bank")
    return [bank for bank in banks if not names or bank.name in names]


def _known(names: Sequence[str], known: Sequence[str], *, what: str) -> None:
    for name in names:
        if name not in known:
            raise BoardError(what, f"no {what} {name}; there are {', '.join(known) or 'none'}")
