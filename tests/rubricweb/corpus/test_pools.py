"""A topic's pool as arrays."""

from rubricweb.corpus.pools import TopicPool
from rubricweb.corpus.topic_pools import rankings_of

TOPIC = TopicPool(
    topic_id=1,
    query_id="q1",
    passage_pks=(11, 12),
    doc_ids=("d1", "d2"),
    rankings=rankings_of(
        ("d1", "d2"), (("d2", "outside", "d1"), None, ("d1",)), ((3.0, 2.0, 1.0), None, (0.5,))
    ),
)


def test_the_passages_of_the_first_ranks():
    assert TOPIC.top(2).tolist() == [[False, True], [False, False], [True, False]]
    assert TOPIC.top(3).tolist() == [[True, True], [False, False], [True, False]]


def test_rankings_are_what_they_were_made_of():
    assert TOPIC.ranked == (("d2", "outside", "d1"), None, ("d1",))
    assert TOPIC.scores == ((3.0, 2.0, 1.0), None, (0.5,))
    assert TOPIC.ranked_rows.tolist() == [[1, -1, 0], [-1, -1, -1], [0, -1, -1]]
    assert TOPIC.lengths.tolist() == [3, 0, 1]
