"""A topic's pool as arrays."""

from rubricweb.corpus.pools import TopicPool

TOPIC = TopicPool(
    topic_id=1,
    query_id="q1",
    passage_pks=(11, 12),
    doc_ids=("d1", "d2"),
    ranked=(("d2", "outside", "d1"), None),
    scores=((3.0, 2.0, 1.0), None),
    judgments={},
)


def test_the_passages_of_the_first_ranks():
    assert TOPIC.top(2).tolist() == [[False, True], [False, False]]
    assert TOPIC.top(3).tolist() == [[True, True], [False, False]]
