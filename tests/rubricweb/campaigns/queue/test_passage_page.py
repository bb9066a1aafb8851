"""The page of a passage with all its items: what it shows, and what scripts get of it."""

from __future__ import annotations

import pytest

from rubricweb.campaigns.models import Turn
from tests.rubricweb.campaigns.queue.test_views import HTMX, at, held, send, start
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db
State = Turn.State


def test_all_items_of_a_passage_are_on_one_page_rated_ones_too(campaign_of, client_of, assessor):
    campaign, client = campaign_of(passage_order="topic"), client_of(assessor)
    html = start(campaign, client)
    first, second, third = campaign.cells.all()[:3]
    shown, ahead = html.split('id="queue-ahead"')
    assert shown.count("data-passage=") == 1
    assert [f'data-cell="{cell.pk}"' in shown for cell in (first, second, third)] == [True, True, False]
    assert f'data-cell="{third.pk}"' in ahead
    assert shown.count(f'<p class="prose passage" data-text>{first.passage.text}') == 1
    client.post(at("queue-cell", campaign, first.pk), send(3))
    html = markup(client.get(at("queue", campaign)))
    assert "<span data-own>you <b>3</b></span>" in html
    assert "data-rated" in html.split(f'data-cell="{second.pk}"')[0]


def test_a_page_gets_what_it_has_not(campaign_of, client_of, assessor):
    """What was rated, with the grader's rating, and cells that were leased since, but none that it knows."""
    campaign, client = campaign_of(passage_order="topic", mode="blind"), client_of(assessor)
    start(campaign, client)
    held = list(campaign.turns.filter(person=assessor, state=State.LEASED).order_by("order"))
    known = ",".join(str(turn.cell_id) for turn in held)
    sent = send(3, known=known)
    html = markup(client.post(at("queue-cell", campaign, held[0].cell_id), sent, **HTMX))
    answered = html.split('<ol id="queue-answered" hidden>')[1]
    assert f'data-cell="{held[0].cell_id}"' in answered
    assert "<span>grader <b>4</b></span>" in answered
    assert html.count('<li class="queue-item"') == 1
    html = markup(client.post(at("queue-next", campaign), {"known": f"{held[1].cell_id},nonsense"}, **HTMX))
    assert f'data-cell="{held[1].cell_id}"' not in html
    assert f'data-cell="{held[2].cell_id}"' in html


def test_a_campaign_tells_how_far_each_topic_is(campaign_of, client_of, assessor, owner):
    campaign = campaign_of(passage_order="topic", assessors=2)
    cell = held(campaign, assessor).cell
    client_of(assessor).post(at("queue-cell", campaign, cell.pk), send(3))
    html = markup(client_of(owner).get(at("campaign", campaign), **HTMX))
    assert html.index("1 of 12 rated") < html.index("0 of 12 rated")
