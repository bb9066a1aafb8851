"""Several items at once: their importance, and retiring them with what that would change."""

import re

import pytest
from django.urls import reverse

from grading.types import Importance
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
    assert answer["Location"] == reverse("review:topic", args=[items[0].bank_id, topic.pk])
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
    assert f"\u201cTheirs?\u201d was reworded by {owner} in the meantime" in markup(answer)
    assert importances(items) == ["vital"] * 3
    assert items[0].bank.items.active().count() == 3


@pytest.mark.parametrize("sent", [{"act": "okay"}, {"item": ["1:1"], "act": "burn"}])
def test_what_cannot_be_done(client_of, developer, url, items, sent):
    answer = client_of(developer).post(url, sent)
    assert answer.status_code == 422
    assert "Select items first" in markup(answer)
    assert importances(items) == ["vital"] * 3


def test_who_may(client_of, viewer, outsider, developer, url, items):
    assert client_of(viewer).post(url, chosen(*items, act="okay")).status_code == 403
    assert client_of(outsider).post(url, chosen(*items, act="okay")).status_code == 404
    assert client_of(developer).get(url).status_code == 405


def undo_of_last(answer) -> dict[str, str]:
    """The fields of the Undo button in the answer's toast."""
    return dict(re.findall(r'type="hidden"\s+name="(before)"\s+value="([^"]+)"', markup(answer)))


@pytest.fixture
def undo_url(items, topic) -> str:
    return reverse("editor:items-undo", args=[items[0].bank_id, topic.pk])


def test_one_undo_brings_all_weights_back(client_of, developer, url, undo_url, items):
    actions.weigh_item(items[0], importance=Importance.AVOID, weight=-2.5, seen=1, by=developer)
    client = client_of(developer)
    changed = client.post(url, chosen(*items, act="okay"), headers=HTMX)
    assert importances(items) == ["okay"] * 3
    undone = client.post(undo_url, undo_of_last(changed), headers=HTMX)
    assert "3 items brought back." in markup(undone)
    assert "items-changed" in undone["HX-Trigger-After-Settle"]
    assert [(row.importance, row.weight) for row in items[0].bank.items.all()] == [
        ("avoid", -2.5),
        ("vital", 1.0),
        ("vital", 1.0),
    ]


def test_one_undo_restores_all_that_were_retired(client_of, developer, url, undo_url, items):
    client = client_of(developer)
    changed = client.post(url, chosen(*items[:2], act="retire-now"), headers=HTMX)
    client.post(undo_url, undo_of_last(changed))
    assert list(items[0].bank.items.active()) == items


@pytest.mark.parametrize("act", ["okay", "retire-now"])
def test_an_undo_overwrites_no_later_change(client_of, developer, owner, url, undo_url, items, act):
    client = client_of(developer)
    changed = client.post(url, chosen(*items, act=act), headers=HTMX)
    theirs = Item.objects.get(pk=items[2].pk)
    actions.revise_item(theirs, text="Theirs?", seen=theirs.version, by=owner)
    before = list(Item.objects.values("pk", "importance", "retired_at", "version"))
    answer = client.post(undo_url, undo_of_last(changed), headers=HTMX)
    assert answer.status_code == 409
    assert f"\u201cTheirs?\u201d was reworded by {owner} in the meantime" in markup(answer)
    assert list(Item.objects.values("pk", "importance", "retired_at", "version")) == before


def test_what_changed_nothing_offers_no_undo(client_of, developer, url, items):
    assert undo_of_last(client_of(developer).post(url, chosen(*items, act="vital"), headers=HTMX)) == {}


@pytest.mark.parametrize("sent", ["", "1", "1:2:vital", "1:2:burning:1", "x:2:vital:1"])
def test_an_undo_of_nothing_is_refused(client_of, developer, undo_url, sent):
    assert client_of(developer).post(undo_url, {"before": sent}).status_code == 400


def test_who_may_undo(client_of, viewer, outsider, undo_url, items):
    sent = {"before": f"{items[0].pk}:1:okay:0.5"}
    assert client_of(viewer).post(undo_url, sent).status_code == 403
    assert client_of(outsider).post(undo_url, sent).status_code == 404
