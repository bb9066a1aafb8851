"""The time line of a bank: changes, moves and versions, newest first."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from grading.types import Importance
from rubricweb.banks import actions
from rubricweb.banks.versions import name_version
from rubricweb.editor import history as selectors
from rubricweb.editor.history import Filters, history_page
from tests.factories import gradable
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=2, items=2)


@pytest.fixture
def changed(bank, developer, owner):
    """Reworded by one, retired by the other."""
    first, second = bank.items.order_by("pk")[:2]
    actions.revise_item(first, text="Is it red?", seen=1, by=developer)
    actions.retire_item(second, seen=1, by=owner)
    return first, second


def address(bank) -> str:
    return f"/collections/{bank.collection.slug}/editor/history/"


def verbs(page) -> list[str]:
    return [getattr(row, "verb", "named") for row in page.context["page"].changes]


def test_filters_by_person_verb_and_topic(client_of, viewer, developer, bank, changed):
    client, url = client_of(viewer), address(bank)
    assert verbs(client.get(url)) == ["retired", "reworded"]
    assert verbs(client.get(url, {"by": developer.pk})) == ["reworded"]
    assert verbs(client.get(url, {"verb": "retired"})) == ["retired"]
    other = bank.items.exclude(topic=changed[0].topic).first().topic
    assert verbs(client.get(url, {"topic": other.pk})) == []
    for wrong in ({"by": "x"}, {"verb": "burnt"}, {"topic": "999"}, {"before": "-1"}, {"before": "9" * 40}):
        assert verbs(client.get(url, wrong)) == ["retired", "reworded"]
    html = markup(client.get(url))
    assert "Is it red?" in html
    assert str(developer) in html


def test_pages_go_by_the_last_row_seen(bank, changed, developer, monkeypatch):
    monkeypatch.setattr(selectors, "PAGE_ROWS", 1)
    first = history_page(bank, Filters())
    actions.revise_item(changed[0], text="Is it blue?", seen=2, by=developer)
    second = history_page(bank, Filters(), before=first.before)
    assert [change.verb for change in (*first.changes, *second.changes)] == ["retired", "reworded"]
    assert second.before is None


def test_moves_are_listed_between_the_changes(client_of, viewer, developer, owner, bank, changed):
    first, other = changed[0], bank.items.exclude(topic=changed[0].topic).first()
    actions.move_item(other, place=1, by=owner)
    actions.revise_item(first, text="Is it blue?", seen=2, by=developer)
    client, url = client_of(viewer), address(bank)
    page = client.get(url)
    assert verbs(page) == ["reworded", "moved", "retired", "reworded"]
    row = " ".join(strip_tags(markup(page).split('<ol class="timeline">')[1].split("<li>")[2]).split())
    assert row.startswith(f"nowMoved {other} {other.topic.query_id} by {owner}")
    assert "place 2 of 2" in row
    assert verbs(client.get(url, {"verb": "moved"})) == ["moved"]
    assert verbs(client.get(url, {"verb": "moved", "topic": first.topic_id})) == []
    assert verbs(client.get(url, {"by": owner.pk})) == ["moved", "retired"]


def test_pages_have_each_change_and_each_move_once(bank, changed, owner, monkeypatch):
    monkeypatch.setattr(selectors, "PAGE_ROWS", 2)
    other = bank.items.exclude(topic=changed[0].topic).first()
    for place in (1, 0, 1):
        actions.move_item(other, place=place, by=owner)
    seen, pages = None, []
    while not pages or seen:
        page = history_page(bank, Filters(), before=seen)
        pages.append([change.verb for change in page.changes])
        seen = page.before
    assert pages == [["moved", "moved"], ["moved", "retired"], ["reworded"]]


def test_whoever_only_moves_is_a_person_to_filter_by(client_of, viewer, assessor, bank):
    actions.move_item(bank.items.first(), place=1, by=assessor)
    assert f">{assessor}</option>" in markup(client_of(viewer).get(address(bank)))


def test_the_time_line_is_for_members(client_of, viewer, outsider, bank):
    url = address(bank)
    assert client_of(outsider).get(url).status_code == 404
    assert client_of(viewer).post(url).status_code == 403
    assert client_of(viewer).put(url).status_code == 405
    html = markup(client_of(viewer).get(url, headers=HTMX))
    assert html.strip().startswith('<section id="changes"')
    assert "No change matches" in html


def test_queries_do_not_grow_with_the_time_line(client_of, viewer, developer, bank, changed):
    client, url = client_of(viewer), address(bank)
    client.get(url)
    with CaptureQueriesContext(connection) as few:
        client.get(url)
    for item in bank.items.active():
        actions.weigh_item(item, importance=Importance.OKAY, seen=item.version, by=developer)
    with CaptureQueriesContext(connection) as more:
        assert len(verbs(client.get(url))) == 5
    assert len(more) == len(few)


def weigh(item) -> str:
    return f"/editor/banks/{item.bank_id}/items/{item.pk}/weigh/"


def test_weighing_an_item(client_of, developer, viewer, outsider, bank):
    item, client = bank.items.first(), client_of(developer)
    assert 'data-mirrors="item-' in markup(client.get(weigh(item)))
    answer = client.post(weigh(item), {"importance": "okay", "weight": "", "seen": 1})
    assert answer.status_code == 302
    item.refresh_from_db()
    assert (item.importance, item.weight) == ("okay", 0.5)
    row = client.post(weigh(item), {"importance": "vital", "weight": "2.5", "seen": 2}, headers=HTMX)
    assert "Vital, weight 2.5" in markup(row)
    assert client_of(viewer).post(weigh(item), {}).status_code == 403
    assert client_of(outsider).get(weigh(item)).status_code == 404


@pytest.mark.parametrize(
    "wrong", [{"weight": "11"}, {"weight": "much"}, {"importance": "dear"}, {"seen": ""}]
)
def test_weights_that_will_not_do(client_of, developer, bank, wrong):
    item = bank.items.first()
    sent = {"importance": "okay", "weight": "0.5", "seen": 1} | wrong
    assert client_of(developer).post(weigh(item), sent).status_code == 422
    item.refresh_from_db()
    assert item.version == 1


def test_two_who_weigh_at_once(client_of, developer, owner, bank):
    item = bank.items.first()
    actions.weigh_item(item, importance=Importance.AVOID, seen=1, by=owner)
    answer = client_of(developer).post(weigh(item), {"importance": "okay", "weight": "0.5", "seen": 1})
    html = markup(answer)
    assert answer.status_code == 409
    assert "yours was not saved" in html
    assert 'name="seen" value="2"' in html
    assert 'value="-1.0"' in html


def test_versions_stand_between_the_changes(client_of, viewer, developer, owner, bank, changed):
    name_version(bank, name="Pilot", by=owner)
    actions.revise_item(changed[0], text="Is it blue?", seen=2, by=developer)
    client = client_of(viewer)
    page = client.get(address(bank))
    assert verbs(page) == ["reworded", "named", "retired", "reworded"]
    assert "Pilot" in markup(page)
    assert verbs(client.get(address(bank), {"verb": "named"})) == ["named"]
    assert verbs(client.get(address(bank), {"by": owner.pk})) == ["named", "retired"]
    assert verbs(client.get(address(bank), {"topic": changed[0].topic_id})) == [
        "reworded",
        "retired",
        "reworded",
    ]


def test_pages_have_each_version_once(bank, changed, developer, owner, monkeypatch):
    monkeypatch.setattr(selectors, "PAGE_ROWS", 1)
    name_version(bank, name="Pilot", by=owner)
    actions.revise_item(changed[0], text="Is it blue?", seen=2, by=developer)
    name_version(bank, name="Final", by=owner)
    seen, pages = None, []
    while not pages or seen:
        page = history_page(bank, Filters(), before=seen)
        pages.append([getattr(row, "name", None) or row.verb for row in page.changes])
        seen = page.before
    assert pages == [["Final", "reworded"], ["Pilot", "retired"], ["reworded"]]


def test_the_history_of_another_bank_is_not_found(client_of, viewer, bank):
    assert client_of(viewer).get(address(bank), {"bank": bank.pk + 9}).status_code == 404
