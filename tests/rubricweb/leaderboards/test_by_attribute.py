"""A board on the slices of its topics, by hand on the worked collection."""

import html
import re

import pytest

from grading.types import ItemKind
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.by_attribute import board_by_attribute, score_sheet
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

KINDS = {"t1": ["what", "when"], "t2": "why", "t3": "why"}


@pytest.fixture
def sliced(made):
    """Each topic has a kind, but only two have a score."""
    for query_id, kind in KINDS.items():
        topic = made.topics[query_id]
        topic.attributes = {"kind": kind} | ({"words": 4} if query_id != "t3" else {})
        topic.save()
    return made


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def test_each_slice_has_its_means_and_how_few_topics_it_has(sliced):
    spec = BoardSpec(
        sliced.collection, sliced.config, sliced.bank, frozenset({ItemKind.QUESTION}), MeasureSpec()
    )
    board = board_by_attribute(scored_board(spec), "kind")

    assert board.run_tags == ("both", "stray", "first", "lacks")
    assert [(one.topics.token, one.n_topics, one.means.tolist()) for one in board.columns] == [
        ("kind=why", 1, [1, 1, 0, 0]),
        ("kind=what", 1, [1, 0, 0.5, 0.5]),
        ("kind=when", 1, [1, 0, 0.5, 0.5]),
    ], "t3 has no items"
    assert (board.whole.n_topics, board.whole.means.tolist()) == (2, [1, 0.5, 0.25, 0.25])
    assert board.whole.not_behind == [], "two topics tell nothing"
    assert board.is_overlapping
    assert board.n_without == 0


def test_the_table_has_each_slice_with_how_far_it_keeps_the_order(sliced):
    spec = BoardSpec(
        sliced.collection, sliced.config, sliced.bank, frozenset({ItemKind.QUESTION}), MeasureSpec()
    )
    scored = scored_board(spec)
    sheet = score_sheet(board_by_attribute(scored, "kind"), scored)

    assert sheet.columns == ("Run", "all topics (2)", "why (1)", "what (1)", "when (1)")
    assert sheet.rows[0][1].text == "1.000 \N{PLUS-MINUS SIGN}0.00"
    assert [cell.text for cell in sheet.rows[-1][:2]] == [
        "\N{GREEK SMALL LETTER TAU} with all topics",
        "1.000",
    ]
    assert {dict(zip(sheet.data.columns, row, strict=True))["slice"] for row in sheet.data.rows} == {
        "",
        "kind=why",
        "kind=what",
        "kind=when",
    }


def test_a_board_of_a_slice_says_so_and_links_back(sliced, viewer, client_of):
    client = client_of(viewer)
    response = client.get("/collections/autumn/leaderboards/", {"topics": "kind=why"})

    assert "Only 2 of 3 topics: kind = why." in text(response)
    assert '<option value="kind=what">1 of 3 topics: kind = what</option>' in html.unescape(markup(response))
    assert "kind = why." not in text(client.get("/collections/autumn/leaderboards/"))
    refused = client.get("/collections/autumn/leaderboards/", {"topics": "kind=where"})
    assert refused.status_code == 422
    assert "no topic with kind = where; there are what, when, why" in text(refused)
    both = client.get("/collections/autumn/leaderboards/", {"topics": "kind=why", "topic": "t1"})
    assert "topic t1 is not one of those with kind = why" in text(both)
