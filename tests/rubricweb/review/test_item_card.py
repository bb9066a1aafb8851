"""The card of an item beside the grid: coverage, what should not cover it, why people flagged it."""

from __future__ import annotations

import pytest

from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Flag, Subject
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

HTMX = {"headers": {"HX-Request": "true", "HX-Target": "panel"}}


def card_of(client, autumn, name, **address):
    return client.get(autumn.grid, {"view": "grid", "card": name, **address}).context["card"]


def test_card_counts_passages_by_grade_and_judgment(autumn, viewer, client_of):
    """Of question 1: d1 (judged 3) has 5, d2 (2) has 1, d3 (1) has 4, d4 (0) has 0."""
    card = card_of(client_of(viewer), autumn, autumn.items[0].pk)
    assert (card.relevant, card.relevant_covering) == (2, 1)
    assert (card.not_relevant, card.not_relevant_covering) == (2, 1)
    assert [(bar.relevant, bar.not_relevant) for bar in card.bars] == [
        (0, 1), (1, 0), (0, 0), (0, 0), (0, 1), (1, 0),
    ]  # fmt: skip
    assert [bar.covers for bar in card.bars] == [False] * 4 + [True] * 2
    assert [(passage.doc_id, passage.rating) for passage in card.wrongly] == [("d3", 4)]
    assert (card.of_kind, card.before, card.after.pk) == (2, None, autumn.items[1].pk)


def test_card_of_the_first_suspect_is_open_in_the_page(autumn, viewer, client_of):
    response = client_of(viewer).get(autumn.grid, {"view": "grid", "card": "spurious"})
    assert response.context["card"].item == autumn.items[0]
    html = " ".join(markup(response).split())
    assert f'data-shown="h{autumn.items[0].pk}"' in html
    assert "1 of 2 passages judged not relevant cover it" in html


def test_card_of_no_item_of_the_topic_is_none(autumn, viewer, client_of):
    assert card_of(client_of(viewer), autumn, "9999999") is None
    assert card_of(client_of(viewer), autumn, "x") is None


def test_card_alone_is_what_htmx_gets(autumn, viewer, client_of):
    response = client_of(viewer).get(autumn.grid, {"view": "grid", "card": autumn.items[1].pk}, **HTMX)
    html = markup(response)
    assert 'id="card-title"' in html
    assert "<table id=" not in html


def test_card_offers_changes_to_those_who_may_edit(autumn, viewer, developer, client_of):
    at = {"view": "grid", "card": autumn.items[0].pk}
    assert ">Retire<" not in markup(client_of(viewer).get(autumn.grid, at, **HTMX))
    page = markup(client_of(developer).get(autumn.grid, at, **HTMX))
    assert f"/editor/banks/{autumn.bank.pk}/items/{autumn.items[0].pk}/retire/" in page
    assert f"/editor/banks/{autumn.bank.pk}/items/{autumn.items[0].pk}/edit/" in page


def test_card_gives_the_reason_of_whoever_flagged_the_item(autumn, assessor, viewer, client_of):
    item = autumn.items[1]
    of_item = Subject(autumn.bank, autumn.topic, item)
    of_cell = Subject(autumn.bank, autumn.topic, item, autumn.passages["d1"])
    open_flag(of_item, kind=Flag.Kind.SPURIOUS, text="asks for a list", by=assessor)
    open_flag(of_cell, kind=Flag.Kind.SPURIOUS, text="graded 0 here", by=assessor)
    card = card_of(client_of(viewer), autumn, item.pk)
    assert [reason.text for reason in card.reasons] == ["asks for a list"], (
        "not of one cell, which may be blind"
    )


def test_views_of_a_topic_are_one_page(autumn, viewer, client_of):
    client = client_of(viewer)
    for view in ("grid", "bank", "both"):
        html = markup(client.get(autumn.grid, {"view": view}))
        assert ('role="grid"' in html) == (view != "bank")
        assert ('id="grid-items"' in html) == (view == "both")
        assert ('<div id="items">' in html) == (view == "bank")
