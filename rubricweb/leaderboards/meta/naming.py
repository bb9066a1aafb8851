"""Graders and banks that a command names, several at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig
from rubricweb.leaderboards import choices
from rubricweb.leaderboards.errors import BoardError

Options = Mapping[str, Any]  # as argparse and call_command give them


def graders_named(collection: Collection, options: Options) -> list[GraderConfig]:
    """The graders of the named prompt classes and llms; all that can be scored where none is named."""
    configs = [row.config for row in choices.scored_graders(collection)]
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
