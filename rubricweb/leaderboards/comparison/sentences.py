"""What can honestly be said of two runs, in one sentence, and as a document."""

from __future__ import annotations

from math import isnan

from django.utils.translation import gettext, ngettext

from grading.arrays import none_if_nan
from grading.formats.sheets import tex
from grading.statistics.bootstrap import LEVEL
from rubricweb.leaderboards.comparison.selectors import RunComparison

SAME = 5e-4
"""A difference that three decimals show as 0."""


def sentences(found: RunComparison) -> str:
    """Return what the board says of its runs, and how far one of the two is ahead of the other."""
    return " ".join(filter(None, (found.verdict, sentence(found))))


def sentence(found: RunComparison) -> str:
    """Return which run is ahead by how much, with the 95 % interval of the difference and the number of
    topics; "clearly" only where the board's test of all its pairs says so.
    """
    words = {
        "first": found.first,
        "second": found.second,
        "ahead": f"{found.ahead:z.3f}",
        "facts": _facts(found),
    }
    if isnan(found.ahead):
        return gettext("No topic counts for both %(first)s and %(second)s.") % words
    if found.is_clear:
        return gettext("%(first)s is clearly ahead of %(second)s by %(ahead)s (%(facts)s).") % words
    if abs(found.ahead) < SAME:
        return gettext("%(first)s and %(second)s score the same (%(facts)s).") % words
    return gettext("%(first)s is ahead of %(second)s by %(ahead)s (%(facts)s).") % words


def _facts(found: RunComparison) -> str:
    n = len(found.topics)
    topics = ngettext("%(n)d topic", "%(n)d topics", n) % {"n": n}
    if not found.has_interval:
        return topics
    ends = {"low": _signed(found.low), "high": _signed(found.high)}
    return gettext("95 %% %(low)s to %(high)s") % ends + f"; {topics}"


def _signed(value: float) -> str:
    return f"{value:z.3f}".replace("-", "\N{MINUS SIGN}")


def document(found: RunComparison) -> dict[str, object]:
    """Return everything that the page says; `tex` is the same for a paper."""
    said = sentences(found)
    return {
        "verdict": found.verdict or None,
        "first": found.first,
        "second": found.second,
        "difference": none_if_nan(found.ahead),
        "low": found.low if found.has_interval else None,
        "high": found.high if found.has_interval else None,
        "level": LEVEL,
        "topics": len(found.topics),
        "test": str(found.test),
        "p": found.p,
        "is_clear": found.is_clear,
        "sentence": said,
        "tex": tex(said),
    }
