"""Compare two runs of a board, or one with the mean of all runs, in numbers and in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isnan

import numpy as np
from django.utils.html import format_html
from django.utils.safestring import SafeString
from numpy.typing import NDArray

from grading.arrays import best_first, none_if_nan
from grading.formats.tables import tex
from grading.statistics.max_t import ALPHA, PairedTest, interval
from grading.statistics.mean_intervals import LEVEL, resamples
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.sentences import headline

Floats = NDArray[np.float64]
SAME = 5e-4
"""A difference that three decimals show as 0."""
MOST_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class TopicPair:
    """A topic that counts for both."""

    topic_id: int
    query_id: str
    first: float
    second: float
    unit: int = 0
    """Its place among what the board averages: topics, or the subtopics of its one topic."""

    less_is_better: bool = False

    @property
    def difference(self) -> float:
        return self.first - self.second

    @property
    def lead(self) -> float:
        """Return how much better the first is."""
        return -self.difference if self.less_is_better else self.difference


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The better run comes first."""

    first: str
    second: str
    ahead: float
    """How much better the first one's mean is, over the topics that count for both; NaN without any."""
    low: float
    """The ends of the 95 % interval of `ahead`; infinite without one."""
    high: float
    p: float | None
    """Adjusted for all pairs of the board; None where nothing is tested: by measures that are no means over
    topics, or with too few topics.
    """
    test: PairedTest
    headline: str
    """What the board says of its runs; empty where it tests nothing."""
    topics: tuple[TopicPair, ...]
    """The one with the largest lead of the first run comes first."""

    @property
    def has_interval(self) -> bool:
        return isfinite(self.low)

    @property
    def is_clear(self) -> bool:
        """Return whether the difference is clear by the board's test of all its pairs."""
        return self.p is not None and self.p <= ALPHA


class UnknownRun(Exception):
    """The board lacks such a run, or there is only one; the text says so."""


def compare(scored: ScoredBoard, first: str = "", second: str = "") -> RunComparison:
    """Compare two runs by name; empty names are the board's first and next. Raises UnknownRun."""
    tags = scored.run_tags
    if len(tags) < 2:
        raise UnknownRun("A comparison takes two runs, and this board has fewer.")
    if unknown := {first, second} - {"", *tags}:
        raise UnknownRun(f"The board has no run {min(unknown)}; its runs are {', '.join(tags)}.")
    if first and first == second:
        raise UnknownRun("A comparison takes two different runs.")
    order = best_first(scored.mean_merits).tolist()
    row = tags.index(first) if first else next(run for run in order if tags[run] != second)
    other = tags.index(second) if second else next(run for run in order if run != row)
    return compare_rows(scored, row, other)


def compare_rows(scored: ScoredBoard, run: int, other: int) -> RunComparison:
    """Compare two runs by their rows in the table of scores."""
    scores, merits = scored.table.scores, scored.merits
    if _ahead(merits, run, other) < 0:
        run, other = other, run
    ranks = scored.ranks
    low, high = interval(merits[run] - merits[other], ranks.test) if ranks else (-inf, inf)
    return RunComparison(
        first=scored.run_tags[run],
        second=scored.run_tags[other],
        ahead=_ahead(merits, run, other),
        low=low,
        high=high,
        p=float(ranks.p[run, other]) if ranks and ranks.can_tell else None,
        test=ranks.test if ranks else scored.spec.test,
        headline=headline(scored.top, ranks.topics if ranks else 0),
        topics=topic_pairs(scored, scores[run], scores[other]),
    )


def topic_pairs(scored: ScoredBoard, ours: Floats, theirs: Floats) -> tuple[TopicPair, ...]:
    """Return the topics that count on both sides, by scores of shape (topics,); largest lead first."""
    less = scored.spec.measure.registered.less_is_better
    pairs = [
        TopicPair(topic.topic_id, topic.query_id, float(ours[place]), float(theirs[place]), place, less)
        for place, (topic, _) in enumerate(scored.base.units())
        if not np.isnan([ours[place], theirs[place]]).any()
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.lead))


def mean_of_all(scored: ScoredBoard) -> Floats:
    """Return the mean of all runs on each topic, shape (topics,); NaN where a topic counts for none."""
    counted = ~np.isnan(scored.table.scores)
    totals = np.where(counted, scored.table.scores, 0.0).sum(axis=0)
    return np.where(counted.any(axis=0), totals / np.maximum(counted.sum(axis=0), 1), np.nan)


def redrawn_means(differences: Floats) -> Floats:
    """Return an array of shape (redraws,): the mean of differences, shape (topics,), by topics drawn anew.

    >>> redrawn_means(np.array([0.5, 0.5])).std().item()
    0.0
    """
    n = len(differences)
    return np.asarray(resamples(n) @ differences / n, dtype=np.float64)


def _ahead(merits: Floats, run: int, other: int) -> float:
    differences = merits[run] - merits[other]
    counted = differences[~np.isnan(differences)]
    return float(counted.mean()) if len(counted) else float("nan")


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
        "equal_topics": sum(abs(topic.difference) < SAME for topic in pair.topics),
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
