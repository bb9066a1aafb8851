"""Uncovered passages, and the way from a span to an item: d2 (judged 2, at most 1) is, d6 is ungraded."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from grading.types import FAILED
from rubricweb.banks import actions
from rubricweb.banks.models import ItemSource
from rubricweb.corpus.models import Judgment, Subtopic
from rubricweb.grades.humans import Cell, rate_cell
from tests.factories import PassageFactory, grade
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}
SPAN = "planted along many streets"


@pytest.fixture
def listed(autumn) -> str:
    return f"/review/banks/{autumn.bank.pk}/uncovered/"


@pytest.fixture
def passage_url(autumn) -> str:
    passage = autumn.passages["d2"].pk
    return f"/review/banks/{autumn.bank.pk}/topics/{autumn.topic.pk}/uncovered/{passage}/"


def draft(**more: object) -> dict[str, object]:
    return {"spans": SPAN, "kind": "question", "facet_id": "", "text": "Where are maples planted?"} | more


def found_in(page) -> list[tuple[str, int, int, int]]:
    return [(r.passage.doc_id, r.gap.judgment, r.gap.label, r.gap.runs) for r in page.context["rows"]]


def test_the_list(client_of, viewer, listed):
    page = client_of(viewer).get(listed)
    html = markup(page)
    assert found_in(page) == [("d2", 2, 1, 1)]
    assert "1 passage</strong> judged 2 or more" in html
    assert "1 relevant passage has no grade yet" in html
    assert "Maples are planted along many streets." in html


def test_thresholds_are_in_the_address(client_of, viewer, autumn, listed):
    client = client_of(viewer)
    assert found_in(client.get(listed, {"min_relevant": 3})) == []
    everything = client.get(listed, {"min_relevant": 0, "min_grade": 5, "topic": autumn.topic.pk})
    assert [doc_id for doc_id, *_ in found_in(everything)] == ["d2", "d3", "d4"]


def test_without_judgments_by_what_people_rated(client_of, viewer, assessor, autumn, listed):
    Judgment.objects.all().delete()
    autumn.collection.stamp += 1
    autumn.collection.save()
    assert found_in(client_of(viewer).get(listed)) == []
    for doc_id, rating in {"d1": 5, "d2": 4, "d4": 3}.items():
        rate_cell(Cell.of(autumn.items[1], autumn.passages[doc_id]), rating=rating, by=assessor, seen=0)
    page = client_of(viewer).get(listed)
    assert found_in(page) == [("d2", None, 1, 1)]
    assert "people rated 4 or more for some item" in markup(page)


@pytest.mark.usefixtures("developers_only")
def test_who_may_see_and_do_what(client_of, viewer, assessor, outsider, autumn, listed, passage_url):
    for address in (listed, passage_url):
        assert client_of(outsider).get(address).status_code == 404
        assert client_of(viewer).get(address).status_code == 200
    assert 'id="draft"' not in markup(client_of(assessor).get(passage_url))
    for address in (passage_url, passage_url + "nearest/"):
        assert client_of(assessor).post(address, draft()).status_code == 403
        assert client_of(outsider).post(address, draft()).status_code == 404
    assert client_of(viewer).get(passage_url + "nearest/").status_code == 405
    stray = PassageFactory(collection=autumn.collection)
    assert (
        client_of(viewer)
        .get(passage_url.replace(f"/{autumn.passages['d2'].pk}/", f"/{stray.pk}/"))
        .status_code
        == 404
    )
    assert autumn.bank.items.count() == 3


def test_where_a_passage_stands(client_of, developer, autumn, passage_url):
    client = client_of(developer)
    html = markup(client.get(passage_url))
    assert "Passage 1 of 1." in html
    assert "Maples are planted along many streets.</textarea>" in html
    wide = markup(client.get(passage_url, {"min_grade": 5, "min_relevant": 0}))
    assert "Passage 1 of 3." in wide
    assert f"/uncovered/{autumn.passages['d3'].pk}/?min_grade=5&amp;min_relevant=0" in wide
    of = {
        doc_id: passage_url.replace(f"/{autumn.passages['d2'].pk}/", f"/{p.pk}/")
        for doc_id, p in autumn.passages.items()
    }
    assert "<strong>covered</strong>" in markup(client.get(of["d1"]))
    assert "<strong>not graded</strong>" in markup(client.get(of["d6"]))
    assert "&lt;script&gt;alert" in markup(client.get(of["d4"]))


def test_from_a_span_to_an_item(client_of, developer, autumn, passage_url):
    answer = client_of(developer).post(passage_url, draft(spans=f"{SPAN}\r\n\r\nMaples  are\r\n"))
    assert (answer.status_code, answer.url) == (302, passage_url)
    item = autumn.bank.items.get(revision__text="Where are maples planted?")
    assert (item.kind, item.changes.get().by) == ("question", developer)
    source = ItemSource.objects.get(change__item=item)
    assert (source.passage.doc_id, source.spans) == ("d2", [SPAN, "Maples are"])
    history = markup(client_of(developer).get(f"/banks/{autumn.bank.pk}/items/{item.pk}/history/"))
    assert "From the passage" in history
    assert SPAN in history
    assert passage_url in history


def test_saving_by_htmx_brings_a_fresh_form(client_of, developer, autumn, passage_url):
    answer = client_of(developer).post(passage_url, draft(kind="nugget"), headers=HTMX)
    html = markup(answer)
    assert html.strip().startswith('<section id="draft"')
    assert "Nugget saved:" in html
    assert "items-changed" in answer.headers["HX-Trigger-After-Settle"]
    assert autumn.bank.items.filter(kind="nugget", revision__text="Where are maples planted?").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"spans": ""}, "Mark a span of the passage first"),
        ({"spans": "planted in gardens"}, "This span is not in the passage"),
        ({"text": ""}, "Write the question or nugget first."),
        ({"text": "Which pigment makes leaves red?"}, "already asks exactly this"),
        ({"kind": "poem"}, "Select a valid choice"),
        ({"item": "999999"}, "has been retired"),
    ],
)
def test_what_cannot_be_saved(client_of, developer, autumn, passage_url, wrong, said):
    answer = client_of(developer).post(passage_url, draft(**wrong))
    assert answer.status_code == 422
    assert said in markup(answer)
    assert autumn.bank.items.count() == 3


def test_how_to_quote_is_told_as_the_browser_can(client_of, developer, passage_url):
    assert "<noscript>Copy words into the field.</noscript>" in markup(client_of(developer).get(passage_url))


def test_the_nearest_items(client_of, developer, autumn, passage_url):
    client = client_of(developer)
    near = markup(client.post(passage_url + "nearest/", {"spans": "Maples are"}, headers=HTMX))
    assert re.search(r"data-announced>\s*<strong>No item of this topic is similar", near)
    actions.revise_item(autumn.items[0], text="Which streets have maples?", seen=1, by=developer)
    near = markup(
        client.post(passage_url + "nearest/", {"spans": "planted along many streets"}, headers=HTMX)
    )
    assert "Which streets have maples?" in near
    assert f'name="reword" value="{autumn.items[0].pk}"' in near
    assert "is not in the passage" in markup(
        client.post(passage_url + "nearest/", {"spans": "x y"}, headers=HTMX)
    )


def test_all_items_stand_there_with_their_grades_on_the_passage(client_of, viewer, autumn, passage_url):
    page = client_of(viewer).get(passage_url)
    near = page.context["near"]
    assert {row.item.pk: row.grade for row in near} == dict(
        zip([item.pk for item in autumn.items], (1, 0, FAILED), strict=True)
    )
    assert [row.score for row in near] == sorted((row.score for row in near), reverse=True)
    assert 'name="reword"' not in markup(page)


def test_without_javascript_the_same_form_finds_and_rewords(client_of, developer, autumn, passage_url):
    client, item = client_of(developer), autumn.items[0]
    actions.revise_item(item, text="Which streets have maples?", seen=1, by=developer)
    found = client.post(passage_url, draft(text="half writt", find=1))
    assert found.status_code == 200
    assert "<!DOCTYPE html>" in markup(found)
    assert "half writt</textarea>" in markup(found)
    form = markup(client.post(passage_url, draft(reword=item.pk)))
    assert "Which streets have maples?</textarea>" in form
    assert f'name="item" value="{item.pk}"' in form
    assert 'name="seen" value="2"' in form
    answer = client.post(passage_url, draft(text="Which maples line streets?", item=item.pk, seen=2))
    assert answer.status_code == 302
    item.refresh_from_db()
    assert str(item) == "Which maples line streets?"
    assert ItemSource.objects.get(change__item=item).change.number == 3


def test_rewording_what_was_changed_meanwhile(client_of, developer, owner, autumn, passage_url):
    item = autumn.items[0]
    actions.revise_item(item, text="Theirs?", seen=1, by=owner)
    answer = client_of(developer).post(passage_url, draft(text="Mine?", item=item.pk, seen=1), headers=HTMX)
    html = markup(answer)
    assert answer.status_code == 409
    assert "Yours was not saved" in html
    assert "Theirs?" in html
    assert 'name="seen" value="2"' in html
    assert SPAN in html
    assert not ItemSource.objects.exists()


def test_an_item_of_a_subtopic(client_of, developer, autumn, passage_url):
    Subtopic.objects.create(topic=autumn.topic, facet_id="f1", text="streets", position=0)
    assert client_of(developer).post(passage_url, draft(facet_id="f1")).status_code == 302
    assert autumn.bank.items.get(facet_id="f1").revision.uid.startswith("t1/f1/")


def test_queries_do_not_grow_with_the_list(client_of, viewer, autumn, listed):
    client = client_of(viewer)
    with CaptureQueriesContext(connection) as few:
        client.get(listed)
    for doc_id in ("<b>d5", "d6"):
        Judgment.objects.get_or_create(topic=autumn.topic, doc_id=doc_id, defaults={"relevance": 3})
        grade(autumn.config, autumn.items[0], autumn.passages[doc_id], 0)
    autumn.collection.stamp += 1
    autumn.collection.save()
    client.get(listed)
    with CaptureQueriesContext(connection) as more:
        page = client.get(listed)
    assert len(found_in(page)) == 3
    assert len(more) <= len(few)


def test_the_part_for_htmx(client_of, viewer, listed):
    part = markup(client_of(viewer).get(listed, headers=HTMX))
    assert part.strip().startswith('<section id="passages"')
