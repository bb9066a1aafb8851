"""Where runs are accepted, what they still need is offered: items, a pool, or grades with their price."""

from __future__ import annotations

import pytest

from rubricweb.corpus.models import Run
from tests.factories import BankFactory, ItemFactory, gradable
from tests.rubricweb.markup import markup
from tests.rubricweb.submissions.conftest import answers

pytestmark = pytest.mark.django_db
MISSING = 'hx-get="/collections/autumn/grades/jobs/missing/"'


@pytest.fixture
def pages(send, call, owner, client_of) -> list[str]:
    """The addresses of the pages on which an organizer accepts the run of a team."""
    bank = BankFactory(collection=call.collection)
    ItemFactory(bank=bank, topic=call.collection.topics.get(query_id="t1"), text="Why are leaves red?")
    sent = send(answers("m1"))
    places = [sent.get_absolute_url(), "/collections/autumn/submissions/", "/collections/autumn/runs/"]
    assert MISSING not in markup(client_of(owner).get(places[0])), "it is not accepted yet"
    client_of(owner).post(f"{sent.get_absolute_url()}accept/")
    return places


def test_its_missing_grades_are_offered_where_a_run_is_accepted(pages, owner, participant, client_of):
    client = client_of(owner)
    for page in pages:
        assert MISSING in markup(client.get(page)), page
    fragment = markup(client.get("/collections/autumn/grades/jobs/missing/", headers={"HX-Request": "true"}))
    assert "<strong>1</strong> grade missing. With word overlap: about 1 s" in fragment
    assert "Grade 1 pair" in fragment
    assert MISSING not in markup(client_of(participant).get(pages[0]))


def test_before_there_are_items_these_come_first(send, owner, client_of):
    sent = send(answers("m1"))
    client_of(owner).post(f"{sent.get_absolute_url()}accept/")
    page = markup(client_of(owner).get(sent.get_absolute_url()))
    assert "What comes next" in page
    assert "Draft, write or import questions" in page


def test_a_run_of_which_nothing_is_pooled_leads_to_the_pool(send, collection, owner, client_of):
    gradable(collection)
    run = Run.objects.create(collection=collection, run_tag="late", state=Run.State.ACCEPTED)
    run.rankings.create(topic=collection.topics.first(), doc_ids=["elsewhere"], scores=[1.0])
    fragment = markup(
        client_of(owner).get("/collections/autumn/grades/jobs/missing/", headers={"HX-Request": "true"})
    )
    assert "1 run has no passage in the pool, so none of it is graded." in fragment
    assert 'href="/collections/autumn/grades/pool/"' in fragment
