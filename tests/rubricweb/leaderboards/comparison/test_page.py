"""Two runs beside each other, or one beside all: on the page, in its files, from the API's command."""

import html
import json
import re
from io import StringIO
from urllib.parse import parse_qsl

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from rubricweb.corpus.models import Passage, Response, Run
from rubricweb.corpus.official import put_official_board
from tests import factories
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign

pytestmark = pytest.mark.portable

BOARD = "/collections/autumn/leaderboards/"
PAGE = "/collections/autumn/leaderboards/compare/"
HTMX = {"HX-Request": "true"}
VERDICT = "With 2 topics no run can be clearly ahead."
SENTENCE = "first is not clearly behind both, with a difference of 0.750 (2 topics)."


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def runs(**tags):
    """Return what the address says of runs by their names."""
    return {side: Run.objects.get(run_tag=tag).pk for side, tag in tags.items()}


def opened(client, **query):
    return client.get(PAGE, query).context["opened"]


def by_cover(topic):
    """Return the names of the items by who covers them, with the grades of each side."""
    return {who: [(item.name, *grades) for item, grades in items] for who, items in topic.groups}


def test_the_first_line_is_the_verdict_and_each_topic_has_a_bar(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, runs(a="first", b="both"))
    page, pair = text(response), response.context["pair"]

    assert "first is not clearly behind both with 2 topics." in page
    assert "0.250 against 1.000; difference \N{MINUS SIGN}0.750." in page
    assert VERDICT in page
    assert [(row.pair.query_id, row.bar.side, row.pair.difference) for row in pair.rows] == [
        ("t1", "b", -0.5),
        ("t2", "b", -1.0),
    ]
    assert pair.counts == (0, 0, 2)
    assert pair.distribution is None, "two topics have no interval"


def test_without_runs_it_is_of_the_first_two_of_the_board(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"test": "studentised"})

    assert (response.context["pair"].a_tag, response.context["pair"].b_tag) == ("both", "stray")
    assert "stray is not clearly behind both with 2 topics." in text(response)


def test_one_run_stands_beside_the_mean_of_all(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, runs(a="lacks"))

    assert [
        (row.pair.query_id, row.pair.first, row.pair.second) for row in response.context["pair"].rows
    ] == [
        ("t1", 0.5, 0.5),
        ("t2", 0.0, 0.5),
    ]
    assert f"lacks. {VERDICT}" in text(response)
    assert "0.250, 95 %" not in text(response), "two topics have no interval"
    assert "0.250; mean of all runs 0.500." in text(response)
    assert by_cover(response.context["opened"]) == {"a": [("Q2", 4)], "neither": [("Q1", 0)]}


def test_the_opened_topic_parts_items_by_who_covers_them(made, viewer, client_of):
    client = client_of(viewer)
    t1 = opened(client, **runs(a="both", b="lacks"), open="t1")

    assert by_cover(t1) == {"a": [("Q1", 5, 0)], "both": [("Q2", 4, 4)]}
    assert [side.covered for side in t1.sides] == [2, 1]
    assert [[(mark.item.name) for mark in passage.marks] for passage in t1.sides[0].passages] == [["Q1"], []]
    cell = reverse(
        "review:cell",
        args=[made.bank.pk, made.topics["t1"].pk, made.passages["d1"].pk, made.items["t1"][0].pk],
    )
    assert t1.sides[0].passages[0].marks[0].href == cell
    t2 = client.get(PAGE, runs(a="both", b="lacks") | {"open": "t2"})
    assert "Nothing for this topic, so it counts 0." in text(t2)


def test_failed_missing_and_hidden_grades_are_no_zeros(made, owner, assessor, viewer, client_of):
    pair = runs(a="stray", b="first")
    assert by_cover(opened(client_of(viewer), **pair, open="t1")) == {
        "b": [("Q1", 3, 5)],
        "neither": [("Q2", -2, 0)],
    }
    blind_campaign(made.bank, by=owner, assignees=[assessor])
    hidden = opened(client_of(assessor), **pair, open="t1")
    assert by_cover(hidden) == {"neither": [("Q1", -3, -3), ("Q2", -3, -3)]}
    assert [passage.marks for side in hidden.sides for passage in side.passages] == [(), (), ()]


