"""A new campaign asks three questions; the rest follows from them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from rubricweb.campaigns.models import Campaign, Turn
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db


def answers(bank, **fields: object) -> dict[str, object]:
    """What the page sends as it comes, with these answers."""
    config = bank.items.first().revision.grades.first().config_id
    details = {"bank": bank.pk, "grader": config, "kinds": ["question", "nugget"], "cutoff": 20}
    details["name"] = f"Check {Campaign.objects.count()}"
    return {"question": "right", "sample": 400, "assessors": 1, "mode": "blind", **details, **fields}


@pytest.fixture
def opened(bank, client_of, owner):
    def post(**fields):
        address = reverse("campaigns:campaign-new", args=[bank.collection.slug])
        response = client_of(owner).post(address, answers(bank, **fields))
        assert response.status_code == 302, markup(response)
        return Campaign.objects.latest("pk")

    return post


def test_the_page_preselects_a_sample_and_never_all(bank, client_of, owner):
    form = client_of(owner).get(reverse("campaigns:campaign-new", args=["autumn"])).context["form"]
    assert (form["question"].initial, form["sample"].initial) == ("right", 400)
    assert form["cells"].initial is None
    assert form["name"].initial.startswith("Check of ")
    assert [cells for cells, _ in form.fields["sample"].choices] == [100, 200, 400, 800]


def test_whether_the_grader_is_right_takes_a_random_sample_of_all_cells(opened):
    campaign = opened()
    assert (campaign.cells_taken, campaign.order, campaign.random_share) == ("all", "random", 1.0)
    assert campaign.cells.filter(is_random=True).count() == campaign.cells.count() == 12


def test_close_runs_come_in_the_order_of_the_board(opened):
    campaign = opened(question="runs")
    assert (campaign.order, campaign.random_share) == ("leaderboard", 0.2)


def test_gaps_are_cells_that_failed_or_are_unsure(bank, client_of, owner):
    address = reverse("campaigns:campaign-new", args=["autumn"])
    response = client_of(owner).post(address, answers(bank, question="gaps"))
    assert response.status_code == 422
    assert "No pair matches" in markup(response), "all are graded, and none is unsure"


def test_details_overrule_what_follows_from_the_question(opened):
    campaign = opened(order="rank", random_percent=50, size=4, name="Mine")
    assert (campaign.order, campaign.random_share, campaign.name) == ("rank", 0.5, "Mine")
    assert campaign.cells.count() == 4


def test_a_sample_shrinks_to_the_hours_that_people_have(opened, second):
    assert opened(hours=0.1, assignees=[second.pk], assessors=1, size=10).cells.count() == 10
    # 0.1 h at 15 s are 24 ratings of one person, so 2 cells of twelve assessors each.
    assert opened(hours=0.1, assignees=[second.pk], assessors=12).cells.count() == 2


def test_all_pages_forecast_with_the_pace_of_those_who_rated_here(opened, bank, owner, second, client_of):
    address, client = reverse("campaigns:campaign-new", args=["autumn"]), client_of(owner)
    board = reverse("leaderboards:board", args=["autumn"])

    def forecasts() -> tuple[float, str, str]:
        check = client.get(board).context["check"]
        preview = client.post(f"{address}preview/", answers(bank), headers={"HX-Request": "true"})
        return check["seconds"] / check["cells"], preview, client.get(address).context["form"]

    seconds, preview, form = forecasts()
    assert (seconds, preview.context["preview"].seconds) == (15, 15)
    assert "400 pairs: 1.7 h" in str(form["sample"])
    assert "at 15 s a rating" in str(form["hours"].help_text)

    campaign, now = opened(), timezone.now()
    for place, turn in enumerate(campaign.turns.all()):
        Turn.objects.filter(pk=turn.pk).update(
            state=Turn.State.SUBMITTED, person=second, done_at=now + timedelta(seconds=36 * place)
        )
    seconds, preview, form = forecasts()
    assert (seconds, preview.context["preview"].seconds) == (36, 36)
    assert "400 pairs: 4.0 h" in str(form["sample"])
    assert "at 36 s a rating" in str(form["hours"].help_text)


def test_the_preview_warns_when_people_see_the_grade_they_shall_check(bank, client_of, owner):
    address = reverse("campaigns:campaign-preview", args=["autumn"])
    client, htmx = client_of(owner), {"HX-Request": "true"}
    warning = "People tend to follow a grade that they see"
    assert warning not in markup(client.post(address, answers(bank), headers=htmx))
    assert warning in markup(client.post(address, answers(bank, mode="assisted"), headers=htmx))
    runs = answers(bank, mode="assisted", question="runs")
    assert warning not in markup(client.post(address, runs, headers=htmx))
