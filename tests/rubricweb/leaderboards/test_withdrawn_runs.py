"""A withdrawn run, or one that nobody accepted yet, is nowhere but on the organizers' page of runs."""

import html

import pytest
from django.core.management import call_command
from django.test import Client

from rubricweb.corpus.actions import accept_run, withdraw_run
from rubricweb.corpus.models import OfficialScore, Run
from rubricweb.corpus.official import official_boards
from rubricweb.corpus.pools import collection_pool
from rubricweb.home.collections import cards
from rubricweb.leaderboards.actions import publish_board
from tests.factories import MembershipFactory, UserFactory, lexical_config, ranked, take
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world
from tests.worked import judge

TAG = "stray"
ORGANIZERS = {"corpus:runs", "corpus:audit", "corpus:audit-file", "home:home"}
"""Where an organizer still finds the run."""


def run_of(made, tag=TAG) -> Run:
    return made.collection.runs.get(run_tag=tag)


def tags(made) -> list[str]:
    return list(collection_pool(made.collection).run_tags)


def pooled(made, query_id="t1") -> tuple[str, ...]:
    return collection_pool(made.collection).by_topic[made.topics[query_id].pk].doc_ids


def test_it_leaves_and_comes_back(made):
    assert tags(made) == ["both", "first", "lacks", "stray"]
    run = withdraw_run(run_of(made), by=None)
    assert tags(made) == ["both", "first", "lacks"]
    accept_run(run, by=None)
    assert tags(made) == ["both", "first", "lacks", "stray"]


def test_a_submitted_run_waits_to_be_accepted(made):
    made.collection.runs.create(run_tag="late", state=Run.State.SUBMITTED)
    assert "late" not in tags(made)
    accept_run(run_of(made, "late"), by=None)
    assert "late" in tags(made)


def test_passages_that_only_it_brought_leave_the_pool(made):
    """Others rank d1, d2, e1 and e2; nobody ranks f1; zz was never in the pool."""
    withdraw_run(run_of(made), by=None)
    assert (pooled(made), pooled(made, "t2"), pooled(made, "t3")) == (("d1", "d2"), ("e1", "e2"), ("f1",))
    withdraw_run(run_of(made, "both"), by=None)
    assert pooled(made) == ("d1", "d2")
    withdraw_run(run_of(made, "lacks"), by=None)
    assert pooled(made) == ("d1",)
    accept_run(run_of(made), by=None)
    assert pooled(made) == ("d1", "d3"), "in the places that they had"


def test_judged_passages_stay_in_the_pool(made):
    judge(made)
    for tag in ("both", "lacks"):
        withdraw_run(run_of(made, tag), by=None)
    assert pooled(made) == ("d1", "d2", "d3")


def test_it_has_no_place_on_official_boards(made):
    rows = [
        OfficialScore(collection=made.collection, run_tag=tag, value=1, is_rank=True) for tag in (TAG, "x")
    ]
    OfficialScore.objects.bulk_create(rows)
    withdraw_run(run_of(made), by=None)
    assert [list(board.values) for board in official_boards(made.collection)] == [["x"]]


def test_the_home_page_counts_without_it(made, owner):
    before = cards(owner)[0]
    assert (before.runs, before.cells, before.graded) == (4, 8, 8)
    withdraw_run(run_of(made), by=None)
    after = cards(owner)[0]
    assert (after.runs, after.cells, after.graded) == (3, 6, 6), "d3 has two grades"


def test_boards_of_commands_and_public_links_lack_it(made, owner, capsys):
    link = publish_board(made.collection, title="Board", query="", is_anonymous=False, by=owner)

    def told() -> dict[str, bool]:
        call_command("leaderboard", "autumn", *made.names)
        page = Client().get(link.get_absolute_url()).content.decode()
        return {"command": TAG in capsys.readouterr().out, "public": TAG in html.unescape(page)}

    assert told() == {"command": True, "public": True}
    withdraw_run(run_of(made), by=None)
    assert told() == {"command": False, "public": False}


def test_it_cannot_be_compared(made, owner, client_of):
    address = f"/collections/autumn/leaderboards/compare/?a={run_of(made).pk}"
    assert client_of(owner).get(address).status_code == 200
    withdraw_run(run_of(made), by=None)
    assert client_of(owner).get(address).status_code == 422


@pytest.fixture
def asked(collection, owner, client_of):
    """`asked(user)`: the routes whose page names the run to them."""
    second = MembershipFactory(user=UserFactory(username="second"), collection=collection, role="assessor")
    bank = world(collection, owner, second.user)
    Run.objects.filter(run_tag="gamma").update(run_tag="oddlynamed")
    known = parameters(bank, owner, blind_campaign(bank, by=owner, assignees=[owner]))
    known["run_id"] = collection.runs.get(run_tag="alpha").pk

    def asked(user) -> set[str]:
        client, told = client_of(user), set()
        for route in readable_routes():
            response = client.get(route.address(known), {"grader": lexical_config().pk})
            body = b"".join(response.streaming_content) if response.streaming else response.content
            if b"oddlynamed" in body:
                told.add(route.name)
        return told

    return asked


@pytest.mark.portable
def test_no_page_and_no_file_names_it(asked, collection, owner, developer):
    before = asked(owner)
    assert len(before - ORGANIZERS) >= 5
    withdraw_run(collection.runs.get(run_tag="oddlynamed"), by=None)
    assert asked(owner) <= ORGANIZERS
    assert asked(developer) == set()


def test_passages_that_only_it_brings_open_for_nobody(collection, owner, assessor, client_of):
    second = MembershipFactory(user=UserFactory(username="second"), collection=collection, role="assessor")
    bank = world(collection, owner, second.user)
    campaign = blind_campaign(bank, by=owner, assignees=[assessor])
    known = parameters(bank, assessor, campaign)
    topic = campaign.cells.get(pk=known["cell_id"]).topic
    doc_id = topic.pool.get(passage=known["passage_id"]).passage.doc_id
    topic.judgments.filter(doc_id=doc_id).delete()
    topic.rankings.all().delete()
    run = ranked(topic, {"odd": [doc_id]})[0]
    pages = [
        route.address(known) for route in readable_routes() if {"passage_id", "cell_id"} & {*route.parameters}
    ]
    readers = [client_of(assessor), client_of(owner)]

    def opened() -> list[str]:
        return [page for page in pages for reader in readers if reader.get(page).status_code == 200]

    assert len(opened()) > 5
    withdraw_run(run, by=None)
    assert opened() == []
    held = {turn.cell.passage_id for turn in take(campaign, owner, count=30)}
    assert held
    assert known["passage_id"] not in held
