"""The queue's pages: for whom, with and without htmx, and what they do not give away."""

from __future__ import annotations

from collections import Counter
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from rubricweb.campaigns.leases import HELD
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.grades.human_models import HumanGrade, HumanStamp
from rubricweb.grades.models import Grade
from tests.factories import take
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db
State, How = Turn.State, HumanGrade.How
HTMX = {"HTTP_HX_REQUEST": "true"}
ANSWER = "because carotenoids remain"


@pytest.fixture
def campaign(campaign_of) -> Campaign:
    return campaign_of()


@pytest.fixture
def blind(campaign_of) -> Campaign:
    Grade.objects.update(answer=ANSWER, confidence=0.77)
    return campaign_of(mode="blind")


def at(name: str, campaign: Campaign, *more: object) -> str:
    return reverse(f"campaigns:{name}", args=[campaign.collection.slug, campaign.pk, *more])


def held(campaign: Campaign, person) -> Turn:
    return take(campaign, person, count=1)[0]


def start(campaign: Campaign, client) -> str:
    """The page after the button that takes the first cells."""
    return markup(client.post(at("queue-next", campaign), follow=True))


def send(rating: int, **fields: object) -> dict[str, object]:
    return {"rating": rating, "seen": 0, "uid": uuid4(), "comment": ""} | fields


PAGES = ("queue", "campaign")


@pytest.mark.parametrize("name", PAGES)
def test_roles(name, campaign, client_of, owner, viewer, outsider):
    assert client_of(owner).get(at(name, campaign)).status_code == 200
    assert client_of(viewer).get(at(name, campaign)).status_code == 403
    assert client_of(outsider).get(at(name, campaign)).status_code == 404


def test_organizers_make_and_follow_campaigns(campaign, client_of, assessor, developer, outsider):
    slug = campaign.collection.slug
    for person, status in ((assessor, 403), (developer, 403), (outsider, 404)):
        client = client_of(person)
        assert client.get(reverse("campaigns:campaign-new", args=[slug])).status_code == status
        assert client.get(at("campaign", campaign)).status_code == status
        assert client.post(at("campaign-state", campaign)).status_code == status


def test_viewers_rate_nothing(campaign, client_of, viewer, assessor):
    cell = held(campaign, assessor).cell
    client = client_of(viewer)
    assert client.post(at("queue-cell", campaign, cell.pk), send(3)).status_code == 403
    assert client.post(at("queue-undo", campaign), {"uid": uuid4()}).status_code == 403
    assert client.post(at("queue-next", campaign)).status_code == 403
    assert not HumanGrade.objects.exists()


def test_changes_are_posts(campaign, client_of, assessor):
    client = client_of(assessor)
    for name in ("queue-next", "queue-undo", "queue-beat", "queue-stop"):
        assert client.get(at(name, campaign)).status_code == 405


def test_who_was_not_named_may_not_rate(campaign_of, client_of, assessor, second, owner):
    campaign = campaign_of(assignees=[second])
    assert client_of(assessor).get(at("queue", campaign)).status_code == 403
    assert client_of(second).get(at("queue", campaign)).status_code == 200
    listed = client_of(assessor).get(reverse("campaigns:campaigns", args=["autumn"]))
    assert at("queue", campaign) not in markup(listed)


def test_a_cell_of_another_campaign_is_not_found(campaign_of, client_of, assessor):
    campaign, other = campaign_of(), campaign_of()
    assert client_of(assessor).get(at("queue-cell", campaign, other.cells.first().pk)).status_code == 404


def test_the_list_of_campaigns(campaign, client_of, viewer, assessor, owner, django_assert_max_num_queries):
    address = reverse("campaigns:campaigns", args=["autumn"])
    assert "0 of 12 ratings" in markup(client_of(viewer).get(address))
    assert at("queue", campaign) not in markup(client_of(viewer).get(address))
    assert at("queue", campaign) in markup(client_of(assessor).get(address))
    client = client_of(owner)
    assert "New campaign" in markup(client.get(address))
    with django_assert_max_num_queries(12):
        client.get(address)


def new_campaign(bank, **fields: object) -> dict[str, object]:
    grader = Grade.objects.values_list("config", flat=True).first()
    return {
        "name": "Second look",
        "bank": bank.pk,
        "grader": grader,
        "kinds": ["question", "nugget"],
        "cells": "high",
        "min_grade": 4,
        "cutoff": 20,
        "order": "leaderboard",
        "passage_order": "board",
        "random_percent": 25,
        "size": 8,
        "mode": "mixed",
        "assessors": 2,
    } | fields


