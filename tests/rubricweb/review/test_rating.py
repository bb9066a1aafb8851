"""People's own ratings in the grid: marks, the answer after saving, refusals, sources, versions, views."""

from __future__ import annotations

from dataclasses import astuple
from uuid import uuid4

import pytest

from rubricweb.banks.actions import revise_item
from rubricweb.banks.versions import name_version
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, ShownRating, rate_cell, record_verdict
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import raters
from rubricweb.review.models import SavedView
from rubricweb.review.tags import grid_cell
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


def cells(client, autumn, **address):
    grid = client.get(autumn.grid, {"view": "grid", **address}).context["grid"]
    return {row.doc_id: row.cells for row in grid.rows}


def rate(client, autumn, doc_id, item, **said):
    sent = {"seen": 0, "revision": autumn.items[item].revision_id, "part": "cell"} | said
    return client.post(f"{autumn.cell(doc_id, item)}rate/", sent, headers=HTMX)


def said_of(autumn, doc_id, item):
    return Cell.of(autumn.items[item], autumn.passages[doc_id])


def test_marks_say_what_people_said(autumn, assessor, developer, client_of):
    rate_cell(said_of(autumn, "d1", 0), rating=5, by=assessor, seen=0)
    rate_cell(said_of(autumn, "d2", 0), rating=4, by=assessor, seen=0)
    rate_cell(said_of(autumn, "d2", 0), rating=3, by=developer, seen=0)
    shown = ShownRating(autumn.config, 4)
    record_verdict(said_of(autumn, "d3", 0), verdict="wrong", by=assessor, seen=0, displayed=shown)
    Grade.objects.filter(rating=2).update(confidence=0.2)
    found = cells(client_of(assessor), autumn)
    first = {doc_id: row[0] for doc_id, row in found.items()}
    assert (first["d1"].marks, first["d1"].own, first["d1"].seen) == ("verified", "", 1)
    # Together people say the lower median, 3; the reader sees their own 4.
    assert (first["d2"].marks, first["d2"].own) == ("overridden", "4")
    assert first["d2"].description == "grade 1, overridden, people say 3, you say 4"
    assert first["d2"].shade == "3", "the colour is that of the rating that counts"
    assert first["d1"].shade == "5"
    assert (first["d3"].marks, first["d3"].own) == ("overridden", "")
    assert first["d3"].description.endswith("you say wrong")
    assert (found["d4"][2].marks, found["d4"][2].description[-14:]) == ("unsure", "low confidence")
    by_developer = cells(client_of(developer), autumn)
    assert (by_developer["d2"][0].own, by_developer["d2"][0].seen) == ("3", 1)


@pytest.mark.parametrize(("source", "states"), [
    ("grader", ["5", "1", "4", "0"]),
    ("humans", ["missing", "3", "missing", "missing"]),
    ("corrected", ["5", "3", "missing", "0"]),
])  # fmt: skip
def test_sources(autumn, assessor, client_of, source, states):
    rate_cell(said_of(autumn, "d2", 0), rating=3, by=assessor, seen=0)
    shown = ShownRating(autumn.config, 4)
    record_verdict(said_of(autumn, "d3", 0), verdict="wrong", by=assessor, seen=0, displayed=shown)
    found = cells(client_of(assessor), autumn, source=source)
    assert [found[doc_id][0].state for doc_id in ("d1", "d2", "d3", "d4")] == states


@pytest.mark.parametrize("source", ["grader", "humans", "corrected"])
def test_the_answer_is_the_cell_of_the_grid(autumn, assessor, developer, client_of, source):
    """One cell is made another way than the whole grid; they may not differ."""
    client = client_of(assessor)
    rate_cell(said_of(autumn, "d1", 0), rating=1, by=developer, seen=0)
    for doc_id, item, rating in [("d1", 0, 4), ("d2", 2, 3), ("d3", 1, 0), ("<b>d5", 0, 2)]:
        sent = {"seen": 0, "revision": autumn.items[item].revision_id, "part": "cell", "rating": rating}
        address = f"{autumn.cell(doc_id, item)}rate/?source={source}"
        answered = client.post(address, sent, headers=HTMX).context["cell"]
        page = client.get(autumn.grid, {"view": "grid", "source": source})
        (row,) = (row for row in page.context["grid"].rows if row.doc_id == doc_id)
        assert astuple(answered.cell) == astuple(row.cells[item])
        assert grid_cell(answered, "") in page.content.decode()
        assert answered.cell.seen == 1


