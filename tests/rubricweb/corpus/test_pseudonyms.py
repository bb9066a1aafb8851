"""Assessors do not learn whose passage they rate, unless organizers show it."""

import pytest

from rubricweb.core.reader import Reader, reading_as
from rubricweb.corpus.pools import collection_pool
from tests.factories import CollectionFactory, gradable, grade, lexical_config, ranked

pytestmark = pytest.mark.django_db


class Request:
    def __init__(self, user):
        self.user = user


def names_for(user, collection):
    with reading_as(Reader(Request(user))):
        return collection_pool(collection).run_tags


def test_assessors_read_pseudonyms_that_stay(collection, owner, assessor):
    gradable(collection, topics=1)
    ranked(collection.topics.get(), {"alpha": ["d1"], "beta": ["d1"]})
    assert names_for(owner, collection) == ("alpha", "beta")
    names = names_for(assessor, collection)
    assert len(set(names) - {"alpha", "beta"}) == 2
    assert names_for(assessor, collection) == names
    collection.shows_run_tags = True
    collection.save()
    assert names_for(assessor, collection) == ("alpha", "beta")


def test_viewers_read_no_more_than_assessors(collection, viewer, assessor, developer):
    gradable(collection, topics=1)
    ranked(collection.topics.get(), {"alpha": ["d1"], "beta": ["d1"]})
    assert names_for(viewer, collection) == names_for(assessor, collection)
    assert names_for(developer, collection) == ("alpha", "beta")


def test_another_collection_has_other_pseudonyms(collection, assessor):
    from rubricweb.corpus.pseudonyms import run_pseudonym

    assert run_pseudonym(collection.name_salt, "alpha") != run_pseudonym(
        CollectionFactory().name_salt, "alpha"
    )


def test_no_page_names_a_run(collection, assessor, client_of):
    bank = gradable(collection, topics=1, passages=2, items=1)
    item = bank.items.select_related("topic").get()
    for pooled in item.topic.pool.all():
        grade(lexical_config(), item, pooled.passage, 4)
    ranked(item.topic, {"secretrun": [pooled.passage.doc_id for pooled in item.topic.pool.all()]})
    client, passage = client_of(assessor), item.topic.pool.first().passage_id
    run = collection.runs.get().pk
    for address in (
        f"/review/banks/{bank.pk}/topics/{item.topic_id}/?view=grid",
        f"/review/banks/{bank.pk}/topics/{item.topic_id}/cells/{passage}/{item.pk}/",
        "/collections/autumn/leaderboards/",
        f"/collections/autumn/leaderboards/compare/?a={run}",
        "/collections/autumn/leaderboards/sure/",
    ):
        answer = client.get(address)
        assert answer.status_code == 200
        assert b"secretrun" not in answer.content, address