def test_secret_items_are_counted_and_not_read(made, owner, viewer, client_of):
    item = made.items["t1"][0]
    item.revision.is_secret = True
    item.revision.save()
    response = client_of(viewer).get(PAGE, runs(a="both", b="lacks") | {"open": "t1"})

    assert by_cover(response.context["opened"]) == {"both": [("Q1", 4, 4)]}
    assert "1 item secret from you" in text(response)
    assert item.revision.text not in html.unescape(response.content.decode())


def test_an_answer_is_text_with_its_citations(made, viewer, client_of):
    topic, run = made.topics["t1"], Run.objects.get(run_tag="both")
    sentences = [
        {"text": "Red <b>pigment</b>.", "citations": [["d9", None]]},
        {"text": "Later.", "citations": []},
    ]
    Response.objects.create(run=run, topic=topic, sentences=sentences, passages_of="sentence")
    response = client_of(viewer).get(PAGE, runs(a="both", b="lacks") | {"open": "t1"})
    side = response.context["opened"].sides[0]

    assert (side.is_answer, side.n_words, side.n_cites) == (True, 3, 1)
    assert "Red &lt;b&gt;pigment&lt;/b&gt;." in markup(response)
    assert reverse("review:response", args=[made.bank.pk, topic.pk, run.pk]) in markup(response)
    assert "Do its citations support it?" in text(client_of(viewer).get(PAGE, runs(a="both")))


def test_topics_are_grouped_by_an_attribute_with_the_means_of_both(made, viewer, client_of):
    for query_id, kind in {"t1": ["what", "when"], "t2": "why"}.items():
        made.topics[query_id].attributes = {"kind": kind}
        made.topics[query_id].save()
    response = client_of(viewer).get(PAGE, runs(a="both", b="first") | {"by": "kind"})

    groups = [(group.topics.token, len(group.rows), group.means) for group in response.context["groups"]]
    assert groups == [("kind=what", 1, (1, 0.5)), ("kind=when", 1, (1, 0.5)), ("kind=why", 1, (1, 0))]
    assert "topics=kind%3Dwhy" in markup(response)
    assert "both 1.000 \N{PLUS-MINUS SIGN}0.00 1.000 1.000 1.000" in text(response), "all runs by value"
    assert client_of(viewer).get(PAGE, {"by": "size"}).status_code == 422


def test_steps_lead_through_the_topics_in_the_order_of_the_bars(made, viewer, client_of):
    client = client_of(viewer)
    pair = runs(a="both", b="first")
    address = "&".join(f"{side}={pk}" for side, pk in pair.items())
    assert client.get(PAGE, pair).context["steps"] == ("", f"{address}&open=t1")
    assert client.get(PAGE, pair | {"open": "t1"}).context["steps"] == (f"{address}&open=t2", "")
    part = client.get(PAGE, pair | {"open": "t1"}, headers=HTMX)
    assert re.search(r'<h2 id="opened"[^>]* autofocus', markup(part)), "what is opened gets the focus"
    controls = client.get(PAGE, pair, headers=HTMX | {"HX-Trigger": "controls"})
    assert "autofocus" not in markup(controls)


def test_files_have_all_topics(made, viewer, client_of):
    client = client_of(viewer)
    pair = runs(a="both", b="first")
    tsv = client.get(PAGE, pair | {"file": "topics.tsv"})
    assert 'filename="both-first.tsv"' in tsv["Content-Disposition"]
    assert [line for line in tsv.content.decode().splitlines() if not line.startswith("#")] == [
        "topic\tboth\tfirst",
        "t2\t1.0\t0.0",
        "t1\t1.0\t0.5",
    ]
    svg = client.get(PAGE, pair | {"file": "topics.svg"})
    assert (svg["Content-Type"], svg.content.count(b"<rect")) == ("image/svg+xml", 3)


