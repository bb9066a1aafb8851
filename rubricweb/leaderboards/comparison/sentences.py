"""What the topics show of two runs or of one: the same sentences on the page, in the API and for a paper."""

from __future__ import annotations

from math import isnan

from django.utils.html import format_html
from django.utils.safestring import SafeString

from grading.arrays import none_if_nan
from grading.formats.tables import tex
from grading.statistics.mean_intervals import LEVEL
from rubricweb.leaderboards.board.headline import headline
from rubricweb.leaderboards.board.scored import ScoredBoard
from rubricweb.leaderboards.comparison.selectors import RunComparison

SAME = 5e-4
"""A difference that three decimals show as 0."""
MOST_DECIMALS = 9


def sentences(pair: RunComparison) -> str:
    """Return what the board says of its runs, and what it says of this pair."""
    return " ".join(filter(None, (pair.headline, sentence(pair))))


def sentence(pair: RunComparison) -> str:
    """Return the verdict on a pair with the difference, its 95 % interval and the number of topics."""
    decimals = _decimals(pair)
    verdict = _verdict(pair).format(first=pair.first, second=pair.second)
    if isnan(pair.ahead):
        return f"{verdict}."
    n = len(pair.topics)
    facts = [f"{n} topic{'' if n == 1 else 's'}"]
    if pair.has_interval:
        facts.insert(0, f"95 % {number(pair.low, decimals)} to {number(pair.high, decimals)}")
    by = "" if _is_same(pair) else f" by {number(pair.ahead, decimals)}"
    if by and not pair.is_clear:
        by = f", with a difference of {number(pair.ahead, decimals)}"
    return f"{verdict}{by} ({'; '.join(facts)})."


def verdict(pair: RunComparison, a: str, b: str) -> SafeString:
    """Return the first line of the page, in which the names of A and B have their colours."""
    n = len(pair.topics)
    over = "" if isnan(pair.ahead) else f" {'on' if _is_same(pair) else 'with'} {n} topic{'s' * (n != 1)}"
    names = {tag: format_html('<b class="run-{}">{}</b>', side, tag) for side, tag in (("a", a), ("b", b))}
    return format_html(f"{_verdict(pair)}{over}.", first=names[pair.first], second=names[pair.second])


def verdict_on_run(scored: ScoredBoard, run: int) -> str:
    """Return what the board says of one run; its name is always in it."""
    top, ranks = scored.top, scored.ranks
    tag = scored.run_tags[run]
    if top is None or ranks is None:
        return tag
    if not top.can_tell or tag in top.first:
        of_board = headline(top, ranks.topics)
        return of_board if tag in of_board else f"{tag}. {of_board}"
    if not ranks.order.has_mean[run]:
        return f"{tag} has no score."
    is_behind = bool(ranks.order.behind_first[run])
    return f"{tag} is {'' if is_behind else 'not '}clearly behind {' and '.join(top.first)}."


def number(value: float, decimals: int = 3, *, signed: bool = False) -> str:
    """Return the number with a true minus sign; 0 has no sign.

    >>> number(-0.0651, signed=True), number(0.0651, signed=True), number(-0.0001, signed=True)
    ('\u22120.065', '+0.065', '0.000')
    """
    rounded = f"{value:z.{decimals}f}"
    plus = "+" if signed and value > 0 and float(rounded) else ""
    return plus + rounded.replace("-", "\N{MINUS SIGN}")


def scores_and_difference(pair: RunComparison, a: float, b: float) -> str:
    """Return the scores of A and B, and A's minus B's with its interval."""
    decimals, sign = _decimals(pair), 1 if a >= b else -1
    text = f"{number(a, decimals)} against {number(b, decimals)}; difference "
    text += number(sign * pair.ahead, decimals, signed=True)
    if not pair.has_interval:
        return f"{text}."
    low, high = sorted((sign * pair.low, sign * pair.high))
    ends = f"{number(low, decimals, signed=True)} to {number(high, decimals, signed=True)}"
    return f"{text}, 95 % {ends}."


def document(pair: RunComparison) -> dict[str, object]:
    """Return everything that the page says; `tex` is the same for a paper."""
    text = sentences(pair)
    return {
        "verdict": pair.headline or None,
        "first": pair.first,
        "second": pair.second,
        "difference": none_if_nan(pair.ahead),
        "low": pair.low if pair.has_interval else None,
        "high": pair.high if pair.has_interval else None,
        "level": LEVEL,
        "topics": len(pair.topics),
        "test": str(pair.test),
        "p": pair.p,
        "is_clear": pair.is_clear,
        "sentence": text,
        "tex": tex(text),
    }


def _verdict(pair: RunComparison) -> str:
    """Return a sentence without its end, with places for the names of the better and of the other run."""
    if isnan(pair.ahead):
        return "No topic counts for both {first} and {second}"
    if pair.is_clear:
        return "{first} is clearly ahead of {second}"
    if _is_same(pair):
        return "{first} and {second} score the same"
    return "{second} is not clearly behind {first}"


def _is_same(pair: RunComparison) -> bool:
    return abs(pair.ahead) < SAME and not pair.is_clear


def _decimals(pair: RunComparison) -> int:
    """Return 3, or as many as show that an interval has a width and that a clear difference is one."""

    def are_enough(decimals: int) -> bool:
        has_width = not pair.has_interval or round(pair.low, decimals) < round(pair.high, decimals)
        return has_width and (not pair.is_clear or round(pair.ahead, decimals) > 0)

    return next(filter(are_enough, range(3, MOST_DECIMALS)), MOST_DECIMALS)
