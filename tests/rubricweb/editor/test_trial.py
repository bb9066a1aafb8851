"""Trying items and weights on the board, by hand.

     Q1  Q2  Q3           first two passages    covers     as it is
d0   5   0   0      ahead       d0 d1           Q1 Q2       2/3
d1   0   4   0      behind      d2 d1           Q2 Q3       2/3
d2   0   0   5      apart       d3              nothing     0
d3   1   1   1
"""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from grading.types import Importance
from rubricweb.banks import actions
from rubricweb.editor.trial import Setting, trial_of
from rubricweb.grades.scoring import MeasureSpec
from tests.factories import BankFactory, ItemFactory, TopicFactory, graded, lexical_config, pooled, ranked
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}
OFF = Setting(is_on=False, weight=1.0)
RATINGS = {"Question 1?": (5, 0, 0, 1), "Question 2?": (0, 4, 0, 1), "Question 3?": (0, 0, 5, 1)}
RUNS = {"ahead": ["d0", "d1"], "behind": ["d2", "d1"], "apart": ["d3"]}


@pytest.fixture
def bank(collection):
    """Everybody reads the names of its runs."""
    collection.shows_run_tags = True
    collection.save()
    return BankFactory(collection=collection)


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection, query_id="q1")


@pytest.fixture
def items(bank, topic):
    ranked(topic, RUNS)
    return graded(bank, topic, pooled(topic, 4), RATINGS)


def board(bank, topic, settings, measure=None) -> dict[str, tuple[int, float]]:
    found = trial_of(bank, topic, lexical_config(), measure or MeasureSpec(), settings)
    return {row.run_tag: (row.rank, pytest.approx(row.score)) for row in found.rows}


def test_disabled_alone_and_weighed(bank, topic, items):
    one, _, three = (item.pk for item in items)
    assert board(bank, topic, {}) == {"ahead": (1, 2 / 3), "behind": (1, 2 / 3), "apart": (3, 0)}
    assert board(bank, topic, {one: OFF}) == {"behind": (1, 1), "ahead": (2, 0.5), "apart": (3, 0)}
    solo = {item.pk: OFF for item in items if item.pk != one}
    assert board(bank, topic, solo) == {"ahead": (1, 1), "behind": (2, 0), "apart": (2, 0)}
    weighed = {one: Setting(is_on=True, weight=2.0), three: Setting(is_on=True, weight=0.5)}
    assert board(bank, topic, weighed) == board(bank, topic, {})
    by_weights = board(bank, topic, weighed, MeasureSpec("weighted_cover"))
    assert by_weights == {"ahead": (1, 3 / 3.5), "behind": (2, 1.5 / 3.5), "apart": (3, 0)}


def test_moves_stand_in_place(bank, topic, items):
    found = trial_of(bank, topic, lexical_config(), MeasureSpec(), {items[0].pk: OFF})
    assert [(row.run_tag, row.rank_before, row.rank, row.rose) for row in found.rows] == [
        ("behind", 1, 1, 0),
        ("ahead", 1, 2, -1),
        ("apart", 3, 3, 0),
    ]
    assert [row.run_tag for row in found.moved] == ["ahead"]
    assert {row.possible for row in found.rows} == {"1\N{EN DASH}3"}, "one topic leaves all ranks open"
    assert found.n_beyond == 0


def test_nothing_asked_takes_the_topic_out_of_the_mean(bank, topic, items, collection):
    other = TopicFactory(collection=collection)
    ItemFactory(bank=bank, topic=other, text="Another?")
    everything_off = {item.pk: OFF for item in items}
    assert board(bank, topic, everything_off) == {"ahead": (1, 0), "apart": (1, 0), "behind": (1, 0)}
    assert board(bank, topic, {})["ahead"] == (1, 1 / 3)


def test_a_trial_is_the_board_after_the_change(bank, topic, items, developer):
    tried = board(bank, topic, {items[0].pk: OFF})
    actions.retire_item(items[0], seen=1, by=developer)
    assert board(bank, topic, {}) == tried


@pytest.fixture
def url(bank, topic) -> str:
    return f"/editor/banks/{bank.pk}/topics/{topic.pk}/trial/"


def sent(items, **more: object) -> dict[str, object]:
    weights = {f"weight-{item.pk}": 1 for item in items} | {f"seen-{item.pk}": 1 for item in items}
    return {"tried": 1, "on": [item.pk for item in items]} | weights | more


def ranks(page) -> dict[str, int]:
    return {row.run_tag: row.rank for row in page.context["trial"].rows}