def test_a_campaign_is_opened_by_its_form(bank, client_of, owner, second):
    client, address = client_of(owner), reverse("campaigns:campaign-new", args=["autumn"])
    assert client.get(address).status_code == 200
    response = client.post(address, new_campaign(bank, assignees=[second.pk]))
    campaign = Campaign.objects.get(name="Second look")
    assert response.url == at("campaign", campaign)
    assert (campaign.cells.count(), campaign.turns.count(), campaign.population) == (8, 16, 12)
    assert campaign.cells.filter(is_random=True).count() == 2
    assert "Order of the passages: by value for the leaderboard" in markup(client.get(response.url))
    assert set(campaign.assignees.all()) == {second}
    again = client.post(address, new_campaign(bank))
    assert again.status_code == 422
    assert "already" in markup(again)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"cells": "unsure"}, "No pair matches"),
        ({"name": " "}, "This field is required"),
        ({"size": 0}, "greater than or equal to 1"),
        ({"topics": [999]}, "not one of the available choices"),
        ({"grader": "no"}, "not one of the available choices"),
        ({"random_percent": 101}, "less than or equal to 100"),
    ],
)
def test_what_is_wrong_with_a_campaign_is_said(bank, client_of, owner, said, words):
    response = client_of(owner).post(
        reverse("campaigns:campaign-new", args=["autumn"]), new_campaign(bank, **said)
    )
    assert response.status_code == 422
    assert words in markup(response)
    assert not Campaign.objects.exists()


def test_the_button_leases_a_cell_and_the_next(campaign, client_of, assessor, django_assert_max_num_queries):
    client = client_of(assessor)
    assert "Start rating" in markup(client.get(at("queue", campaign)))
    assert not campaign.turns.exclude(state=State.PENDING).exists()
    html = start(campaign, client)
    assert "Start rating" not in html
    assert campaign.turns.filter(person=assessor, state=State.LEASED).count() == 6  # half of what is left
    first, second = campaign.cells.all()[:2]
    assert html.index(f'data-cell="{first.pk}"') < html.index(f'data-cell="{second.pk}"')
    assert f"Pair 1 of {campaign.cells.count()}" in html
    with django_assert_max_num_queries(11):
        client.get(at("queue", campaign))


def test_scripts_start_with_a_part(campaign, client_of, assessor):
    html = markup(client_of(assessor).post(at("queue-next", campaign), **HTMX))
    assert html.lstrip().startswith('<div id="queue"')
    assert f'data-cell="{campaign.cells.first().pk}"' in html


def test_no_start_where_others_have_all(campaign_of, client_of, assessor, second):
    campaign = campaign_of(size=2)
    start(campaign, client_of(second))
    html = markup(client_of(assessor).get(at("queue", campaign)))
    assert "Nothing is left for you here" in html
    assert "Start rating" not in html
    assert "Nothing is left for you here" in start(campaign, client_of(assessor))


@pytest.mark.parametrize("mode", ["blind", "assisted"])
def test_a_save_takes_sixteen_queries(mode, campaign_of, client_of, assessor):
    """In one transaction: the rating, its turn, the next lease, and the page that comes back."""
    campaign, client = campaign_of(mode=mode, assessors=2), client_of(assessor)
    start(campaign, client)
    first, second = campaign.cells.all()[:2]
    client.post(at("queue-cell", campaign, first.pk), send(3), **HTMX)
    HumanStamp.objects.get_or_create(topic=second.topic)
    with CaptureQueriesContext(connection) as captured:
        html = markup(client.post(at("queue-cell", campaign, second.pk), send(4), **HTMX))
    verbs = Counter(query["sql"].split()[0] for query in captured.captured_queries)
    assert verbs["SELECT"] + verbs["INSERT"] + verbs["UPDATE"] == 16
    assert set(verbs) <= {"SELECT", "INSERT", "UPDATE", "SAVEPOINT", "RELEASE"}
    assert "You: 2 of 12" in html
    assert campaign.turns.filter(person=assessor, state=State.LEASED).count() == HELD


def test_rating_without_javascript(campaign, client_of, assessor):
    client = client_of(assessor)
    cell = held(campaign, assessor).cell
    response = client.post(at("queue-cell", campaign, cell.pk), send(3, comment="only half"))
    assert response.url == at("queue", campaign)
    assert Turn.objects.get(cell=cell).comment == "only half"
    html = markup(client.get(response.url))
    assert "1 of 12" in html
    assert f'data-cell="{cell.pk}"' not in html


