"""A run's answer in order, with what each sentence cites and covers."""

import re

import pytest

from grading.types import Citation
from rubricweb.corpus.actions import withdraw_run
from rubricweb.corpus.models import Passage, Response
from tests.factories import (
    BankFactory,
    TopicFactory,
    grade,
    graded,
    lexical_config,
    responded,
)
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign

pytestmark = pytest.mark.portable

INTRO, MOON, SUN = "Let us see.", "The moon <b>pulls</b> & tides rise.", "The sun helps."


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection, query_id="t1", text="how do tides work")


@pytest.fixture
def bank(collection):
    return BankFactory(collection=collection)


@pytest.fixture
def answer(bank, topic) -> Response:
    """Of three sentences, the second answers the first question, the third nearly the second."""
    response = responded(topic, "alpha", INTRO, MOON, SUN)
    passages = [Passage.objects.get(text=text) for text in (INTRO, MOON, SUN)]
    graded(bank, topic, passages, {"What pulls?": (0, 5, 0), "What helps?": (0, 1, 3)})
    return response


def address(bank, response) -> str:
    return f"/review/banks/{bank.pk}/topics/{response.topic_id}/runs/{response.run_id}/"


def grid(client, bank, response, **query):
    return client.get(address(bank, response), query).context["grid"]


def covers(shown) -> list[list[tuple[str, int]]]:
    return [[(one.item.name, one.rating) for one in row.covers] for row in shown.rows]


def test_sentences_stand_in_order_with_the_items_they_cover(viewer, bank, answer, client_of):
    shown = grid(client_of(viewer), bank, answer)
    assert [row.sentences[0].text for row in shown.rows] == [INTRO, MOON, SUN]
    assert covers(shown) == [[], [("question 1", 5)], []]
    assert [row.highest for row in shown.rows] == [0, 5, 3]
    assert [(asked.item.text, asked.rows) for asked in shown.items] == [
        ("What pulls?", (2,)),
        ("What helps?", ()),
    ]
    assert (shown.covered, shown.covering, shown.missing) == (1, 1, 0)


def test_the_count_of_covering_passages_is_a_whole_sentence(viewer, bank, answer, client_of):
    page = markup(client_of(viewer).get(address(bank, answer)))
    assert "1 of 3 passages covers an item with grade 4 or more, by " in page


def test_the_threshold_is_chosen(viewer, bank, answer, client_of):
    shown = grid(client_of(viewer), bank, answer, min_grade=3)
    assert covers(shown) == [[], [("question 1", 5)], [("question 2", 3)]]
    assert [asked.rows for asked in shown.items] == [(2,), (3,)]


def test_failed_and_missing_grades_are_told_apart_from_0(viewer, bank, topic, answer, client_of):
    fresh = responded(topic, "beta", "It is old.", "Nobody knows.")
    passage = Passage.objects.get(text="It is old.")
    first, second = bank.items.order_by("pk")
    grade(lexical_config(), first, passage, None, outcome="failed")
    grade(lexical_config(), second, passage, 0)
    shown = grid(client_of(viewer), bank, fresh)
    assert [(row.highest, row.failed, row.missing) for row in shown.rows] == [(0, 1, 0), (-1, 0, 2)]


def test_citations_are_shown_as_they_were_read(viewer, bank, answer, client_of):
    cited = ([["d1", 0.9], ["<i>d2", None]], [], None)
    answer.sentences = [{"text": t, "citations": c} for t, c in zip((INTRO, MOON, SUN), cited, strict=True)]
    answer.save()
    response = client_of(viewer).get(address(bank, answer))
    rows = response.context["grid"].rows
    assert rows[0].sentences[0].citations == (Citation("d1", 0.9), Citation("<i>d2"))
    page = " ".join(re.sub(r"<[^>]*>", " ", markup(response)).split())
    assert f"{INTRO} d1 0.9, &lt;i&gt;d2" in page
    assert "cites nothing" in page
    assert "citations not stated" in page