def test_the_page_tries_and_saves_nothing(client_of, viewer, url, items):
    client = client_of(viewer)
    assert ranks(client.get(url)) == {"ahead": 1, "behind": 1, "apart": 3}
    without = [item.pk for item in items[1:]]
    part = client.get(url, sent(items, on=without), headers=HTMX)
    assert markup(part).strip().startswith('<section id="board"')
    assert "1 of 3 runs move" in markup(part)
    assert "so all of these moves may be chance" in markup(part)
    assert ranks(part) == {"behind": 1, "ahead": 2, "apart": 3}
    solo = client.get(url, sent(items, solo=items[0].pk))
    assert ranks(solo) == {"ahead": 1, "behind": 2, "apart": 2}
    weighed = {f"weight-{items[0].pk}": 3, "measure": "weighted_cover"}
    assert ranks(client.get(url, sent(items, **weighed))) == {"ahead": 1, "behind": 2, "apart": 3}
    assert {item.version for item in items[0].bank.items.all()} == {1}
    assert "Save</button>" not in markup(client.get(url))


def test_the_board_says_why_nothing_moves(client_of, viewer, url, items):
    client = client_of(viewer)
    assert "Nothing changed yet" in markup(client.get(url))
    weighed = sent(items, **{f"weight-{items[0].pk}": 3})
    html = markup(client.get(url, weighed, headers=HTMX))
    said = html[html.index("data-announced") :]
    assert "Weights do not count in Rubric-Cover@20." in said[: said.index("</div>")], "aloud too"
    switched = client.get(re.search(r'href="([^"]+measure=weighted_cover)"', html)[1].replace("&amp;", "&"))
    assert ranks(switched) == {"ahead": 1, "behind": 2, "apart": 3}
    assert "Weights do not count" not in markup(switched)
    alike = sent(items, **{f"weight-{item.pk}": 2 for item in items}, measure="weighted_cover")
    html = markup(client.get(url, alike))
    assert "No score changes: only the proportions of weights count." in html
    assert "Weights do not count" not in html
    both_cover = sent(items, **{f"weight-{items[1].pk}": 2}, measure="weighted_cover")
    assert "Scores change by at most 0.0833: too little" in markup(client.get(url, both_cover))


def test_the_choices_of_the_board_are_chips_and_the_measure_is_one_of_the_settings(
    client_of, viewer, developer, url, items
):
    html = markup(client_of(developer).get(url))
    toolbar = html[html.index('<div class="toolbar">') : html.index('id="trial-items"')]
    assert toolbar.count('<span class="chip">') == 3
    assert '<select name="measure" form="trial-items" id="trial-measure">' in toolbar
    assert 'form="trial-items">Save</button>' in " ".join(toolbar.split())
    assert "Save</button>" not in markup(client_of(viewer).get(url))


def test_without_javascript_a_look_is_sent_and_saves_nothing(client_of, viewer, url, items):
    without = [item.pk for item in items[1:]]
    page = client_of(viewer).post(url, sent(items, on=without, look=1))
    assert page.status_code == 200
    assert ranks(page) == {"behind": 1, "ahead": 2, "apart": 3}
    assert items[0].bank.items.active().count() == 3


def test_saving(client_of, developer, url, items):
    without = [item.pk for item in items[1:]]
    answer = client_of(developer).post(url, sent(items, on=without, **{f"weight-{items[1].pk}": 0.5}))
    assert (answer.status_code, answer.url) == (302, url)
    one, two, three = items[0].bank.items.order_by("pk")
    assert (one.is_retired, two.weight, three.version) == (True, 0.5, 1)


def test_who_may_save(client_of, assessor, outsider, url, items):
    assert client_of(assessor).post(url, sent(items)).status_code == 403
    assert client_of(outsider).post(url, sent(items)).status_code == 404
    assert client_of(outsider).get(url).status_code == 404


def test_what_cannot_be_saved(client_of, developer, url, items):
    client = client_of(developer)
    for wrong in (
        {f"weight-{items[0].pk}": "much"},
        {f"weight-{items[0].pk}": 99},
        {"solo": items[0].pk},
        {"on": "x"},
    ):
        answer = client.post(url, sent(items, **wrong))
        assert answer.status_code == 422
        assert 'role="alert"' in markup(answer)
    assert "Solo is only a preview" in markup(client.post(url, sent(items, solo=items[0].pk)))
    assert {item.version for item in items[0].bank.items.all()} == {1}


def test_a_conflict_saves_nothing(client_of, developer, owner, url, items):
    actions.weigh_item(items[2], importance=Importance.OKAY, seen=1, by=owner)
    changed = {"on": [items[1].pk, items[2].pk], f"weight-{items[2].pk}": 2}
    answer = client_of(developer).post(url, sent(items, **changed))
    assert answer.status_code == 409
    assert "Nothing was saved" in markup(answer)
    assert items[0].bank.items.active().count() == 3


def test_a_topic_that_nobody_grades(client_of, viewer, bank, topic, collection):
    page = client_of(viewer).get(f"/editor/banks/{bank.pk}/topics/{topic.pk}/trial/")
    assert "No grader has graded the items of this topic yet" in markup(page)


def test_queries_are_few(client_of, viewer, url, items):
    client = client_of(viewer)
    client.get(url, sent(items), headers=HTMX)
    with CaptureQueriesContext(connection) as queries:
        client.get(url, sent(items, solo=items[0].pk), headers=HTMX)
    assert len(queries) <= 15