def test_a_part_for_scripts(campaign, client_of, assessor):
    client, cell = client_of(assessor), held(campaign, assessor).cell
    html = markup(client.post(at("queue-cell", campaign, cell.pk), send(3), **HTMX))
    assert html.lstrip().startswith('<div id="queue"')
    assert '<div id="queue-ahead" hidden>' in html


@pytest.mark.parametrize("wrong", [{"rating": 6}, {"rating": -1}, {"rating": ""}, {"seen": ""}, {"uid": "x"}])
def test_a_bad_rating_is_refused(campaign, client_of, assessor, wrong):
    cell = held(campaign, assessor).cell
    response = client_of(assessor).post(at("queue-cell", campaign, cell.pk), send(3) | wrong)
    assert response.status_code == 400
    assert not HumanGrade.objects.exists()


def test_blind_cells_give_nothing_away_until_rated(blind, client_of, assessor):
    client = client_of(assessor)
    html = start(blind, client)
    assert "<mark>" not in html
    assert ANSWER not in html.replace("Birches turn yellow because carotenoids remain.", "")
    assert "The grader rated" not in html
    assert "confidence" not in html
    cell = Turn.objects.filter(person=assessor).order_by("order").first().cell
    after = client.post(at("queue-cell", blind, cell.pk), send(2))
    assert after.url == at("queue-cell", blind, cell.pk)
    seen = markup(client.get(after.url))
    assert "The grader rated" in seen
    assert ANSWER in seen or "The answer that it extracted is marked in the passage." in seen
    assert "Keep 2" in seen
    assert seen.count("The grader rated") == 1  # not of the next cell


def test_a_change_of_mind_goes_on(blind, client_of, assessor):
    client, cell = client_of(assessor), held(blind, assessor).cell
    address = at("queue-cell", blind, cell.pk)
    client.post(address, send(2))
    assert client.post(address, send(4, seen=1)).url == at("queue", blind)
    assert list(HumanGrade.objects.values_list("how", flat=True)) == [How.BLIND, How.ASSISTED]


def test_a_cell_rated_in_another_window_shows_both(campaign, client_of, assessor):
    client, cell = client_of(assessor), held(campaign, assessor).cell
    address = at("queue-cell", campaign, cell.pk)
    client.post(address, send(1))
    response = client.post(address, send(5))
    html = markup(response)
    assert response.status_code == 409
    assert "in another window at" in html
    assert 'name="seen" value="1"' in html
    assert "in another window at" in markup(client.get(f"{address}?mine=5"))
    assert client.get(f"{address}?mine=nonsense").status_code == 200


def test_skip_and_undo(campaign, client_of, assessor):
    client, cell = client_of(assessor), held(campaign, assessor).cell
    client.post(at("queue-skip", campaign, cell.pk), {"reason": "not my field", "uid": uuid4()})
    turn = Turn.objects.get(cell=cell, person=assessor)
    assert (turn.state, turn.reason) == (State.SKIPPED, "not my field")
    response = client.post(at("queue-undo", campaign), {"uid": uuid4()})
    assert response.url == at("queue-cell", campaign, cell.pk)
    again = client.post(at("queue-undo", campaign), {"uid": uuid4()}, follow=True)
    assert "Nothing to undo" in markup(again)


def test_after_an_undo_a_grade_that_was_seen_is_said_to_be_seen(blind, client_of, assessor):
    client, cell = client_of(assessor), held(blind, assessor).cell
    address, seen = at("queue-cell", blind, cell.pk), "your next rating is no blind one"
    assert seen not in markup(client.get(address))
    client.post(address, send(3))
    assert seen not in markup(client.get(address))
    client.post(at("queue-undo", blind), {"uid": uuid4()})
    assert seen in markup(client.get(address))


def test_a_finished_cell_has_neighbours(campaign, client_of, assessor):
    client, cells = client_of(assessor), []
    for _ in range(3):
        cells.append(held(campaign, assessor).cell)
        client.post(at("queue-cell", campaign, cells[-1].pk), send(3))
    html = markup(client.get(at("queue-cell", campaign, cells[1].pk)))
    assert f'data-key-action="previous" href="{at("queue-cell", campaign, cells[0].pk)}"' in html
    assert f'data-key-action="next" href="{at("queue-cell", campaign, cells[2].pk)}"' in html
    html = markup(client.get(at("queue", campaign)))
    assert f'data-key-action="previous" href="{at("queue-cell", campaign, cells[2].pk)}"' in html