def test_saving_remembers_what_was_shown(autumn, assessor, client_of):
    client = client_of(assessor)
    html = markup(rate(client, autumn, "d1", 0, rating=2))
    assert 'data-seen="1"' in html
    assert "Saved " in html
    event = HumanGrade.objects.get()
    assert (event.rating, event.seen_rating, event.config, event.how) == (2, 5, autumn.config, "grid")
    address = f"{autumn.cell('d2', 0)}rate/?source=humans"
    client.post(address, {"seen": 0, "revision": autumn.items[0].revision_id, "rating": 2}, headers=HTMX)
    assert HumanGrade.objects.last().config is None


def test_sent_twice_is_saved_once(autumn, assessor, client_of):
    client, uid = client_of(assessor), uuid4().hex
    assert [rate(client, autumn, "d1", 0, rating=2, uid=uid).status_code for _ in range(2)] == [200, 200]
    assert HumanGrade.objects.count() == 1


def test_refusals(autumn, assessor, viewer, outsider, owner, client_of):
    client = client_of(assessor)
    rate(client, autumn, "d1", 0, rating=2)
    conflict = rate(client, autumn, "d1", 0, rating=4)
    assert conflict.status_code == 409
    assert "In another window you rated it 2" in markup(conflict)
    assert 'data-rates="4"' in markup(conflict)
    assert rate(client, autumn, "d1", 0, rating=6, seen=1).status_code == 422
    assert rate(client, autumn, "d1", 0, rating="x", seen=1).status_code == 422
    before = autumn.items[0].revision_id
    revise_item(autumn.items[0], text="Which colour?", seen=autumn.items[0].version, by=owner)
    reworded = rate(client, autumn, "d1", 0, rating=4, seen=1, revision=before)
    assert reworded.status_code == 409
    assert "has been reworded" in markup(reworded)
    assert rate(client_of(viewer), autumn, "d1", 1, rating=4).status_code == 403
    assert rate(client_of(outsider), autumn, "d1", 1, rating=4).status_code == 404
    assert client.get(f"{autumn.cell('d1', 0)}rate/").status_code == 405
    assert HumanGrade.objects.count() == 1


def test_without_htmx_it_goes_back_to_the_cell(autumn, assessor, client_of):
    client = client_of(assessor)
    sent = {"seen": 0, "revision": autumn.items[0].revision_id, "rating": 4}
    response = client.post(f"{autumn.cell('d1', 0)}rate/", sent, follow=True)
    assert response.redirect_chain == [(autumn.cell("d1", 0), 302)]
    assert 'value="4" id="own-4" data-key-action="rate-4" aria-pressed="true"' in markup(response)
    client.post(f"{autumn.cell('d1', 0)}undo/", {**sent, "seen": 1})
    assert HumanGrade.objects.last().is_withdrawn
    again = client.post(f"{autumn.cell('d1', 0)}rate/", sent, follow=True)
    assert "You rated this pair in another window meanwhile." in markup(again)


def test_filters_of_checked_cells(autumn, assessor, developer, client_of):
    client = client_of(assessor)
    rate_cell(said_of(autumn, "d1", 0), rating=5, by=developer, seen=0)
    rate_cell(said_of(autumn, "d2", 0), rating=4, by=assessor, seen=0)
    Grade.objects.filter(rating=2).update(confidence=0.49)
    shows = {"mine": ["d2"], "checked": ["d1", "d2"], "overridden": ["d2"], "unsure": ["d4"], "stale": []}
    assert {show: list(cells(client, autumn, show=show)) for show in shows} == shows


