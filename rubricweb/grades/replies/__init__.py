"""What models wrote, word for word: long replies lie together in compressed blocks, beside their grades.

`blocks` stores and reads them, `packing` moves replies there that are in the rows of their grades, and
`dropping` drops old ones where a collection's policy says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from django.utils.module_loading import import_string

Rule = Callable[[int, Iterable[int], Iterable[int]], Iterable[tuple[int, int]]]
"""From a topic, wordings and passages to those of their cells whose replies are never dropped."""

_rules = ["rubricweb.grades.replies.dropping.rated_cells"]


def keep_also(rule: str) -> None:
    """Let a room above say which replies stay, when its app is ready; `rule` is the full name of a Rule."""
    if rule not in _rules:
        _rules.append(rule)


def rules() -> list[Rule]:
    """Import the rules: whoever drops nothing never loads them."""
    return [cast("Rule", import_string(name)) for name in _rules]
