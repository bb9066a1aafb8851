"""Counts of things whose name is a parameter, so that a translation has its own plural for each."""

from __future__ import annotations

from django.utils import formats
from django.utils.translation import ngettext_lazy

COUNTED = {
    "cell": ngettext_lazy("%(n)s cell", "%(n)s cells", "count"),
    "draft": ngettext_lazy("%(n)s draft", "%(n)s drafts", "count"),
    "error": ngettext_lazy("%(n)s error", "%(n)s errors", "count"),
    "flag": ngettext_lazy("%(n)s flag", "%(n)s flags", "count"),
    "group": ngettext_lazy("%(n)s group", "%(n)s groups", "count"),
    "item": ngettext_lazy("%(n)s item", "%(n)s items", "count"),
    "problem": ngettext_lazy("%(n)s problem", "%(n)s problems", "count"),
    "pair": ngettext_lazy("%(n)s pair", "%(n)s pairs", "count"),
    "passage": ngettext_lazy("%(n)s passage", "%(n)s passages", "count"),
    "answer": ngettext_lazy("%(n)s answer", "%(n)s answers", "count"),
    "rating": ngettext_lazy("%(n)s rating", "%(n)s ratings", "count"),
    "file": ngettext_lazy("%(n)s file", "%(n)s files", "count"),
    "run": ngettext_lazy("%(n)s run", "%(n)s runs", "count"),
    "topic": ngettext_lazy("%(n)s topic", "%(n)s topics", "count"),
    "warning": ngettext_lazy("%(n)s warning", "%(n)s warnings", "count"),
}


def number(value: float | None, digits: int | None = None) -> str:
    """Write a number as the language of the page does: 1,234 or 1.234; empty for None."""
    return "" if value is None else str(formats.number_format(value, digits, force_grouping=True))


def counted(count: int, what: str) -> str:
    """Write a count with its name: 1 passage, 1,234 passages."""
    return COUNTED[what] % {"count": count, "n": number(count)}