def test_stale_words_are_marked_until_they_are_graded(autumn, owner, client_of):
    item = autumn.items[0]
    item.changes.create(number=1, verb="added", revision=item.revision, by=owner)
    revise_item(item, text="Which colour?", seen=item.version, by=owner)
    found = cells(client_of(owner), autumn)
    assert [found[doc_id][0].marks for doc_id in ("d1", "d4", "d6")] == ["stale", "stale", ""]
    assert list(cells(client_of(owner), autumn, show="stale")) == ["d1", "d2", "d3", "d4"]


def test_the_grid_as_of_a_version(autumn, owner, client_of):
    client = client_of(owner)
    name_version(autumn.bank, name="first", by=owner)
    revise_item(autumn.items[0], text="Which colour?", seen=autumn.items[0].version, by=owner)
    then = cells(client, autumn, version=1)
    assert [then[doc_id][0].state for doc_id in ("d1", "d2", "d3", "d4")] == ["5", "1", "4", "0"]
    assert "Which pigment" in markup(client.get(autumn.grid, {"view": "grid", "version": 1}))
    old = markup(client.get(autumn.cell("d1", 0), {"version": 1}))
    assert "Which pigment makes leaves red?" in old
    assert client.get(autumn.cell("d1", 0), {"version": 7}).status_code == 404
    wrong = client.get(autumn.grid, {"view": "grid", "version": 7})
    assert "7 is not one of the available choices" in markup(wrong)


def test_columns_are_ordered_and_left_out(autumn, viewer, client_of):
    client = client_of(viewer)
    grid = client.get(autumn.grid, {"view": "grid", "order": "spurious"}).context["grid"]
    assert [column.name for column in grid.columns] == ["question 1", "question 2", "nugget 1"]
    hidden = client.get(autumn.grid, {"view": "grid", "hide": [autumn.items[0].pk, "x"]}).context["grid"]
    assert [column.name for column in hidden.columns] == ["question 2", "nugget 1"]


def test_discrimination_by_hand(autumn, viewer, client_of):
    """Over d1 to d4 question 1 is rated 5 1 4 0, and the others' means are 0 0 0 1; d3 has no nugget."""
    column = client_of(viewer).get(autumn.grid).context["grid"].columns[0]
    assert column.discrimination == pytest.approx(-2.5 / 12.75**0.5)


def test_views_belong_to_one_person(autumn, viewer, assessor, outsider, client_of):
    client = client_of(viewer)
    save = f"/collections/{autumn.collection.slug}/review/views/"
    sent = {"name": " Mine ", "address": "show=mine&page=3&at=1-2&x=1&run=", "next": autumn.grid}
    assert client.post(save, sent).url == autumn.grid
    view = SavedView.objects.get()
    assert (view.user, view.name, view.address) == (viewer, "Mine", "show=mine")
    client.post(save, {**sent, "name": "Mine", "address": "show=failed"})
    assert SavedView.objects.get().address == "show=failed"
    assert client.post(save, {**sent, "name": "", "next": "https://example.org/"}).url.startswith(
        "/collections/"
    )
    drop = f"{save}{view.pk}/drop/"
    assert client_of(assessor).post(drop).status_code == 404
    assert client_of(outsider).post(save, sent).status_code == 404
    client.post(drop)
    assert not SavedView.objects.exists()


def test_a_permalink_shows_the_window_of_its_cell(autumn, viewer, client_of):
    client = client_of(viewer)
    passage = autumn.passages["d4"].pk
    grid = client.get(autumn.grid, {"view": "grid", "at": f"{passage}-{autumn.items[2].pk}"}).context["grid"]
    assert (grid.page.number, grid.columns.number) == (1, 1)
    assert len(raters(autumn.bank)) == 1
    assert client.get(autumn.grid, {"view": "grid", "at": "x"}).status_code == 200
