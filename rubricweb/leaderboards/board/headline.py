"""What a board says of its runs: the same sentences on its page, beside two runs, in files and in the API."""

from __future__ import annotations

import numpy as np
from django.utils.translation import gettext, ngettext

from grading.statistics.max_t import POWER
from rubricweb.leaderboards.board.types import Top

NAMED = 3
"""So many runs that are first with equal scores are named."""


def headline(top: Top | None, n_topics: int) -> str:
    """Return which run is first, and how many are not clearly behind it; empty where nothing is tested.

    >>> headline(Top(True, ("bm25",), 2, 4, 0.09), 25)
    'bm25 is first; 2 more are not clearly behind.'
    """
    if top is None:
        return ""
    if not top.can_tell:
        return gettext("With %(n)d topics no run can be clearly ahead.") % {"n": n_topics}
    facts = {"first": names(top.first), "n": top.n_not_behind}
    if not top.n_not_behind and not top.n_behind:
        if len(top.first) == 1:
            return gettext("Only %(first)s has a score.") % facts
        return gettext("%(first)s have exactly the same score.") % facts
    if len(top.first) == 1 and not top.n_not_behind:
        return gettext("%(first)s is clearly ahead of all others.") % facts
    if len(top.first) == 1:
        more = ngettext(
            "%(first)s is first; %(n)d more is not clearly behind.",
            "%(first)s is first; %(n)d more are not clearly behind.",
            top.n_not_behind,
        )
        return more % facts
    if not top.n_not_behind:
        return gettext("%(first)s have exactly the same score, and are clearly ahead of all others.") % facts
    more = ngettext(
        "%(first)s are first with exactly the same score; %(n)d more is not clearly behind.",
        "%(first)s are first with exactly the same score; %(n)d more are not clearly behind.",
        top.n_not_behind,
    )
    return more % facts


def resolution(top: Top | None, n_topics: int) -> str:
    """Return which differences the topics can tell; empty where they tell none.

    >>> resolution(Top(True, ("bm25",), 2, 4, 0.091), 25)
    '25 topics tell differences of 0.091 apart with 80 % power.'
    """
    if top is None or not top.can_tell or top.resolution is None:
        return ""
    difference = np.format_float_positional(top.resolution, precision=2, fractional=False, trim="-")
    facts = {"n": n_topics, "difference": difference, "power": f"{100 * POWER:g}"}
    return gettext("%(n)d topics tell differences of %(difference)s apart with %(power)s %% power.") % facts


def names(tags: tuple[str, ...]) -> str:
    """Return the runs as a sentence lists them."""
    if len(tags) == 1:
        return tags[0]
    if len(tags) <= NAMED:
        return gettext("%(names)s and %(last)s") % {"names": ", ".join(tags[:-1]), "last": tags[-1]}
    return gettext("%(names)s and %(n)d more") % {
        "names": ", ".join(tags[: NAMED - 1]),
        "n": len(tags) - NAMED + 1,
    }
