"""Attributes of topics, the slices of a collection that they make, and diverse topics drawn by them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from grading.errors import UnknownSlice

TopicAttributes = Mapping[str, Mapping[str, object]]
"""Values by query id and by the names of attributes, as a file of topics has them."""
MAX_CATEGORIES = 50
"""What has more values is a text or an id, and no attribute."""


DISTANCE = (
    "how much two topics differ is the sum over attributes of the difference of their scores divided by the "
    "range of all scores, or of the share of their categories that only one has; 1 where only one has the "
    "attribute"
)
"""The distance in words, for those who read what was drawn."""
PLAIN_DISTANCE = (
    "how much two topics differ is the sum over attributes of the difference of their scores as they are "
    "(L1), or of the share of their categories that only one has; the range of all scores, or 1, where only "
    "one has the attribute"
)
"""The distance of the TREC RAG coordinators' sampler (Pradeep et al. 2024, "Ragnarök", section 5)."""


class Third(StrEnum):
    """A third of the topics by an attribute's score."""

    LOW = "low"
    MIDDLE = "middle"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute with its values by query id: in `scores` or in `categories`, the other is empty."""

    name: str
    scores: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def is_scored(self) -> bool:
        return bool(self.scores)

    @property
    def query_ids(self) -> Collection[str]:
        """Return the topics that have the attribute."""
        return (self.scores or self.categories).keys()

    @property
    def category_names(self) -> list[str]:
        return sorted({name for listed in self.categories.values() for name in listed})

    @property
    def thirds(self) -> tuple[float, float]:
        """Return the highest score of the low third and that of the middle one.

        >>> Attribute("ambiguity", {"t1": 0, "t2": 1, "t3": 2, "t4": 7, "t5": 8, "t6": 9}).thirds
        (1.0, 7.0)
        """
        low, middle = np.quantile(list(self.scores.values()), (1 / 3, 2 / 3), method="inverted_cdf")
        return float(low), float(middle)


@dataclass(frozen=True, slots=True)
class TopicSlice:
    """The topics of a collection with a value, or within a range, of one attribute."""

    attribute: str
    value: str
    """A category, a score, a range such as 5..10, or a third: low, middle or high."""
    label: str
    query_ids: frozenset[str]
    n_all: int
    """Topics of the collection."""

    @property
    def token(self) -> str:
        """Return the slice as addresses and commands name it."""
        return f"{self.attribute}={self.value}"

    @property
    def stated(self) -> str:
        return f"{len(self.query_ids)} of {self.n_all} topics: {self.label}"


def attributes(topics: TopicAttributes) -> dict[str, Attribute]:
    """Return the attributes by name, without those of more than `MAX_CATEGORIES`.

    Dictionaries, infinite numbers and empty values do not count.

    >>> found = attributes({"t1": {"kind": ["how", "why"], "ambiguity": 3}, "t2": {"kind": "how"}})
    >>> found["ambiguity"].scores, sorted(found["kind"].categories["t1"])
    ({'t1': 3.0}, ['how', 'why'])
    """
    values: dict[str, dict[str, tuple[object, ...]]] = {}
    for query_id, own in topics.items():
        for name, value in own.items():
            parts = value if isinstance(value, list | tuple) else (value,)
            listed = tuple(part for part in parts if _counts(part))
            if listed:
                values.setdefault(name, {})[query_id] = listed
    every = (_attribute(name, by_topic) for name, by_topic in values.items())
    return {each.name: each for each in every if len(each.category_names) <= MAX_CATEGORIES}


def slices(attribute: Attribute, n_all: int) -> list[TopicSlice]:
    """Return the slices by category, the largest first, or the thirds by score that have topics.

    A third ends where a score does: topics of one score are in one third.

    >>> [one.stated for one in slices(Attribute("words", {"t1": 5, "t2": 8, "t3": 9}), 4)][:2]
    ['1 of 4 topics: words <= 5 (low third)', '1 of 4 topics: words > 5 and <= 8 (middle third)']
    """
    if attribute.is_scored:
        values: list[str] = list(Third)
    else:
        counts = Counter(name for names in attribute.categories.values() for name in names)
        values = sorted(counts, key=lambda name: (-counts[name], name))
    slices = (_slice(attribute, value, n_all) for value in values)
    return [each for each in slices if each.query_ids]


def find_slice(topics: TopicAttributes, token: str) -> TopicSlice:
    """Return the slice of that name. Raises UnknownSlice, which says what there is instead.

    >>> topics = {"t1": {"ambiguity": 3, "kind": "how"}, "t2": {"ambiguity": 7.5, "kind": "why"}}
    >>> [sorted(find_slice(topics, token).query_ids) for token in ("kind=why", "ambiguity=5..10")]
    [['t2'], ['t2']]
    >>> find_slice(topics, "ambiguity=..5").stated
    '1 of 2 topics: ambiguity <= 5'
    """
    by_name = attributes(topics)
    names = [name for name in by_name if token.startswith(f"{name}=")]
    if not names:
        listed = ", ".join(sorted(by_name)) or "none"
        raise UnknownSlice(f"no attribute in {token!r}, expected attribute=value; there are {listed}")
    attribute = by_name[max(names, key=len)]
    value = token[len(attribute.name) + 1 :].strip()
    chosen = _slice(attribute, value, len(topics))
    if not chosen.query_ids:
        raise UnknownSlice(f"no topic with {chosen.label}; there are {_known_values(attribute)}")
    return chosen


def _counts(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) or (isinstance(value, str) and bool(value.strip()))


def _attribute(name: str, values: Mapping[str, tuple[object, ...]]) -> Attribute:
    scores = {
        query_id: float(listed[0])
        for query_id, listed in values.items()
        if len(listed) == 1 and isinstance(listed[0], int | float) and not isinstance(listed[0], bool)
    }
    if len(scores) == len(values):
        return Attribute(name, scores=scores)
    categories = {query_id: frozenset(map(_word, listed)) for query_id, listed in values.items()}
    return Attribute(name, categories=categories)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _slice(attribute: Attribute, value: str, n_all: int) -> TopicSlice:
    name = attribute.name
    if not attribute.is_scored:
        having = frozenset(q for q, names in attribute.categories.items() if value in names)
        return TopicSlice(name, value, f"{name} = {value}", having, n_all)
    bounds = _bounds(attribute, value)
    having = frozenset(query_id for query_id, score in attribute.scores.items() if bounds.include(score))
    third = f" ({value} third)" if value in tuple(Third) else ""
    return TopicSlice(name, value, f"{name} {bounds.label}{third}", having, n_all)


@dataclass(frozen=True, slots=True)
class _Bounds:
    low: float = -math.inf
    high: float = math.inf
    is_open: bool = False
    """The lowest score itself is out."""

    def include(self, score: float) -> bool:
        return (score > self.low if self.is_open else score >= self.low) and score <= self.high

    @property
    def label(self) -> str:
        if self.low == self.high:
            return f"= {self.low:g}"
        sides = [f"{'>' if self.is_open else '>='} {self.low:g}"] if self.low > -math.inf else []
        return " and ".join([*sides, f"<= {self.high:g}"] if self.high < math.inf else sides)


def _bounds(attribute: Attribute, value: str) -> _Bounds:
    low, middle = attribute.thirds
    thirds = {
        Third.LOW.value: _Bounds(high=low),
        Third.MIDDLE.value: _Bounds(low, middle, is_open=True),
        Third.HIGH.value: _Bounds(middle, is_open=True),
    }
    if value in thirds:
        return thirds[value]
    first, dots, last = value.partition("..")
    try:
        start = float(first) if first.strip() or not dots else -math.inf
        end = (float(last) if last.strip() else math.inf) if dots else start
    except ValueError:
        start, end = math.nan, math.nan
    if not start <= end or (math.isinf(start) and math.isinf(end)):
        raise UnknownSlice(
            f"{attribute.name} is {value!r}, expected a score, a range such as 5..10, or low, middle or high"
        )
    return _Bounds(start, end)


def _known_values(attribute: Attribute) -> str:
    if attribute.is_scored:
        return f"scores from {min(attribute.scores.values()):g} to {max(attribute.scores.values()):g}"
    return ", ".join(attribute.category_names)


@dataclass(frozen=True, slots=True)
class DrawnTopic:
    query_id: str
    distance: float | None
    """To the nearest topic that was drawn before; None for the first."""


def diverse_topics(
    topics: TopicAttributes, size: int, *, seed: int, is_plain: bool = False
) -> list[DrawnTopic]:
    """Draw at most `size` topics: the first at random, then always the one that is farthest from those drawn.

    Of several that are equally far the seed decides too; the order of `topics` plays no part. Scores count by
    their range in `topics`; with `is_plain` as they are, as in Pradeep et al. 2024, where all go to 10.

    >>> scores = {"low": 0, "middle": 5, "high": 10, "higher": 9}
    >>> drawn = diverse_topics({name: {"ambiguity": score} for name, score in scores.items()}, 3, seed=1)
    >>> [(topic.query_id, topic.distance) for topic in drawn]
    [('high', None), ('low', 1.0), ('middle', 0.5)]
    """
    order = np.random.default_rng(seed).permutation(sorted(topics)).tolist()
    axes = [_axis(attribute, order, is_plain=is_plain) for attribute in attributes(topics).values()]
    nearest: NDArray[np.float64] = np.full(len(order), np.inf)
    drawn: list[DrawnTopic] = []
    for _ in range(min(size, len(order))):
        place = int(np.argmax(nearest))
        drawn.append(DrawnTopic(order[place], float(nearest[place]) if drawn else None))
        distances = sum((axis.distances(place) for axis in axes), np.zeros(len(order)))
        nearest = np.minimum(nearest, distances)
        nearest[place] = -1.0  # below every distance, so that no topic is drawn twice
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Shape (topics,), from 0 to `span`; NaN where a topic lacks the attribute."""

    values: NDArray[np.float64]
    span: float

    def distances(self, place: int) -> NDArray[np.float64]:
        has = ~np.isnan(self.values)
        differences = np.abs(self.values - self.values[place])
        return np.asarray(np.where(has & has[place], differences, self.span * (has != has[place])))


