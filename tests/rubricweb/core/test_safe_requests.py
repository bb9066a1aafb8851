"""GET and HEAD change nothing, on every route: a link that is prefetched or followed twice does no harm."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.accounts.roles import Role
from tests.factories import MembershipFactory, UserFactory
from tests.rubricweb.routes import routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = pytest.mark.django_db

WRITES = re.compile(r'^\s*(INSERT|UPDATE|DELETE)\b(?!.*"django_session")', re.IGNORECASE | re.DOTALL)


@pytest.fixture
def second(collection):
    return MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user


def test_safe_requests_write_nothing(collection, owner, assessor, second, client_of):
    """No grader config either, of a grader that is chosen and was never run."""
    bank = world(collection, owner, second)
    known = parameters(bank, assessor, blind_campaign(bank, by=owner))
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-small"
    collection.save()
    organizer, rater, written, answered = client_of(owner), client_of(assessor), {}, set()
    for route in routes():
        for ask in (organizer.get, rater.head):
            with CaptureQueriesContext(connection) as queries:
                response = ask(route.address(known))
                b"".join(response.streaming_content if response.streaming else ())
            assert route.has_page or response.status_code == 405, f"walks leave out {route.name}"
            if response.status_code == 200:
                answered.add(route.name)
            if writes := [query["sql"] for query in queries.captured_queries if WRITES.match(query["sql"])]:
                written[route.name, ask.__name__] = writes
    assert written == {}
    assert len(answered) > 80
