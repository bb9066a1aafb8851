"""My work: one list of what waits for a person in a collection, the next thing to do on top."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.campaigns.actions import rate
from rubricweb.campaigns.selectors import LEAST_SECONDS
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.home.todo import WaitingKind
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Kind as FlagKind, Subject
from tests.factories import gradable, grade, lexical_config, take
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import HIDDEN, blind_campaign, world

pytestmark = pytest.mark.django_db
ADDRESS = "/collections/autumn/work/"
ALL_KINDS = [
    WaitingKind.RATE,
    WaitingKind.VERIFY,
    WaitingKind.DECIDE,
    WaitingKind.LABEL,
    WaitingKind.VOTE,
    WaitingKind.ANSWER,
]


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=1, passages=2, items=1)


def work(client):
    return client.get(ADDRESS).context["work"]


def counts(client):
    return {row.task.kind: row.task.count for row in work(client).rows}


def test_work_counts_each_kind_and_keeps_the_place_of_what_is_empty(bank, assessor, developer, client_of):
    item = bank.items.get()
    first = item.topic.pool.first().passage
    for person, rating in ((assessor, 1), (developer, 5)):
        rate_cell(Cell.of(item, first), rating=rating, by=person, seen=0)
    subject = Subject(bank, item.topic, item, None)
    open_flag(subject, kind=FlagKind.SPURIOUS, text="Everybody covers it.", by=assessor)
    assert list(counts(client_of(developer))) == ALL_KINDS
    assert counts(client_of(developer))[WaitingKind.DECIDE] == 1
    assert counts(client_of(developer))[WaitingKind.ANSWER] == 1
    assert counts(client_of(developer))[WaitingKind.RATE] == 0
    assert list(counts(client_of(assessor))) == [kind for kind in ALL_KINDS if kind != WaitingKind.DECIDE]
    assert "nothing now" in markup(client_of(assessor).get(ADDRESS))


@pytest.mark.usefixtures("bank")
def test_work_links_nothing_that_a_role_may_not_open(assessor, developer, viewer, client_of):
    for person in (developer, assessor, viewer):
        client = client_of(person)
        linked = set(re.findall(r'href="(/collections/autumn/work/[^"?#]+)"', markup(client.get(ADDRESS))))
        assert {address: client.get(address).status_code for address in linked} == dict.fromkeys(linked, 200)
    assert work(client_of(viewer)).rows == ()


def test_work_begins_with_the_passages_to_rate(collection, owner, assessor, developer, client_of):
    campaign = blind_campaign(world(collection, owner, second=assessor), by=owner, assignees=[developer])
    client = client_of(developer)
    first = work(client).first
    assert (first.task.count, first.done, first.total) == (HIDDEN, 0, HIDDEN)
    assert first.task.seconds == HIDDEN * LEAST_SECONDS
    assert first.is_blind
    passages = campaign.cells.values("topic", "passage").distinct().count()
    page = markup(client.get(ADDRESS))
    assert f"Begin: {passages} passage" in page
    assert f'href="{campaign.get_absolute_url()}"' in page
    for turn in take(campaign, developer, count=1):
        rate(turn.cell, rating=3, by=developer, seen=0, uid=uuid4())
    assert (work(client).first.done, work(client).first.total) == (1, HIDDEN)
    assert "Continue: " in markup(client.get(ADDRESS))


def test_a_pace_below_the_floor_counts_as_the_floor(collection, owner, assessor, developer, client_of):
    campaign = blind_campaign(world(collection, owner, second=assessor), by=owner, assignees=[developer])
    for turn in take(campaign, developer, count=3):
        rate(turn.cell, rating=3, by=developer, seen=0, uid=uuid4())
    first = work(client_of(developer)).first
    assert first.task.pace == LEAST_SECONDS
    assert first.task.seconds == LEAST_SECONDS * first.task.count


def test_what_has_an_end_comes_before_what_has_none(autumn, assessor, developer, client_of):
    """Grades to verify are many; a flag is one."""
    assert work(client_of(developer)).first.task.kind == WaitingKind.VERIFY
    subject = Subject(autumn.bank, autumn.topic, autumn.items[0], None)
    open_flag(subject, kind=FlagKind.COMMENT, text="Hm.", by=assessor)
    assert work(client_of(developer)).first.task.kind == WaitingKind.ANSWER


def test_a_campaign_of_which_the_person_rated_every_cell_waits_no_longer(
    collection, owner, assessor, developer, client_of
):
    campaign = blind_campaign(world(collection, owner, second=assessor), by=owner)
    for turn in take(campaign, developer, count=campaign.cells.count()):
        assert counts(client_of(developer))[WaitingKind.RATE] > 0
        rate(turn.cell, rating=3, by=developer, seen=0, uid=uuid4())
    assert counts(client_of(developer))[WaitingKind.RATE] == 0
    assert counts(client_of(assessor))[WaitingKind.RATE] > 0


def test_a_blind_rater_is_offered_no_hidden_grade_to_verify(bank, owner, developer, client_of):
    item, config = bank.items.get(), lexical_config()
    for pooled in item.topic.pool.all():
        grade(config, item, pooled.passage, 4)
    assert counts(client_of(developer))[WaitingKind.VERIFY] == item.topic.pool.count() == 2
    blind_campaign(bank, by=owner, assignees=[developer])
    assert counts(client_of(developer))[WaitingKind.VERIFY] == 0
    assert counts(client_of(owner))[WaitingKind.VERIFY] == 2


def test_nothing_to_verify_without_questions_leads_back(collection, assessor, client_of):
    response = client_of(assessor).get("/collections/autumn/review/verify/", follow=True)
    assert response.redirect_chain == [(ADDRESS, 302)]
    assert "there are no questions yet" in markup(response)


def test_only_members_see_it(bank, outsider, viewer, client_of):
    assert client_of(outsider).get(ADDRESS).status_code == 404
    assert client_of(viewer).get(ADDRESS).status_code == 200
    assert client_of(viewer).post(ADDRESS).status_code == 405


def test_the_part_alone(bank, viewer, client_of):
    page = markup(client_of(viewer).get(ADDRESS, headers={"HX-Request": "true"}))
    assert page.strip().startswith('<div id="waiting"')


def test_its_queries_do_not_grow_with_cells(collection, assessor, developer, client_of):
    item = gradable(collection, topics=1, passages=4, items=1).items.get()
    cells = [Cell.of(item, pooled.passage) for pooled in item.topic.pool.all()]
    numbers = []
    for cell in cells:
        for person, rating in ((assessor, 1), (developer, 5)):
            rate_cell(cell, rating=rating, by=person, seen=0)
        browser = client_of(developer)
        with CaptureQueriesContext(connection) as queries:
            browser.get(ADDRESS)
        numbers.append(len(queries))
    assert len(set(numbers[1:])) == 1, numbers
