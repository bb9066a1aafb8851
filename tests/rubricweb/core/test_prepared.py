"""Queries that are compiled once give what Django gives, whoever asks and whatever for."""

import pytest
from django.db.models import Exists, OuterRef

from rubricweb.core.prepared import Prepared
from rubricweb.corpus.models import Collection, Topic
from tests.factories import CollectionFactory, TopicFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def topics() -> list[Topic]:
    return [TopicFactory(collection=CollectionFactory(slug=slug)) for slug in ("first", "second")]


def test_each_call_has_its_own_values(topics, django_assert_num_queries):
    builds = []

    @Prepared
    def of_collection(collection, topic):
        builds.append((collection, topic))
        named = Collection.objects.filter(pk=OuterRef("collection"), topics=topic)
        return (
            Topic.objects.select_related("collection").filter(collection=collection).annotate(n=Exists(named))
        )

    first, second = topics
    with django_assert_num_queries(3):
        results = [of_collection(topic.collection_id, first.pk) for topic in (first, second, first)]
        slugs = [[(topic.collection.slug, topic.n) for topic in rows] for rows in results]
    assert slugs == [[("first", True)], [("second", False)], [("first", True)]]
    assert len(builds) == 1
    assert results[0] == [first]


def test_values_and_nothing(topics):
    @Prepared
    def query_ids(collection):
        return Topic.objects.filter(collection=collection).values_list("query_id", "collection__slug")

    assert query_ids(topics[1].collection_id) == [(topics[1].query_id, "second")]
    assert query_ids(0) == []
