"""A toast undoes what it reports, by the inverse action and the version seen; a conflict is said."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from grading.types import Importance
from rubricweb.banks import actions as banks
from rubricweb.corpus.models import Run
from rubricweb.review.flags import actions as flags
from rubricweb.review.models import Kind, Subject
from tests.factories import RunFactory, gradable
from tests.rubricweb.toasts import HTMX, press_undo, undo_form

PANEL = HTMX | {"HX-Target": "item-panel"}


@pytest.fixture
def item(collection):
    return gradable(collection, topics=1, passages=1, items=3).items.first()


@pytest.fixture
def client(client_of, owner):
    return client_of(owner)


def url_of(item, change: str) -> str:
    return reverse(f"editor:item-{change}", args=[item.bank_id, item.pk])


def test_the_button_asks_for_the_same_part_of_the_page(client, item):
    answer = client.post(url_of(item, "retire") + "?min_grade=3", {"seen": item.version}, headers=PANEL)
    attributes, fields = undo_form(answer)
    assert attributes["action"] == attributes["hx-post"] == url_of(item, "restore") + "?min_grade=3"
    assert attributes["hx-target"] == "#item-panel"
    assert fields == {"seen": str(item.version + 1)}


@pytest.mark.parametrize("headers", [PANEL, {}])
def test_retiring_and_restoring(client, item, headers):
    answer = client.post(url_of(item, "retire"), {"seen": item.version}, headers=headers, follow=True)
    answer = press_undo(client, answer)
    item.refresh_from_db()
    assert not item.is_retired
    press_undo(client, answer)
    item.refresh_from_db()
    assert item.is_retired
    assert [change.verb for change in item.changes.all()][-3:] == ["retired", "restored", "retired"]


def test_what_somebody_changed_since_is_not_undone(client, item, developer):
    answer = client.post(url_of(item, "retire"), {"seen": item.version}, headers=PANEL)
    item.refresh_from_db()
    banks.restore_item(item, seen=item.version, by=developer)
    banks.retire_item(item, seen=item.version, by=developer)
    conflict = press_undo(client, answer)
    assert conflict.status_code == 409
    item.refresh_from_db()
    assert item.is_retired


@pytest.mark.parametrize("headers", [PANEL, {}])
def test_rewording(client, item, headers):
    before = item.revision
    sent = {"seen": item.version, "text": "What else?"}
    answer = client.post(url_of(item, "edit"), sent, headers=headers, follow=True)
    item.refresh_from_db()
    assert item.revision.text == "What else?"
    press_undo(client, answer)
    item.refresh_from_db()
    assert item.revision == before, "its grades are there again"


def test_what_was_saved_without_a_change_has_no_undo(client, item):
    answer = client.post(url_of(item, "edit"), {"seen": item.version, "text": str(item)}, headers=PANEL)
    assert "Question saved." in answer.content.decode()
    assert 'data-key-action="undo"' not in answer.content.decode()


def test_the_button_shows_the_persons_key(client, item, owner):
    def keycap():
        answer = client.post(url_of(item, "move"), {"place": 1}, headers=HTMX)
        client.post(url_of(item, "move"), {"place": 0}, headers=HTMX)
        return re.search(r'data-key-action="undo">Undo (.*?)</button>', answer.content.decode())[1]

    assert ">Z</kbd>" in keycap()
    owner.key_map = {"undo": "KeyU"}
    owner.save()
    assert ">U</kbd>" in keycap()


def test_weighing(client, item):
    before = (item.importance, item.weight)
    sent = {"seen": item.version, "importance": Importance.VITAL, "weight": 2.5}
    press_undo(client, client.post(url_of(item, "weigh"), sent, headers=PANEL))
    item.refresh_from_db()
    assert (item.importance, item.weight) == before
    assert item.changes.filter(verb="weighed").count() == 2


def test_moving(client, item):
    before = list(item.bank.items.fellows_of(item).values_list("pk", flat=True))
    headers = HTMX | {"HX-Target": f"item-{item.pk}"}
    answer = client.post(url_of(item, "move"), {"place": 2}, headers=headers)
    assert list(item.bank.items.fellows_of(item).values_list("pk", flat=True)) != before
    press_undo(client, answer)
    assert list(item.bank.items.fellows_of(item).values_list("pk", flat=True)) == before


def test_resolving_a_flag(client, item, owner):
    subject = Subject(item.bank, item.topic, item=item)
    flag = flags.open_flag(subject, kind=Kind.COMMENT, text="Look.", by=owner)
    sent = {"verb": "resolve", "seen": flag.version, "uid": "0" * 32}
    answer = client.post(flag.get_absolute_url(), sent, headers=HTMX | {"HX-Target": f"flag-{flag.pk}"})
    press_undo(client, answer)
    flag.refresh_from_db()
    assert flag.is_open
    assert [event.verb for event in flag.events.order_by("number")] == ["opened", "resolved", "reopened"]


def test_withdrawing_a_run(client, collection):
    run = RunFactory(collection=collection)
    answer = client.post(reverse("corpus:run-withdraw", args=[collection.slug, run.pk]), follow=True)
    assert Run.objects.get().state == Run.State.WITHDRAWN
    press_undo(client, answer)
    assert Run.objects.get().state == Run.State.ACCEPTED
