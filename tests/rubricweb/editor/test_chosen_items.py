"""Several items at once: their importance, and retiring them with what that would change."""

import pytest
from django.urls import reverse

from rubricweb.banks import actions
from rubricweb.banks.models import Item
from tests.factories import BankFactory, TopicFactory, graded, pooled, ranked
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}
RATINGS = {"Question 1?": (5, 0, 0, 1), "Question 2?": (0, 4, 0, 1), "Question 3?": (0, 0, 5, 1)}


@pytest.fixture
def topic(collection):
    collection.shows_run_tags = True
    collection.save()
    return TopicFactory(collection=collection)


@pytest.fixture
def items(collection, topic) -> list[Item]:
    ranked(topic, {"ahead": ["d0", "d1"], "behind": ["d2", "d1"], "apart": ["d3"]})
    return graded(BankFactory(collection=collection), topic, pooled(topic, 4), RATINGS)


@pytest.fixture
def url(items, topic) -> str:
    return reverse("editor:items-change", args=[items[0].bank_id, topic.pk])


def chosen(*items: Item, act: str) -> dict[str, object]:
    return {"item": [f"{item.pk}:{item.version}" for item in items], "act": act}


def importances(items) -> list[str]:
    return [item.importance for item in Item.objects.filter(pk__in=[item.pk for item in items])]


def test_an_importance_for_several(client_of, developer, url, items, topic):
    answer = client_of(developer).post(url, chosen(*items[:2], act="okay"))
    assert answer["Location"] == reverse("editor:topic", args=[items[0].bank_id, topic.pk])
    assert importances(items) == ["okay", "okay", "vital"]
    assert [item.weight for item in items[0].bank.items.all()] == [0.5, 0.5, 1.0]


def test_retiring_asks_first(client_of, developer, url, items):
    client = client_of(developer)
    asked = markup(client.post(url, chosen(*items[:2], act="retire"), headers=HTMX))
    assert asked.lstrip().startswith('<aside id="item-panel"')
    assert "Retire 2 items?" in asked
    assert "ahead 1 → 2" in asked
    assert items[0].bank.items.active().count() == 3
    done = client.post(url, chosen(*items[:2], act="retire-now"), headers=HTMX)
    assert "items-changed" in done["HX-Trigger-After-Settle"]
    assert list(items[0].bank.items.active()) == [items[2]]


@pytest.mark.parametrize("act", ["okay", "retire-now"])
def test_a_conflict_changes_nothing(client_of, developer, owner, url, items, act):
    actions.revise_item(Item.objects.get(pk=items[1].pk), text="Theirs?", seen=1, by=owner)
    answer = client_of(developer).post(url, chosen(*items, act=act), headers=HTMX)
    assert answer.status_code == 409
    assert f"\u201cTheirs?\u201d was reworded by {owner} meanwhile" in markup(answer)
    assert importances(items) == ["vital"] * 3
    assert items[0].bank.items.active().count() == 3


@pytest.mark.parametrize("sent", [{"act": "okay"}, {"item": ["1:1"], "act": "burn"}])
def test_what_cannot_be_done(client_of, developer, url, items, sent):
    answer = client_of(developer).post(url, sent)
    assert answer.status_code == 422
    assert "Choose items first" in markup(answer)
    assert importances(items) == ["vital"] * 3


def test_who_may(client_of, viewer, outsider, developer, url, items):
    assert client_of(viewer).post(url, chosen(*items, act="okay")).status_code == 403
    assert client_of(outsider).post(url, chosen(*items, act="okay")).status_code == 404
    assert client_of(developer).get(url).status_code == 405
