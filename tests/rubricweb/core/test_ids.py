"""Ids in addresses: nonsense finds nothing, and what no database could hold is a bad request."""

import pytest
from django.core.exceptions import BadRequest

from rubricweb.core.http import MAX_ID, parse_id, parse_ids
from tests.factories import JudgmentFactory, gradable, grade, lexical_config, ranked

DIGITS = "9" * 5_000


@pytest.mark.parametrize(("text", "number"), [("17", 17), ("007", 7), ("", 0), ("x", 0), ("-1", 0), ("²", 0)])
def test_text_becomes_a_number(text, number):
    assert parse_id(text) == number


def test_what_no_row_can_have_is_refused():
    assert parse_id(MAX_ID) == MAX_ID
    for text in (MAX_ID + 1, DIGITS):
        with pytest.raises(BadRequest):
            parse_id(text)
    assert parse_ids(["3", "x", "0", "3"]) == {3}


def test_every_page_answers_400(collection, owner, client_of):
    bank = gradable(collection, topics=1, passages=2, items=1)
    item = bank.items.select_related("topic").get()
    for pooled in item.topic.pool.all():
        grade(lexical_config(), item, pooled.passage, 4)
    JudgmentFactory(topic=item.topic, doc_id=item.topic.pool.first().passage.doc_id)
    ranked(item.topic, {"run": [pooled.passage.doc_id]})
    client, topic = client_of(owner), f"{bank.pk}/topics/{item.topic_id}"
    for address in (
        f"/review/banks/{topic}/?view=grid&hide={DIGITS}",
        f"/review/banks/{topic}/?beside={DIGITS}",
        f"/collections/autumn/leaderboards/?seen={DIGITS}:1",
    ):
        assert client.get(address).status_code == 400, address
