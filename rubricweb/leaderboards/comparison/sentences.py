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
MOST_DECIMALS = 9


def sentences(found: RunComparison) -> str:
    """Return what the board says of its runs, and how far one of the two is ahead of the other."""
    return " ".join(filter(None, (found.verdict, sentence(found))))


def sentence(found: RunComparison) -> str:
    """Return which run is ahead by how much, with the 95 % interval of the difference and the number of
    topics; "clearly" only where the board's test of all its pairs says so.
    """
    decimals = _decimals(found)
    values = {
        "first": found.first,
        "second": found.second,
        "ahead": _number(found.ahead, decimals),
        "facts": _facts(found, decimals),
    }
    if isnan(found.ahead):
        return gettext("No topic counts for both %(first)s and %(second)s.") % values
    if found.is_clear:
        return gettext("%(first)s is clearly ahead of %(second)s by %(ahead)s (%(facts)s).") % values
    if abs(found.ahead) < SAME:
        return gettext("%(first)s and %(second)s score the same (%(facts)s).") % values
    return gettext("%(first)s is ahead of %(second)s by %(ahead)s (%(facts)s).") % values


def _facts(found: RunComparison, decimals: int) -> str:
    n = len(found.topics)
    topics = ngettext("%(n)d topic", "%(n)d topics", n) % {"n": n}
    if not found.has_interval:
        return topics
    ends = {"low": _number(found.low, decimals), "high": _number(found.high, decimals)}
    return gettext("95 %% %(low)s to %(high)s") % ends + f"; {topics}"


def _decimals(found: RunComparison) -> int:
    """Return 3, or as many as show that an interval has a width and that a clear difference is one."""

    def are_enough(decimals: int) -> bool:
        has_width = not found.has_interval or round(found.low, decimals) < round(found.high, decimals)
        return has_width and (not found.is_clear or round(found.ahead, decimals) > 0)

    return next(filter(are_enough, range(3, MOST_DECIMALS)), MOST_DECIMALS)


def _number(value: float, decimals: int) -> str:
    return f"{value:z.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def document(found: RunComparison) -> dict[str, object]:
    """Return everything that the page says; `tex` is the same for a paper."""
    text = sentences(found)
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
        "sentence": text,
        "tex": tex(text),
    }
