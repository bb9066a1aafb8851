"""The command that opens a campaign."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from rubricweb.campaigns.models import Campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def arguments(bank) -> tuple[str, ...]:
    return ("autumn", "second look", "--grader", str(bank.collection.topics.first().grades.first().config_id))


def test_it_asks_for_the_cells_and_people_that_were_named(arguments, bank, second, client_of, owner, capsys):
    topic = bank.collection.topics.first().query_id
    options = (
        "--topic",
        topic,
        "--assignee",
        "second",
        "--assessors",
        "1",
        "--mode",
        "assisted",
        "--server",
        "http://x",
    )
    call_command("open_campaign", *arguments, *options)
    said = capsys.readouterr()
    assert said.err.startswith("6 ratings of 6 pairs (6 match), 3 passages, 2 items, by 1 people: 0.0 hours")
    campaign = Campaign.objects.get()
    assert (campaign.name, campaign.mode) == ("second look", Campaign.Mode.ASSISTED)
    assert campaign.cells.count() == 6
    assert list(campaign.assignees.all()) == [second]
    assert client_of(owner).get(said.out.strip().removeprefix("http://x")).status_code == 200


def test_a_dry_run_opens_nothing(arguments, capsys):
    call_command("open_campaign", *arguments, "--dry-run")
    assert capsys.readouterr().err.startswith("12 ratings of 12 pairs")
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bank", "other"), "has no rubric other; its rubrics are"),
        (("--topic", "nowhere"), "--topic: Not in the collection: nowhere"),
        (("--assignee", "nobody"), "--assignee: Not in the collection: nobody"),
        (("--grader", "999999"), "--grader: Select a valid choice"),
        (("--min-grade", "9"), "--min-grade: Ensure"),
        (("--kind", "nugget"), "No pair matches"),
    ],
)
def test_what_no_campaign_can_be_is_said(arguments, options, said):
    with pytest.raises(CommandError, match=said):
        call_command("open_campaign", *arguments, *options)
    assert not Campaign.objects.exists()
