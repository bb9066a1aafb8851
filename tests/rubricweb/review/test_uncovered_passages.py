"""From an uncovered passage over a span to an item: d2 (judged 2, at most 1) is uncovered, d6 is ungraded."""

from __future__ import annotations

import re

import pytest

from grading.types import FAILED
from rubricweb.banks import actions
from rubricweb.banks.models import ItemSource
from rubricweb.corpus.models import Subtopic
from tests.rubricweb.markup import markup
from tests.rubricweb.review.test_problems import HTMX, PAGE, SPAN, draft, passage_key
from tests.rubricweb.toasts import press_undo

pytestmark = pytest.mark.portable


def test_a_passage_says_how_it_stands(client_of, developer, autumn):
    client = client_of(developer)
    html = markup(client.get(PAGE, {"problem": passage_key(autumn)}))
    assert "Maples are planted along many streets.</p>" in html
    assert "<textarea" in html
    assert "readonly" not in html
    assert "0\u202f%" not in html
    wide = {"min_grade": 5, "min_relevant": 0, "problem": passage_key(autumn, "d3")}
    assert "judged" in markup(client.get(PAGE, wide))
    states = {
        doc_id: markup(client.get(PAGE, {"problem": passage_key(autumn, doc_id)}))
        for doc_id in ("d1", "d6", "d4")
    }
    assert "<strong>covered</strong>" in states["d1"]
    assert "<strong>not graded</strong>" in states["d6"]
    assert "&lt;script&gt;alert" in states["d4"]


def test_from_a_span_to_an_item(client_of, developer, autumn):
    client = client_of(developer)
    answer = client.post(PAGE, draft(autumn, spans=f"{SPAN}\r\n\r\nMaples  are\r\n"))
    assert (answer.status_code, answer.url) == (302, PAGE)
    item = autumn.bank.items.get(revision__text="Where are maples planted?")
    assert (item.kind, item.changes.get().by) == ("question", developer)
    source = ItemSource.objects.get(change__item=item)
    assert (source.passage.doc_id, source.spans) == ("d2", [SPAN, "Maples are"])


def test_a_new_item_can_be_undone(client_of, developer, autumn):
    client = client_of(developer)
    answer = client.post(PAGE, draft(autumn, kind="nugget"), headers=HTMX | {"HX-Target": "problems"})
    assert (
        autumn.bank.items.active().filter(kind="nugget", revision__text="Where are maples planted?").exists()
    )
    press_undo(client, answer)
    assert not autumn.bank.items.active().filter(revision__text="Where are maples planted?").exists()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"spans": ""}, "Mark a span of the passage first"),
        ({"spans": "planted in gardens"}, "This span is not in the passage"),
        ({"text": ""}, "Write the question or nugget first."),
        ({"text": "Which pigment makes leaves red?"}, "already asks exactly this"),
        ({"kind": "poem"}, "Select a valid choice"),
        ({"item": "999999"}, "has been retired"),
        ({"deed": "merge"}, "Say what to do with it."),
        ({"deed": "nonsense"}, "Say what to do with it."),
    ],
)
def test_an_item_that_cannot_be_saved_stays_open(client_of, developer, autumn, wrong, reason):
    answer = client_of(developer).post(PAGE, draft(autumn, **wrong))
    assert answer.status_code == 422
    assert reason in markup(answer)
    assert autumn.bank.items.count() == 3


def test_the_closest_items_follow_the_span(client_of, developer, autumn):
    client = client_of(developer)
    headers = HTMX | {"HX-Target": "nearest"}
    place = {"problem": passage_key(autumn)}
    near = markup(client.get(PAGE, place | {"spans": "Maples are"}, headers=headers))
    assert re.search(r"data-announced>\s*No item has a word in common", near)
    actions.revise_item(autumn.items[0], text="Which streets have maples?", seen=1, by=developer)
    near = markup(client.get(PAGE, place | {"spans": SPAN}, headers=headers))
    assert near.index("Which streets have maples?") < near.index("Chlorophyll breaks down in autumn")
    assert re.search(rf'name="rewording"\s+value="{autumn.items[0].pk}"', near)
    assert "is not in the passage" in markup(client.get(PAGE, place | {"spans": "x y"}, headers=headers))


def test_the_closest_items_have_their_grades_on_the_passage(client_of, viewer, autumn):
    page = client_of(viewer).get(PAGE, {"problem": passage_key(autumn)})
    near = page.context["near"]
    assert {row.item.pk: row.grade for row in near} == dict(
        zip([item.pk for item in autumn.items], (1, 0, FAILED), strict=True)
    )
    assert [row.score for row in near] == sorted((row.score for row in near), reverse=True)
    assert 'name="rewording"' not in markup(page)


def test_an_item_of_the_topic_can_be_reworded_from_a_passage(client_of, developer, autumn):
    client, item = client_of(developer), autumn.items[0]
    actions.revise_item(item, text="Which streets have maples?", seen=1, by=developer)
    again = client.post(PAGE, draft(autumn, text="half writt", rewording=""))
    assert again.status_code == 200
    assert "half writt</textarea>" in markup(again)
    form = markup(client.post(PAGE, draft(autumn, rewording=item.pk)))
    assert "Which streets have maples?</textarea>" in form
    assert f'name="item" value="{item.pk}"' in form
    assert 'name="seen" value="2"' in form
    answer = client.post(PAGE, draft(autumn, text="Which maples line streets?", item=item.pk, seen=2))
    assert answer.status_code == 302
    item.refresh_from_db()
    assert str(item) == "Which maples line streets?"
    assert ItemSource.objects.get(change__item=item).change.number == 3


def test_rewording_from_a_passage_what_was_changed_meanwhile(client_of, developer, owner, autumn):
    item = autumn.items[0]
    actions.revise_item(item, text="Theirs?", seen=1, by=owner)
    form = draft(autumn, text="Mine?", item=item.pk, seen=1)
    answer = client_of(developer).post(PAGE, form, headers=HTMX)
    html = markup(answer)
    assert answer.status_code == 409
    assert "Yours was not saved" in html
    assert "Theirs?" in html
    assert 'name="seen" value="2"' in html
    assert SPAN in html
    assert not ItemSource.objects.exists()


def test_an_item_of_a_subtopic(client_of, developer, autumn):
    Subtopic.objects.create(topic=autumn.topic, facet_id="f1", text="streets", position=0)
    assert client_of(developer).post(PAGE, draft(autumn, facet_id="f1")).status_code == 302
    assert autumn.bank.items.get(facet_id="f1").revision.uid.startswith("t1/f1/")


def test_the_next_passage_does_not_get_the_spans_of_the_last(client_of, developer, autumn):
    wide = f"{PAGE}?min_grade=5&min_relevant=0"
    form = draft(autumn, next=passage_key(autumn, "d3"))
    html = markup(client_of(developer).post(wide, form, headers=HTMX))
    assert f'data-key-of="{passage_key(autumn, "d3")}"' in html
    assert "This span is not in the passage" not in html
