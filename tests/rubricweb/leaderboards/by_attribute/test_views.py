"""A board on the slices of its topics, by hand on the worked collection."""

import html
import re

import pytest

from grading.types import ItemKind
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board.scored import scored_board
from rubricweb.leaderboards.board.types import BoardSpec
from rubricweb.leaderboards.by_attribute.selectors import board_by_attribute
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

PAGE = "/leaderboards/autumn/by-attribute/"
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


def test_the_page(sliced, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"attribute": "kind"})
    shown = text(response)

    assert response.status_code == 200
    for words in (
        "kind = why 1",
        "too few topics: it takes 6",
        "A topic may be in several slices.",
        "all topics (2) why (1) what (1) when (1)",
        "both 1.000 \N{PLUS-MINUS SIGN}0.00 1.000 1.000 1.000",
    ):
        assert words in shown
    assert "topics=kind%3Dwhy" in markup(response)
    assert "1 topic has no words." in text(client_of(viewer).get(PAGE, {"attribute": "words"}))


def test_refused_controls_and_roles(sliced, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.post(PAGE).status_code == 405
    assert client.get(PAGE, {"attribute": "size"}).status_code == 422
    part = client.get(PAGE, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="by-attribute"')


def test_without_attributes_there_is_one_next_step(made, viewer, owner, client_of):
    assert "Topics have no attributes" in text(client_of(viewer).get(PAGE))
    assert "Import topics" not in text(client_of(viewer).get(PAGE)), "a viewer may not"
    assert "Import topics" in text(client_of(owner).get(PAGE))


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