@dataclass(frozen=True, slots=True, eq=False)
class _Categories:
    """Shape (topics, categories): whether the topic is in the category."""

    members: NDArray[np.bool_]

    def distances(self, place: int) -> NDArray[np.float64]:
        both = (self.members & self.members[place]).sum(axis=1)
        either = (self.members | self.members[place]).sum(axis=1)
        return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)


def _axis(attribute: Attribute, query_ids: Sequence[str], *, is_plain: bool) -> _Scores | _Categories:
    if attribute.is_scored:
        scores = np.array([attribute.scores.get(query_id, np.nan) for query_id in query_ids])
        span = float(np.nanmax(scores) - np.nanmin(scores)) or 1.0
        unit = 1.0 if is_plain else span
        return _Scores((scores - np.nanmin(scores)) / unit, span / unit)
    names = attribute.category_names
    members = [[name in attribute.categories.get(query_id, ()) for name in names] for query_id in query_ids]
    return _Categories(np.array(members, dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class TopicShare:
    """How many topics have a value of an attribute, a score above the middle, or a first word."""

    attribute: str
    value: str
    topics: int
    percent: float


FIRST_WORD = "first word"
TOP, MIDDLE = 5, 5
"""How many values are listed, and the score above which topics are counted: the middle of 0 to 10."""


def topic_statistics(topics: TopicAttributes, texts: Mapping[str, str]) -> list[TopicShare]:
    """Return the distribution of topics as Pradeep et al. 2024 ("Ragnarök") print it in their Table 2.

    The TOP categories of each attribute, the share of topics that score more than MIDDLE by each scored
    one, the highest share first, and the TOP first words of their texts. Shares are of all topics.

    >>> topics = {"t1": {"kind": "set", "subjective": 7}, "t2": {"kind": "set", "subjective": 2}}
    >>> rows = topic_statistics(topics, {"t1": "How do bees fly?", "t2": "how old are bees"})
    >>> [(row.attribute, row.value, row.topics, row.percent) for row in rows]
    [('kind', 'set', 2, 100.0), ('subjective', '> 5', 1, 50.0), ('first word', 'how', 2, 100.0)]
    """
    by_name = attributes(topics)
    shares = []
    for name, attribute in by_name.items():
        if not attribute.is_scored:
            counts = Counter(value for values in attribute.categories.values() for value in sorted(values))
            shares += [(name, value, count) for value, count in _most(counts)]
    scored = [
        (attribute.name, f"> {MIDDLE}", sum(score > MIDDLE for score in attribute.scores.values()))
        for attribute in by_name.values()
        if attribute.is_scored
    ]
    first_words = Counter(
        text.split()[0].strip(".,:;?!\"'").lower() for text in texts.values() if text.split()
    )
    shares += sorted(scored, key=lambda row: -row[2])
    shares += [(FIRST_WORD, word, count) for word, count in _most(first_words)]
    return [TopicShare(*row, round(100 * row[2] / len(topics), 1)) for row in shares]


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return the values with the highest counts, of equal ones the first by name."""
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:TOP]