def test_official_scores_stand_in_the_table_of_one_run(made, viewer, client_of, tmp_path):
    """A board without scores of topics has no column; who reads pseudonyms of runs has none at all."""
    of_topics = "lacks t1 NDCG 0.75\nlacks t2 NDCG 0.25\nlacks all NDCG 0.5\n"
    for name, lines in (("RAG", of_topics), ("ranks", '{"lacks": 1}')):
        path = tmp_path / f"{name}.txt"
        path.write_text(lines, encoding="utf-8")
        put_official_board(made.collection, path, name=name, by=None)
    client, lacks = client_of(viewer), runs(a="lacks")

    sheet = client.get(PAGE, lacks).context["sheet"]
    assert [row[-1].text for row in sheet.rows] == ["0.750", "0.250"]
    assert sheet.comments == ("RAG: NDCG is official, from RAG.txt",)
    made.collection.shows_run_tags = False
    made.collection.save()
    assert "NDCG" not in markup(client.get(PAGE, lacks))
    assert client.get(PAGE, lacks).context["pair"].a_tag.startswith("run ")


def test_refused_controls_and_roles(made, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.head(PAGE).status_code == 200
    assert client.post(PAGE).status_code == 405
    assert client.get(PAGE, {"a": "0"}).status_code == 422
    assert client.get(PAGE, {"a": factories.RunFactory().pk}).status_code == 422, "of another collection"
    same = client.get(PAGE, runs(a="both", b="both"))
    assert (same.status_code, "Choose two different runs." in text(same)) == (422, True)
    wrong = client.get(PAGE, {"measure": "foo"})
    assert (wrong.status_code, "no measure" in text(wrong)) == (422, True)
    assert markup(client.get(PAGE, headers=HTMX)).lstrip().startswith('<div id="compare"')


def test_withdrawn_runs_are_not_offered(made, viewer, client_of):
    both = runs(a="both")
    made.collection.runs.exclude(run_tag="lacks").update(state="withdrawn")
    made.collection.save()
    assert "A comparison takes two runs" in text(client_of(viewer).get(PAGE))
    assert client_of(viewer).get(PAGE, both).status_code == 422


def test_the_number_of_queries_does_not_grow_with_topics(
    made, viewer, client_of, django_assert_max_num_queries
):
    client = client_of(viewer)
    client.get(PAGE)
    with django_assert_max_num_queries(40):
        client.get(PAGE)


def test_the_command_says_the_same(made):
    out = StringIO()
    call_command("compare_runs", "autumn", "first", "both", *made.names, stdout=out)
    assert out.getvalue() == f"{VERDICT} {SENTENCE}\n"
    out = StringIO()
    call_command("compare_runs", "autumn", "first", "both", *made.names, "--json", stdout=out)
    assert json.loads(out.getvalue())["difference"] == 0.75
    with pytest.raises(CommandError, match=r"no run nobody; its runs are both, first, lacks, stray\."):
        call_command("compare_runs", "autumn", "nobody", "both", *made.names)


def test_passages_of_a_ranking_are_the_first_that_count(made, viewer, client_of):
    sides = opened(client_of(viewer), **runs(a="stray", b="both"), open="t1", cutoff="1").sides
    assert [[passage.doc_id for passage in side.passages] for side in sides] == [["zz"], ["d1"]]
    assert sides[1].passages[0].text == Passage.objects.get(doc_id="d1").text


def test_ticked_runs_are_compared(made, viewer, client_of):
    """Which stay ticked when the board is fetched anew."""
    client = client_of(viewer)
    page = client.get(BOARD)
    runs = [line.row.run_id for line in page.context["lines"]][:2]
    assert page.context["ticked"] == set()
    assert markup(page).count('name="tick"') == len(page.context["lines"])
    live = client.get(BOARD, {"seen": "", "tick": runs[1]}, **HTMX)
    assert re.findall(r'id="tick-(\d+)"[^>]*\schecked', markup(live)) == [str(runs[1])]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', markup(page)))
    answer = client.get(PAGE, {"threshold": "4", "tick": runs})
    assert dict(parse_qsl(answer["Location"].partition("?")[2])) == {
        "threshold": "4",
        "a": str(runs[0]),
        "b": str(runs[1]),
    }
    pair = client.get(PAGE, fields | {"tick": runs}, follow=True).context["pair"]
    assert (pair.a_pk, pair.b_pk) == tuple(runs)
    assert client.get(PAGE, {"tick": ["x"]})["Location"] == f"{PAGE}?"
