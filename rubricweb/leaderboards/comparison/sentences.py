"""What can honestly be said of two runs, in one sentence, and as a document."""

from __future__ import annotations

from math import isnan

from django.utils.translation import gettext, ngettext

from grading.arrays import none_if_nan
from grading.formats.sheets import tex
from grading.statistics.bootstrap import LEVEL
from grading.statistics.pair_difference import PairDifference
from rubricweb.leaderboards.comparison.selectors import RunComparison

SAME = 5e-4
"""A difference that three decimals show as 0."""


def sentence(found: RunComparison) -> str:
    """Return one sentence: which run is better by how much, or that nobody can tell.

    It has the 95 % interval of the difference, the number of topics, and how many pairs of the board as clear
    as a clear one would be noise.
    """
    words = {"first": found.first, "second": found.second, "ahead": f"{found.ahead:.3f}"}
    if isnan(found.ahead):
        return gettext("No topic counts for both %(first)s and %(second)s.") % words
    difference = found.difference
    if difference is None:
        return (
            gettext("%(first)s is ahead of %(second)s by %(ahead)s; nothing tests whether by chance.") % words
        )
    words["facts"] = _facts(difference)
    if not difference.is_clear and abs(found.ahead) < SAME:
        return gettext("%(first)s and %(second)s score the same (%(facts)s).") % words
    if difference.is_clear:
        return gettext("%(first)s beats %(second)s by %(ahead)s (%(facts)s).") % words
    if difference.has_interval:
        return gettext("%(first)s is ahead of %(second)s by %(ahead)s, maybe by chance (%(facts)s).") % words
    return (
        gettext("%(first)s is ahead of %(second)s by %(ahead)s; too few topics to test (%(facts)s).") % words
    )


def _facts(difference: PairDifference) -> str:
    facts = []
    if difference.has_interval:
        ends = {"low": _signed(difference.low), "high": _signed(difference.high)}
        facts.append(gettext("95 %% %(low)s to %(high)s") % ends)
    n = difference.n_topics
    facts.append(ngettext("%(n)d topic", "%(n)d topics", n) % {"n": n})
    if difference.has_interval:
        facts.append(_noise(difference))
    return "; ".join(facts)


def _noise(difference: PairDifference) -> str:
    """How many pairs as clear as this one would be noise; the p-value of an unclear pair, or a single one."""
    found, noise = difference.n_found, round(difference.by_chance)
    if difference.n_pairs == 1 or not difference.is_clear:
        return gettext("p = %(p)s") % {"p": f"{difference.p:.3f}"}
    if found == 1:
        words = {"noise": f"{difference.by_chance:.1g}"}
        return gettext("no other pair is as clear, and %(noise)s would be by chance") % words
    words = {"noise": str(noise) if noise else gettext("fewer than 1"), "found": str(found)}
    return gettext("%(noise)s of %(found)s such pairs at this level would be noise") % words


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-", "\N{MINUS SIGN}")


def document(found: RunComparison) -> dict[str, object]:
    """Return everything that the page says; `tex` is the sentence for a paper."""
    difference, said = found.difference, sentence(found)
    has_interval = difference is not None and difference.has_interval
    return {
        "first": found.first,
        "second": found.second,
        "difference": none_if_nan(found.ahead),
        "low": difference.low if difference and has_interval else None,
        "high": difference.high if difference and has_interval else None,
        "level": LEVEL,
        "topics": len(found.topics),
        "test": str(found.test),
        "p": difference.p if difference else None,
        "pairs": difference.n_pairs if difference else None,
        "pairs_as_clear": difference.n_found if difference else None,
        "expected_by_chance": difference.by_chance if difference else None,
        "is_clear": difference.is_clear if difference else None,
        "is_apart_among_all": found.is_apart_among_all,
        "sentence": said,
        "tex": tex(said),
    }
