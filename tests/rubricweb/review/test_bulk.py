"""Many cells of a grid at once: what a plan counts, and what is done."""

from __future__ import annotations

from uuid import uuid4

import pytest

from rubricweb.campaigns.models import Turn
from rubricweb.grades.engine.parts import cells_of
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import GradingJob, JobChunk
from tests.factories import grade
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


def at(autumn):
    return f"/review/banks/{autumn.bank.pk}/topics/{autumn.topic.pk}/bulk/"


def ticks(autumn, doc_ids=(), items=()):
    return {
        "passage": [autumn.passages[doc_id].pk for doc_id in doc_ids],
        "item": [autumn.items[number].pk for number in items],
    }


def deed(autumn, name, cells, **fields):
    return {"deed": name, "cells": cells, "uid": str(uuid4()), **fields}


def plan(client, autumn, **address):
    return client.get(at(autumn), address).context["plan"]


def test_a_plan_counts_what_is_ticked(autumn, assessor, client_of):
    client = client_of(assessor)
    rate_cell(Cell.of(autumn.items[0], autumn.passages["d1"]), rating=2, by=assessor, seen=0)
    everything = plan(client, autumn)
    assert (len(everything.cells), everything.to_grade, len(everything.unchecked)) == (18, 8, 9)
    ticked = plan(client, autumn, **ticks(autumn, ["d1", "d2", "d3"], [0, 2]))
    # d1, d2, d3 x Q1, N1: N1 failed on d2 and is missing on d3; I rated d1 and Q1.
    assert (len(ticked.cells), ticked.to_grade, len(ticked.unchecked)) == (6, 2, 3)
    assert [part.cells for part in (*ticked.missing, *ticked.failed)] == [1, 1]
    assert len(plan(client, autumn, show="uncovered").cells) == 3
    assert plan(client, autumn, **ticks(autumn, ["d1"]), show="uncovered").cells == ()


@pytest.mark.parametrize("username", ["viewer", "outsider"])
def test_who_may_not(autumn, viewer, outsider, client_of, username):
    person = {"viewer": viewer, "outsider": outsider}[username]
    assert client_of(person).get(at(autumn)).status_code == {"viewer": 403, "outsider": 404}[username]


def test_regrade_grades_exactly_these(autumn, developer, assessor, client_of):
    sent = ticks(autumn, ["d2", "d3"], [2]) | deed(autumn, "grade", 2)
    assert client_of(assessor).post(at(autumn), sent).status_code == 403
    response = client_of(developer).post(at(autumn), sent, follow=True)
    assert "Grading 2 pairs." in markup(response)
    passages = {cell for chunk in JobChunk.objects.all() for cell in cells_of(chunk)}
    assert passages == {(autumn.items[2].revision_id, autumn.passages[doc_id].pk) for doc_id in ("d2", "d3")}
    assert set(GradingJob.objects.values_list("is_retry", "total")) == {(False, 1), (True, 1)}
    again = client_of(developer).post(at(autumn), sent, follow=True)
    assert "Nothing to grade here." in markup(again)


def test_mark_verified_and_take_back(autumn, assessor, client_of):
    client = client_of(assessor)
    sent = ticks(autumn, ["d1", "d4"], [0, 1]) | deed(autumn, "right", 4)
    response = client.post(at(autumn), sent, headers=HTMX)
    assert "4 ratings marked as verified." in markup(response)
    events = HumanGrade.objects.order_by("pk")
    assert {(row.verdict, row.rating == row.seen_rating, row.how) for row in events} == {
        ("right", True, "verified")
    }
    marks = [cell.marks for cell in client.get(autumn.grid).context["grid"].rows[0].cells]
    assert marks == ["verified", "verified", ""]
    client.post(at(autumn), sent, headers=HTMX)
    assert HumanGrade.objects.count() == 4
    rate_cell(Cell.of(autumn.items[0], autumn.passages["d1"]), rating=3, by=assessor, seen=1)
    back = client.post(at(autumn), sent | {"deed": "take-back"}, headers=HTMX)
    assert "3 verdicts undone." in markup(back)
    assert HumanGrade.objects.filter(is_withdrawn=True).count() == 3


def test_assigned_cells_are_in_the_queue_of_that_person(autumn, owner, assessor, viewer, client_of):
    client = client_of(owner)
    sent = ticks(autumn, ["d1"], [0, 1]) | deed(autumn, "assign", 2, person=assessor.pk)
    client.post(at(autumn), sent)
    turns = Turn.objects.filter(person=assessor)
    assert {turn.cell.revision_id for turn in turns} == {item.revision_id for item in autumn.items[:2]}
    refused = client.post(at(autumn), sent | {"person": viewer.pk}, headers=HTMX)
    assert "Select a valid choice" in markup(refused)
    nobody = client.post(at(autumn), sent | {"person": ""}, headers=HTMX)
    assert "Choose who is to rate" in markup(nobody)
    assert Turn.objects.count() == 2


def test_what_changed_meanwhile_is_shown_again(autumn, assessor, client_of):
    client = client_of(assessor)
    sent = {"show": "uncovered", **deed(autumn, "right", 3)}
    grade(autumn.config, autumn.items[2], autumn.passages["d3"], 1)
    grade(autumn.config, autumn.items[2], autumn.passages["d6"], 1)  # relevant, and uncovered by now
    response = client.post(at(autumn), sent, headers=HTMX)
    assert "the selected pairs are no longer the same" in markup(response)
    assert len(response.context["plan"].cells) == 6
    assert HumanGrade.objects.count() == 0


def test_the_grid_hands_its_filters_on(autumn, assessor, client_of):
    """Also the filter of items, whose name is that of a method of the address."""
    address = {"show": "failed", "items": "all", "hide": autumn.items[0].pk, "page": 1}
    response = client_of(assessor).get(autumn.grid, {"view": "grid", **address})
    assert response.context["kept"] == [
        ("show", "failed"),
        ("items", "all"),
        ("hide", str(autumn.items[0].pk)),
    ]
    assert '<input type="hidden" name="items" value="all">' in markup(response)


def test_without_htmx_it_goes_back_to_the_same_grid(autumn, assessor, client_of):
    sent = {"show": "uncovered", **ticks(autumn, ["d2"], [0]), **deed(autumn, "right", 1)}
    assert client_of(assessor).post(at(autumn), sent).url == f"{autumn.grid}&show=uncovered"
