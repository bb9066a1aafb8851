"""Diverse topics, drawn by their attributes.

TREC RAG 2024 draws topics by "iteratively selecting the query with the highest l1 norm in the intrinsic
attribute space ... relative to the already-sampled set" (Pradeep et al. 2024, section 5). It leaves open the
distance to a set, which is that to its nearest topic here (Gonzalez 1985), and the first topic, which is
drawn at random here. Two topics differ by the sum over their attributes of

- the difference of their scores, divided by the range of the scores (Gower 1971), so that attributes of any
  scale weigh the same: the paper's eight go from 0 to 10 and are not divided;
- the share of the categories of either that only one of them has;
- 1 where only one has the attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.topic_attributes import Attribute, TopicAttributes, attributes

DISTANCE = (
    "how much two topics differ is the sum over attributes of the difference of their scores divided by the "
    "range of all scores, or of the share of their categories that only one has; 1 where only one has the "
    "attribute"
)
"""The distance in words, for those who read what was drawn."""


@dataclass(frozen=True, slots=True)
class DrawnTopic:
    query_id: str
    distance: float | None
    """To the nearest topic that was drawn before; None for the first."""


def diverse_topics(topics: TopicAttributes, size: int, *, seed: int) -> list[DrawnTopic]:
    """Draw at most `size` topics: the first at random, then always the one that is farthest from those drawn.

    Of several that are equally far the seed decides too; the order of `topics` plays no part.

    >>> scores = {"low": 0, "middle": 5, "high": 10, "higher": 9}
    >>> drawn = diverse_topics({name: {"ambiguity": score} for name, score in scores.items()}, 3, seed=1)
    >>> [(topic.query_id, topic.distance) for topic in drawn]
    [('high', None), ('low', 1.0), ('middle', 0.5)]
    """
    order = np.random.default_rng(seed).permutation(sorted(topics)).tolist()
    axes = [_axis(attribute, order) for attribute in attributes(topics).values()]
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
    """Shape (topics,), from 0 to 1; NaN where a topic lacks the attribute."""

    values: NDArray[np.float64]

    def distances(self, place: int) -> NDArray[np.float64]:
        has = ~np.isnan(self.values)
        differences = np.abs(self.values - self.values[place])
        return np.asarray(np.where(has & has[place], differences, has != has[place]), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Categories:
    """Shape (topics, categories): whether the topic is in the category."""

    members: NDArray[np.bool_]

    def distances(self, place: int) -> NDArray[np.float64]:
        both = (self.members & self.members[place]).sum(axis=1)
        either = (self.members | self.members[place]).sum(axis=1)
        return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)


def _axis(attribute: Attribute, query_ids: Sequence[str]) -> _Scores | _Categories:
    if attribute.is_scored:
        scores = np.array([attribute.scores.get(query_id, np.nan) for query_id in query_ids])
        span = float(np.nanmax(scores) - np.nanmin(scores)) or 1.0
        return _Scores((scores - np.nanmin(scores)) / span)
    names = attribute.category_names
    members = [[name in attribute.categories.get(one, ()) for name in names] for one in query_ids]
    return _Categories(np.array(members, dtype=np.bool_))
