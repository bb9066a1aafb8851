"""The form of a campaign says what it would ask of people, and settle, before it is opened."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from rubricweb.campaigns.forms import CampaignForm
from rubricweb.campaigns.models import Campaign, Turn
from tests.factories import (
    BankFactory,
    ItemFactory,
    RankingFactory,
    RunFactory,
    gradable,
    grade,
    lexical_config,
    ranked,
)
from tests.rubricweb.campaigns.queue.test_views import new_campaign
from tests.rubricweb.markup import markup


@pytest.fixture
def asked(bank, client_of, owner):
    def post(**fields):
        address = reverse("campaigns:campaign-preview", args=["autumn"])
        return client_of(owner).post(address, new_campaign(bank, **fields), headers={"HX-Request": "true"})

    return post


def test_the_summary_counts_cells_people_and_hours(asked, second):
    shown = asked(seconds=30, assignees=[second.pk]).context["preview"]
    assert (shown.cells, shown.population, shown.assessors, shown.ratings) == (8, 12, 2, 16)
    assert (shown.raters, shown.total, shown.once_more) == (1, 16 * 30, 8 * 30)
    assert not shown.is_measured
    assert not Campaign.objects.exists()


def test_it_says_when_too_few_people_can_rate(asked, second):
    answer = asked(assignees=[second.pk], assessors=2)
    said = "Each pair needs 2 people, and only 1 can rate: no pair would be finished."
    assert answer.context["preview"].summary.endswith(said)
    assert "Invite people" in answer.text
    assert "Invite people" not in asked(assignees=[second.pk], assessors=1).text


def test_the_pace_is_that_of_people_who_rated_here(asked, campaign_of, assessor):
    campaign = campaign_of()
    assert asked().context["preview"].seconds == 15
    for n, turn in enumerate(campaign.turns.all()[:4]):
        done = timezone.now() + timedelta(seconds=17 * n)
        Turn.objects.filter(pk=turn.pk).update(person=assessor, state="submitted", done_at=done)
    shown = asked().context["preview"]
    assert (round(shown.seconds), shown.is_measured) == (17, True)
    Turn.objects.filter(person=assessor).update(done_at=timezone.now())
    assert asked().context["preview"].seconds == 15, "all at once tells nothing"
    for n, turn in enumerate(Turn.objects.filter(person=assessor)):
        Turn.objects.filter(pk=turn.pk).update(done_at=timezone.now() + timedelta(seconds=n))
    assert asked().context["preview"].seconds == 15, "nobody rates for hours at a second a cell"


def test_rating_every_cell_settles_every_close_pair(bank, asked):
    topic = bank.collection.topics.last()
    doc_ids = [pooled.passage.doc_id for pooled in topic.pool.all()]
    ranked(topic, {"alpha": doc_ids[:1], "beta": doc_ids[1:2], "gamma": doc_ids[2:]})
    everything = asked(cells="all", size="").context["preview"]
    assert everything.pairs
    assert {pair.chance for pair in everything.pairs} == {1.0}
    assert everything.likely == 0, "no leaderboard of two topics calls a pair clear"
    little = asked(cells="all", size=1).context["preview"]
    assert [pair.upper for pair in little.pairs] == [pair.upper for pair in everything.pairs]
    assert min(pair.chance for pair in little.pairs) < 1


def rank_one_each(collection):
    """Alpha ranks the first passage of each topic, beta the second."""
    for place, tag in enumerate(("alpha", "beta")):
        run = RunFactory(collection=collection, run_tag=tag)
        for topic in collection.topics.all():
            doc_id = topic.pool.order_by("position")[place].passage.doc_id
            RankingFactory(run=run, topic=topic, doc_ids=[doc_id])


def test_a_clear_pair_is_likely_to_be_settled_by_the_rule_of_leaderboards(collection, owner, client_of):
    """Eight topics, where alpha has all items and beta all but one: the topics tell them apart."""
    bank = gradable(collection, topics=8, passages=3, items=5)
    rank_one_each(collection)
    for topic in collection.topics.all():
        for number, item in enumerate(bank.items.filter(topic=topic)):
            for place, pooled in enumerate(topic.pool.order_by("position")):
                grade(lexical_config(), item, pooled.passage, 3 if place and not number else 4)
    address = reverse("campaigns:campaign-preview", args=[collection.slug])
    fields = new_campaign(bank, cells="all", size="")
    shown = client_of(owner).post(address, fields, headers={"HX-Request": "true"}).context["preview"]
    assert [(pair.upper, pair.is_clear, pair.chance) for pair in shown.pairs] == [("alpha", True, 1.0)]
    assert shown.likely == 1


@pytest.mark.parametrize("cells", ["answers", "passages"])
def test_a_sample_for_sums_says_how_narrow_the_estimates_become(bank, asked, cells):
    rank_one_each(bank.collection)
    whole, part = (asked(cells=cells, cutoff=1, size=size).context["preview"] for size in ("", 4))
    assert (whole.cells, whole.half_width) == (8, 0), "2 topics x 2 runs x 2 items"
    assert (part.cells, part.population) == (4, 8)
    assert 0 < part.half_width < 1
    assert part.more == (8, 0), "twice as many are all"
    text = asked(cells=cells, cutoff=1, size=4).text
    assert "Estimates the score of most runs to within about 0." in " ".join(text.split())
    assert "Rubric-Cover" not in text, "of sums it tells no pairs of another measure"


def test_single_cells_are_refused_where_runs_rank_several_passages(bank, asked):
    topic = bank.collection.topics.first()
    ranked(topic, {"alpha": [pooled.passage.doc_id for pooled in topic.pool.all()]})
    assert "Single pairs estimate a nugget score only where each run has one" in asked(cells="answers").text
    assert asked(cells="answers", cutoff=1).context["preview"].cells == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "8 pairs, 0.1 hours in total."),
        ({"cells": "unsure"}, "No pair matches: choose other"),
        ({"size": 0}, "Maximum number of pairs: Ensure this value"),
    ],
)
def test_what_is_announced_is_one_sentence(asked, fields, sentence):
    marked = re.search(
        r'data-announced(?:="([^"]*)"|[^>]*>(.*?)<(?:/p|/ul)>)', markup(asked(**fields)), re.DOTALL
    )
    assert sentence in " ".join((marked[1] or marked[2]).split())


def test_the_form_begins_with_a_bank_whose_items_have_texts(bank):
    imported = BankFactory(collection=bank.collection, name="imported")
    ItemFactory(bank=imported, topic=bank.collection.topics.first(), revision__text="")
    form = CampaignForm(bank.collection, [imported, bank])
    names = {str(bank.pk): bank.name, str(imported.pk): "imported (no item has a text)"}
    assert form.fields["bank"].choices == list(names.items())


def test_what_is_wrong_is_named_and_a_name_is_not_needed(asked):
    assert asked(name="").context["preview"].cells == 8
    html = markup(asked(size=0))
    assert "Maximum number of pairs: Ensure this value is greater than or equal to 1" in html
    assert "No pair matches" in markup(asked(cells="unsure"))


def test_without_scripts_the_page_keeps_what_was_filled_in(bank, client_of, owner, viewer):
    address = reverse("campaigns:campaign-preview", args=["autumn"])
    page = markup(client_of(owner).post(address, new_campaign(bank)))
    assert 'value="Second look"' in page
    assert "hours in total" in page
    assert client_of(viewer).post(address).status_code == 403
    assert client_of(owner).get(address).status_code == 405


def test_more_cells_take_no_more_queries(asked, django_assert_max_num_queries):
    asked()
    with django_assert_max_num_queries(50):
        asked(cells="all", size="")