def test_beat_and_stop(campaign, client_of, assessor):
    client = client_of(assessor)
    client.get(at("queue", campaign))
    assert client.post(at("queue-beat", campaign)).status_code == 204
    assert client.post(at("queue-stop", campaign)).status_code == 302
    assert not campaign.turns.filter(state=State.LEASED).exists()


def test_the_end_says_what_is_left(campaign_of, client_of, assessor, second):
    campaign = campaign_of(assessors=2, size=1)
    client, cell = client_of(assessor), held(campaign, assessor).cell
    client.post(at("queue-cell", campaign, cell.pk), send(3))
    assert "1 rating is left for other assessors" in markup(client.get(at("queue", campaign)))
    client_of(second).get(at("queue", campaign))
    client_of(second).post(at("queue-cell", campaign, cell.pk), send(3))
    assert "All 2 ratings are done" in markup(client.get(at("queue", campaign)))


def test_progress_shows_who_is_on_what(campaign, client_of, assessor, second, owner):
    mine = held(campaign, second)
    cell = held(campaign, assessor).cell
    client_of(assessor).post(at("queue-cell", campaign, cell.pk), send(3))
    html = markup(client_of(owner).get(at("campaign", campaign)))
    assert "1 of 12" in html
    assert f"pair {mine.order}: topic" in html


def test_a_campaign_opens_below_its_row(campaign_of, client_of, owner):
    first, second = campaign_of(), campaign_of()
    html = markup(client_of(owner).get(at("campaign", second)))
    opened = f'<tr id="campaign-{second.pk}" class="is-open"'
    assert html.count('<tr class="opened">') == 1
    assert '<tr class="opened">' in html.partition(opened)[2].partition("<tr id=")[0]
    assert f'href="{at("campaign", first)}#campaign-{first.pk}"' in html
    listing = reverse("campaigns:campaigns", args=[first.collection.slug])
    assert '<tr class="opened">' not in markup(client_of(owner).get(listing))


def test_closing_and_opening(campaign, client_of, owner, assessor):
    client = client_of(owner)
    for _ in range(2):
        client.post(at("campaign-state", campaign), {"state": "closed"})
        assert "This campaign is closed" in markup(client_of(assessor).get(at("queue", campaign)))
    assert "This campaign is closed" in start(campaign, client_of(assessor))
    client.post(at("campaign-state", campaign), {"state": "open"})
    assert 'data-outbox="rate"' in start(campaign, client_of(assessor))


def test_passages_are_escaped(bank, campaign_of, client_of, assessor):
    bank.collection.passages.update(text="<script>alert(1)</script>")
    html = start(campaign_of(), client_of(assessor))
    assert 'data-outbox="rate"' in html
    assert "<script>alert" not in html


def test_a_stranger_to_the_standing_campaign(bank, client_of, assessor):
    campaign = Campaign.objects.create(
        collection=bank.collection,
        bank=bank,
        name="Assigned",
        kinds=[],
        seed=1,
        population=0,
        is_standing=True,
    )
    assert client_of(assessor).get(at("queue", campaign)).status_code == 403


def test_a_comment_is_kept_before_the_rating(campaign, client_of, assessor, viewer, outsider):
    turn = held(campaign, assessor)
    comment_at = at("queue-comment", campaign, turn.cell_id)
    assert client_of(assessor).post(comment_at, {"comment": "see line 2"}, **HTMX).status_code == 204
    turn.refresh_from_db()
    assert (turn.comment, turn.state, turn.rating) == ("see line 2", State.LEASED, None)
    plain = client_of(assessor).post(comment_at, {"comment": "see line 3"})
    assert plain["Location"] == at("queue-cell", campaign, turn.cell_id)
    assert client_of(assessor).get(comment_at).status_code == 405
    assert client_of(assessor).post(comment_at, {"comment": "x" * 2_001}).status_code == 400
    assert client_of(viewer).post(comment_at, {"comment": "no"}).status_code == 403
    assert client_of(outsider).post(comment_at, {"comment": "no"}).status_code == 404
    turn.refresh_from_db()
    assert turn.comment == "see line 3"


def test_only_who_has_a_cell_comments_on_it(campaign, client_of, assessor, second):
    turn = held(campaign, assessor)
    comment_at = at("queue-comment", campaign, turn.cell_id)
    assert client_of(second).post(comment_at, {"comment": "mine"}, **HTMX).status_code == 403
    turn.refresh_from_db()
    assert turn.comment == ""
