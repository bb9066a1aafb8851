"""Where review starts: what waits for each person, and the way to every screen."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.campaigns.queue.actions import rate
from rubricweb.grades.humans import Cell, rate_cell
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.flags.subjects import Kind, Subject
from tests.factories import gradable, take
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign, world

pytestmark = pytest.mark.django_db
ADDRESS = "/review/autumn/"


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=1, passages=2, items=1)


def test_it_says_what_waits_and_leads_to_every_screen(bank, assessor, developer, client_of):
    item = bank.items.get()
    first, second = (pooled.passage for pooled in item.topic.pool.all())
    for person, rating in ((assessor, 1), (developer, 5)):
        rate_cell(Cell.of(item, first), rating=rating, by=person, seen=0)
        rate_cell(Cell.of(item, second), rating=3, by=person, seen=0)
    open_flag(
        Subject(bank, item.topic, item, None), kind=Kind.SPURIOUS, text="Everybody covers it.", by=assessor
    )

    page = markup(client_of(assessor).get(ADDRESS))
    for words in ("1 cell on which assessors disagree", "1 on which they agree", "1 open flag"):
        assert words in page
    assert f'href="/review/autumn/banks/{bank.pk}/verify/"' in page
    for place in ("spurious/", "uncovered/"):
        assert f'href="/review/banks/{bank.pk}/{place}"' in page


@pytest.mark.usefixtures("bank")
def test_it_links_nothing_that_a_role_may_not_open(assessor, developer, viewer, client_of):
    deciding = [f"/review/autumn/{name}/" for name in ("adjudication", "agreement")]
    for person, may_open in ((developer, True), (assessor, False), (viewer, False)):
        client = client_of(person)
        page = markup(client.get(ADDRESS))
        assert [f'href="{address}"' in page for address in deciding] == [may_open] * 2
        linked = set(re.findall(r'href="(/review/[^"?#]+)"', page))
        assert {address: client.get(address).status_code for address in linked} == dict.fromkeys(linked, 200)


@pytest.mark.usefixtures("bank")
def test_it_has_no_empty_paragraph_for_who_may_only_look(viewer, client_of):
    main = markup(client_of(viewer).get(ADDRESS)).split("<main", 1)[1].split("</main>")[0]
    assert not re.search(r"<p[^>]*>\s*</p>", main)


def test_a_campaign_of_which_the_person_rated_every_cell_waits_no_longer(
    collection, owner, assessor, developer, client_of
):
    campaign = blind_campaign(world(collection, owner, second=assessor), by=owner)
    for turn in take(campaign, developer, count=campaign.cells.count()):
        assert ">Blind</a>" in markup(client_of(developer).get(ADDRESS))
        rate(turn.cell, rating=3, by=developer, seen=0, uid=uuid4())
    assert "No campaign waits for your ratings." in markup(client_of(developer).get(ADDRESS))
    assert ">Blind</a>" in markup(client_of(assessor).get(ADDRESS))


def test_an_empty_collection_says_so(viewer, client_of):
    page = markup(client_of(viewer).get(ADDRESS))
    for words in ("No campaign waits", "No cell on which assessors disagree", "No open flag", "No bank yet"):
        assert words in page


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
    counts = []
    for cell in cells:
        for person, rating in ((assessor, 1), (developer, 5)):
            rate_cell(cell, rating=rating, by=person, seen=0)
        browser = client_of(assessor)
        with CaptureQueriesContext(connection) as queries:
            browser.get(ADDRESS)
        counts.append(len(queries))
    assert len(set(counts[1:])) == 1, counts
