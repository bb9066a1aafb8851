"""The sampler of diverse topics."""

import random

import pytest

from grading.topic_attributes import diverse_topics

NAMES = ("ambiguity", "subjective", "multi-faceted")


def by_hand(topics, first, size):
    """Pradeep et al. 2024, section 5, for scores on one scale: L1 to the nearest topic."""
    chosen, distances = [first], [None]
    while len(chosen) < size:
        to_set = {
            one: min(sum(abs(topics[one][name] - topics[other][name]) for name in NAMES) for other in chosen)
            for one in topics
            if one not in chosen
        }
        farthest = max(to_set.values())
        (best, *tied) = [one for one, distance in to_set.items() if distance == farthest]
        assert not tied
        chosen.append(best)
        distances.append(farthest)
    return chosen, distances


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_farthest_by_l1(seed):
    numbers = random.Random(seed)
    topics = {f"t{n}": {name: numbers.uniform(0, 10) for name in NAMES} for n in range(40)}
    topics |= {"lowest": dict.fromkeys(NAMES, 0), "highest": dict.fromkeys(NAMES, 10)}
    drawn = diverse_topics(topics, 12, seed=seed)

    chosen, distances = by_hand(topics, drawn[0].query_id, 12)
    assert [topic.query_id for topic in drawn] == chosen
    assert drawn[0].distance is None
    assert [10 * topic.distance for topic in drawn[1:]] == pytest.approx(distances[1:])


def test_plain_scores_count_as_they_are_though_their_ranges_differ():
    numbers = random.Random(4)
    widths = dict(zip(NAMES, (10, 3, 1), strict=True))
    topics = {f"t{n}": {name: numbers.uniform(0, widths[name]) for name in NAMES} for n in range(40)}
    drawn = diverse_topics(topics, 12, seed=1, is_plain=True)

    chosen, distances = by_hand(topics, drawn[0].query_id, 12)
    assert [topic.query_id for topic in drawn] == chosen
    assert [topic.distance for topic in drawn[1:]] == pytest.approx(distances[1:])
    assert [topic.query_id for topic in diverse_topics(topics, 12, seed=1)] != chosen


def test_the_seed_decides_and_the_order_of_topics_does_not():
    topics = {f"t{n}": {"kind": "how"} for n in range(20)}
    shuffled = dict(reversed(topics.items()))

    assert diverse_topics(topics, 5, seed=1) == diverse_topics(shuffled, 5, seed=1)
    assert diverse_topics(topics, 5, seed=1) != diverse_topics(topics, 5, seed=2)


def test_every_topic_once_and_no_more_than_there_are():
    topics = {f"t{n}": {} for n in range(4)}
    assert sorted(topic.query_id for topic in diverse_topics(topics, 9, seed=1)) == sorted(topics)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ({"kind": ["how", "why"]}, {"kind": ["why", "what"]}, 2 / 3),
        ({"kind": "how"}, {}, 1),
        ({"kind": "how", "ambiguity": 4}, {"kind": "why", "ambiguity": 6}, 2),
        ({"ambiguity": 4}, {"kind": "why"}, 2),
        ({"ambiguity": 4}, {"ambiguity": 4}, 0),
    ],
)
def test_distances(first, second, distance):
    drawn = diverse_topics({"a": first, "b": second}, 2, seed=1)
    assert drawn[1].distance == pytest.approx(distance)
