"""A database that is restored under a living process has its own ids: caches notice it."""

import pytest
from django.db import transaction
from django.test import Client

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from tests.factories import CollectionFactory, MembershipFactory, UserFactory, gradable

KEY = 4711


def _made(topics: int) -> User:
    """Somebody of a collection whose id is always the same, with topics whose ids are not."""
    collection = CollectionFactory(pk=KEY, slug="autumn")
    gradable(collection, topics=topics)
    return MembershipFactory(collection=collection, role=Role.VIEWER, user=UserFactory(pk=KEY)).user


def _status(user: User) -> int:
    browser = Client()
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return browser.get("/collections/autumn/").status_code


@pytest.mark.django_db
def test_pages_show_the_database_that_is_there_now():
    with transaction.atomic():
        assert _status(_made(topics=1)) == 200
        transaction.set_rollback(True)
    assert _status(_made(topics=3)) == 200


@pytest.mark.django_db
def test_a_topic_that_came_after_the_pool_was_read_waits_for_the_next_look(monkeypatch):
    from rubricweb.home import topics
    from tests.factories import TopicFactory

    user = _made(topics=1)
    earlier = topics.collection_pool(user.memberships.get().collection)
    TopicFactory(collection_id=KEY)
    monkeypatch.setattr(topics, "collection_pool", lambda collection: earlier)
    assert _status(user) == 200
