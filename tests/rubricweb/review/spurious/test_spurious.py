"""The list of spurious items and its two remedies, on the example of conftest: Q1 covers d3, judged 1."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.banks import actions
from rubricweb.corpus.models import Judgment
from rubricweb.grades.humans import Cell, rate_cell
from tests.factories import BankFactory, ItemFactory
from tests.rubricweb.markup import markup
from tests.rubricweb.toasts import press_undo

HTMX = {"HX-Request": "true"}
Q1 = "Which pigment makes leaves red?"


@pytest.fixture
def listed(autumn) -> str:
    return f"/review/banks/{autumn.bank.pk}/spurious/"


def closer(autumn, item: int = 0) -> str:
    return f"/review/banks/{autumn.bank.pk}/spurious/{autumn.items[item].pk}/"


def found_in(page) -> list[tuple[str, int, int]]:
    return [
        (r.suspect.item.text, r.suspect.spurious.count, r.suspect.spurious.n_graded)
        for r in page.context["rows"]
    ]


def test_the_list_says_how_often_and_what_retiring_does(client_of, viewer, listed):
    page = client_of(viewer).get(listed)
    html = markup(page)
    assert found_in(page) == [(Q1, 1, 2)]
    assert "1 item</strong> covered with grade 4 or more" in html
    assert "<strong>1</strong> of 2" in html
    assert "50\u202f%" in html
    [row] = page.context["rows"]
    assert {change.doc_id: (change.before, change.after) for change in row.what_if.labels} == {
        "d1": (5, 0),
        "d2": (1, 0),
        "d3": (4, 0),
    }
    assert "3 labels change, no run moves" in html


def test_thresholds_and_topic_are_in_the_address(client_of, viewer, autumn, listed):
    client = client_of(viewer)
    assert found_in(client.get(listed, {"min_relevant": 3})) == [(Q1, 1, 3)]
    assert found_in(client.get(listed, {"min_relevant": 1})) == []
    assert found_in(client.get(listed, {"min_grade": 5})) == []
    assert found_in(client.get(listed, {"min_grade": 2, "sort": "share"})) == [
        ("Chlorophyll breaks down in autumn", 1, 1),
        (Q1, 1, 2),
    ]
    assert found_in(client.get(listed, {"topic": autumn.topic.pk})) == [(Q1, 1, 2)]
    for wrong in ({"topic": "999"}, {"min_grade": "x"}, {"page": "-1"}, {"source": "x"}):
        assert found_in(client.get(listed, wrong)) == [(Q1, 1, 2)]


def test_without_judgments_by_what_people_rated(client_of, viewer, assessor, autumn, listed):
    Judgment.objects.all().delete()
    autumn.collection.stamp += 1
    autumn.collection.save()
    empty = client_of(viewer).get(listed)
    assert found_in(empty) == []
    assert "that people rated below 4 on every item" in markup(empty)
    for doc_id, rating in {"d3": 1, "d1": 5}.items():
        rate_cell(Cell.of(autumn.items[1], autumn.passages[doc_id]), rating=rating, by=assessor, seen=0)
    page = client_of(viewer).get(listed)
    assert found_in(page) == [(Q1, 1, 1)]
    assert "people rated below 4 on every item" in markup(page)


@pytest.mark.usefixtures("developers_only")
def test_who_may_see_and_do_what(client_of, viewer, assessor, outsider, autumn, listed):
    for address in (listed, closer(autumn)):
        assert client_of(outsider).get(address).status_code == 404
        assert client_of(viewer).get(address).status_code == 200
        assert client_of(viewer).post(address).status_code == 405
    assert "Reword" not in markup(client_of(assessor).get(closer(autumn)))
    for verb in ("reword/", "retire/"):
        assert client_of(assessor).post(closer(autumn) + verb, {"seen": 1}).status_code == 403
        assert client_of(outsider).post(closer(autumn) + verb, {"seen": 1}).status_code == 404
    assert client_of(viewer).get(f"/review/banks/{autumn.bank.pk + 9}/spurious/").status_code == 404
    elsewhere = ItemFactory(bank=BankFactory(collection=autumn.collection, name="other"), topic=autumn.topic)
    address = f"/review/banks/{autumn.bank.pk}/spurious/{elsewhere.pk}/"
    assert client_of(viewer).get(address).status_code == 404


def test_a_closer_look_shows_the_passages(client_of, developer, autumn):
    html = markup(client_of(developer).get(closer(autumn)))
    assert "<!DOCTYPE html>" in html
    assert "Not relevant but covering it (1)" in html
    assert "Ripe apples turn red because of anthocyanins." in html
    assert autumn.cell("d3", 0) in html
    assert "Maples are planted" not in html
    part = markup(client_of(developer).get(closer(autumn), headers=HTMX))
    assert part.strip().startswith(f'<div id="work-{autumn.items[0].pk}"')


def test_passages_are_escaped(client_of, viewer, autumn):
    html = markup(client_of(viewer).get(closer(autumn, 2), {"min_grade": 1}))
    assert "&lt;script&gt;alert" in html
    assert "<script>alert" not in html


def test_reformulating(client_of, developer, autumn, listed):
    client, item = client_of(developer), autumn.items[0]
    form = {"text": "Which pigment makes maple leaves red?", "seen": 1}
    answer = client.post(closer(autumn) + "reword/?min_grade=3", form)
    assert (answer.status_code, answer.url) == (302, listed + "?min_grade=3")
    assert [(c.verb, c.by) for c in item.changes.all()] == [("reworded", developer)]
    part = client.post(closer(autumn) + "reword/", {"text": "Is it red?", "seen": 2}, headers=HTMX)
    assert "Reworded: Is it red?" in markup(part)
    assert "items-changed" in part.headers["HX-Trigger-After-Settle"]


@pytest.mark.parametrize(
    ("text", "said"), [("", "Write the question"), ("What does <script> do to a leaf?", "already asks")]
)
def test_words_that_will_not_do(client_of, developer, autumn, text, said):
    answer = client_of(developer).post(closer(autumn) + "reword/", {"text": text, "seen": 1})
    assert answer.status_code == 422
    assert said in markup(answer)


def test_two_who_reformulate_at_once(client_of, developer, owner, autumn):
    actions.revise_item(autumn.items[0], text="Theirs?", seen=1, by=owner)
    answer = client_of(developer).post(closer(autumn) + "reword/", {"text": "Mine?", "seen": 1}, headers=HTMX)
    html = markup(answer)
    assert answer.status_code == 409
    assert "Yours was not saved" in html
    assert "Theirs?" in html
    assert 'name="seen" value="2"' in html
    autumn.items[0].refresh_from_db()
    assert str(autumn.items[0]) == "Theirs?"


def test_retiring(client_of, developer, autumn, listed):
    client, item = client_of(developer), autumn.items[0]
    assert client.post(closer(autumn) + "retire/", {}).status_code == 422
    answer = client.post(closer(autumn) + "retire/", {"seen": 1})
    assert (answer.status_code, answer.url) == (302, listed)
    item.refresh_from_db()
    assert item.is_retired
    assert found_in(client.get(listed)) == []
    assert "It is retired" in markup(client.get(closer(autumn)))


@pytest.mark.parametrize(("remedy", "sent"), [("retire", {}), ("reword", {"text": "Is it red?"})])
def test_undo_leads_back_to_the_list(client_of, developer, autumn, listed, remedy, sent):
    """The row leaves the list with its part, so that the answer has to be a page."""
    client, item = client_of(developer), autumn.items[0]
    was, headers = str(item), HTMX | {"HX-Target": f"work-{item.pk}"}
    answer = client.post(f"{closer(autumn)}{remedy}/?min_grade=3", {"seen": 1} | sent, headers=headers)
    back = press_undo(client, answer)
    assert back.redirect_chain == [(listed + "?min_grade=3", 302)]
    item.refresh_from_db()
    assert (item.is_retired, str(item)) == (False, was)
    assert found_in(back)


def test_retiring_what_was_changed_meanwhile(client_of, developer, owner, autumn):
    actions.revise_item(autumn.items[0], text="Theirs?", seen=1, by=owner)
    answer = client_of(developer).post(closer(autumn) + "retire/", {"seen": 1}, headers=HTMX)
    assert answer.status_code == 409
    assert "It was reworded by" in markup(answer)
    autumn.items[0].refresh_from_db()
    assert not autumn.items[0].is_retired


def test_a_bank_without_grades(client_of, viewer, autumn, listed):
    bank = BankFactory(collection=autumn.collection, name="other")
    page = client_of(viewer).get(f"/review/banks/{bank.pk}/spurious/")
    assert "No topic has a question or nugget." in markup(page)


def test_queries_do_not_grow_with_the_list(client_of, viewer, autumn, listed):
    client = client_of(viewer)
    client.get(listed, {"min_grade": 1})
    with CaptureQueriesContext(connection) as few:
        client.get(listed, {"min_grade": 4})
    with CaptureQueriesContext(connection) as more:
        page = client.get(listed, {"min_grade": 1})
    assert len(found_in(page)) > 1
    assert len(more) == len(few)


def test_the_part_for_htmx(client_of, viewer, listed):
    part = client_of(viewer).get(listed, headers=HTMX)
    assert markup(part).strip().startswith('<section id="suspects"')