def test_texts_are_escaped(viewer, bank, answer, client_of):
    answer.documents = {"<u>d1": "A <script>text</script>."}
    answer.save()
    page = client_of(viewer).get(address(bank, answer)).content.decode()
    assert "The moon &lt;b&gt;pulls&lt;/b&gt; &amp; tides rise." in page
    assert "<script>text" not in page
    assert "<u>d1" not in page


def test_paragraphs_show_each_sentence_with_its_citations(viewer, bank, topic, client_of):
    response = responded(topic, "alpha", "# Tides", "The moon.\n\n", " ", "The sun.", passages_of="paragraph")
    rows = grid(client_of(viewer), bank, response).rows
    told = [[one.text for one in row.sentences] for row in rows]
    assert told == [["# Tides", "The moon.\n\n"], ["The sun."]]


def test_parts_of_a_long_sentence_stand_by_themselves(viewer, bank, topic, client_of):
    text = " ".join(f"w{n}" for n in range(700))
    rows = grid(client_of(viewer), bank, responded(topic, "alpha", "Short.", text)).rows
    assert " ".join(row.sentences[0].text for row in rows) == f"Short. {text}"
    assert len(rows) == 3


def test_a_cell_that_is_rated_blind_does_not_show(owner, assessor, viewer, bank, answer, client_of):
    blind_campaign(bank, by=owner, assignees=[assessor])
    shown = grid(client_of(assessor), bank, answer)
    assert (covers(shown), shown.covered, shown.hidden) == ([[], [], []], 0, 6)
    page = " ".join(markup(client_of(assessor).get(address(bank, answer))).split())
    assert "6 pairs are hidden from you until you have rated what is in your queue." in page
    assert covers(grid(client_of(viewer), bank, answer))[1] == [("question 1", 5)]


def test_runs_go_by_pseudonyms_where_they_must(owner, viewer, bank, answer, collection, client_of):
    answer.run.run_tag = "oddlynamed"
    answer.run.team = "oddteam"
    answer.run.save()
    assert "oddlynamed" in markup(client_of(owner).get(address(bank, answer)))
    page = markup(client_of(viewer).get(address(bank, answer)))
    assert "oddlynamed" not in page
    assert "oddteam" not in page


def test_what_is_withdrawn_or_elsewhere_is_not_found(owner, outsider, bank, topic, answer, client_of):
    mine, elsewhere = address(bank, answer), responded(TopicFactory(), "gamma", "Elsewhere.")
    other = f"/review/banks/{bank.pk}/topics/{topic.pk}/runs/{elsewhere.run_id}/"
    client = client_of(owner)
    assert client.get(mine).status_code == 200
    assert client_of(outsider).get(mine).status_code == 404
    assert client.get(other).status_code == 404
    assert client.post(mine).status_code == 405
    withdraw_run(answer.run, by=None)
    assert client.get(mine).status_code == 404


def test_htmx_gets_the_answer(viewer, bank, answer, client_of):
    response = client_of(viewer).get(address(bank, answer), headers={"HX-Request": "true"})
    assert markup(response).lstrip().startswith('<div id="answer"')


def test_it_is_linked_from_the_board_and_from_the_runs(owner, bank, answer, client_of):
    client = client_of(owner)
    run_page = f"/collections/autumn/leaderboards/compare/?a={answer.run_id}"
    assert address(bank, answer) in markup(client.get(run_page))
    assert run_page in markup(client.get("/collections/autumn/runs/"))


def test_queries_do_not_grow_with_the_answer(viewer, bank, topic, client_of, django_assert_max_num_queries):
    response = responded(topic, "alpha", *(f"Sentence {n}." for n in range(60)))
    for number in range(10):
        passages = list(Passage.objects.filter(collection=topic.collection))
        graded(bank, topic, passages, {f"What is {number}?": [5] * len(passages)})
    client = client_of(viewer)
    with django_assert_max_num_queries(30):
        client.get(address(bank, response))
