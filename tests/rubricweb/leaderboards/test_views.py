"""The leaderboard page, as browsers ask for it."""

import html
import re

import pytest
from django.template import Context, Template

from rubricweb.banks import actions
from rubricweb.corpus.models import Run
from rubricweb.grades.configs import imported_config
from tests import factories
from tests.rubricweb.markup import markup
from tests.worked import judge

BOARD = "/collections/autumn/leaderboards/"
HTMX = {"HX-Request": "true"}


def shown(response):
    """Text of the rows of the first table, cell by cell, without what is drawn."""
    body = re.search(r"<tbody>(.*?)</tbody>", markup(response), re.DOTALL)[1]
    body = re.sub(r'<td class="board-(axis|band|change|strip)".*?</td>', "", body, flags=re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    cells = [re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL) for row in rows]
    texts = [[html.unescape(re.sub(r"<[^>]*>", " ", cell)) for cell in row] for row in cells]
    return [[" ".join(cell.split()).replace("\N{EN DASH}", "-") for cell in row] for row in texts]


def hidden(response):
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', markup(response)))


def test_the_page_shows_the_board(made, viewer, client_of):
    judge(made)
    response = client_of(viewer).get(BOARD)

    assert response.status_code == 200
    assert shown(response) == [
        ["1-4", "both", "1.0000"],
        ["1-4", "stray 67 % graded", "0.5000"],
        ["1-4", "first", "0.2500"],
        ["1-4", "lacks 1 of 2 topics", "0.2500"],
    ]
    for stated in (
        b"Too few runs: 4.",
        b"4 runs: Rubric-Cover@20 against ndcg_cut_10",
        b"main (questions and nuggets, 3 items",
        b"a run lacks counts 0",
    ):
        assert stated in b" ".join(response.content.split())


def test_controls_are_in_the_address(made, viewer, client_of):
    query = {"measure": "P_2", "min_grade": "4", "mode": "binary", "kind": "question"}
    response = client_of(viewer).get(BOARD, query)

    assert [row[1:3] for row in shown(response)] == [
        ["both", "0.7500"],
        ["first", "0.2500"],
        ["lacks 1 of 2 topics", "0.2500"],
        ["stray 67 % graded", "0.2500"],
    ]
    assert response.context["query"] == (
        f"grader={made.config.pk}&bank={made.bank.pk}&kind=question&measure=P_2&min_grade=4&cutoff=20&mode=binary"
        "&min_answers=1"
    )


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"measure": "foo", "min_grade": "9"}, ["known are 11pt_avg", "less than or equal to 5"]),
        ({"cutoff": "0"}, ["greater than or equal to 1"]),
        ({"cutoff": "many"}, ["Enter a whole number"]),
        ({"grader": "999"}, ["not one of the available choices"]),
        ({"grader": "x\x00", "bank": "'"}, ["not one of the available choices"]),
        ({"bank": "999"}, ["not one of the available choices"]),
        ({"mode": "mean"}, ["not one of the available choices"]),
        ({"kind": "poem"}, ["not one of the available choices"]),
        ({"min_answers": "-1"}, ["greater than or equal to 1"]),
        ({"measure": "m" * 100}, ["at most 60 characters"]),
    ],
)
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_what_there_is_not_is_told_beside_its_control(made, viewer, client_of, query, told, headers):
    response = client_of(viewer).get(BOARD, query, headers=headers)

    assert response.status_code == 422
    assert response["HX-Push-Url"] == "false"
    for text in told:
        assert text in html.unescape(markup(response))


def test_a_kind_that_the_grader_does_not_grade(made, viewer, client_of):
    nuggets = imported_config("t5", "NuggetSelfRatedPrompt", "rate")
    factories.grade(nuggets, made.items["t1"][0], made.passages["d1"], 3)
    response = client_of(viewer).get(BOARD, {"grader": nuggets.pk, "kind": "question"})

    assert response.status_code == 422
    assert "grades nuggets, not questions" in markup(response)


def test_rubric_cover_of_a_direct_grader_is_refused_but_its_labels_are_shown(made, viewer, client_of):
    direct = imported_config("labeller", "YesNoPrompt", "direct")
    item = factories.ItemFactory(bank=made.bank, topic=made.topics["t1"], text="why do leaves turn red")
    item.revision.uid = "direct"
    item.revision.save()
    factories.grade(direct, item, made.passages["d1"], 1)
    client = client_of(viewer)

    refused = client.get(BOARD, {"grader": direct.pk, "measure": "rubric_cover"})
    assert (refused.status_code, "use a trec_eval measure" in markup(refused)) == (422, True)
    shown_board = client.get(BOARD, {"grader": direct.pk, "measure": "P_1"})
    assert shown(shown_board)[0][1:] == ["both 50 % graded", "1.0000"]
    assert client.get(BOARD, {"grader": direct.pk}).status_code == 200


def test_the_largest_of_several_graded_banks_is_shown_with_a_switch(made, viewer, client_of):
    second = factories.BankFactory(collection=made.collection, name="second")
    factories.ItemFactory(bank=second, topic=made.topics["t1"], text="Which pigment makes leaves red?")
    response = client_of(viewer).get(BOARD)

    assert response.context["form"].spec.bank == made.bank
    assert "second</option>" in markup(response)
    assert client_of(viewer).get(BOARD, {"bank": second.pk}).context["form"].spec.bank == second


def test_live_parts_get_the_board_and_what_moved(made, viewer, client_of):
    client = client_of(viewer)
    before = hidden(client.get(BOARD))
    item = made.items["t2"][0]
    actions.retire_item(item, seen=item.version, by=None)
    response = client.get(BOARD, before, headers=HTMX)

    assert markup(response).lstrip().startswith('<div id="leaderboard"')
    assert [(row[0], row[1].split()[0]) for row in shown(response)] == [
        ("-", name) for name in ("both", "first", "lacks", "stray")
    ]
    moved = re.findall(r'data-moved="(\w+)"', markup(response))
    assert moved == ["score", "up", "up", "down"][1:]
    news = re.search(r'hx-swap-oob="innerHTML:#board-news">(.*?)</p>', markup(response))[1]
    assert news == "3 runs moved. stray from 2 to 4, first from 3 to 2, lacks from 3 to 2."


def test_a_live_part_that_did_not_change_is_not_swapped(made, viewer, client_of):
    client = client_of(viewer)

    assert client.get(BOARD, hidden(client.get(BOARD)), headers=HTMX).status_code == 204


def test_the_controls_get_everything_below_the_heading(made, viewer, client_of):
    content = markup(client_of(viewer).get(BOARD, {"measure": "map"}, headers=HTMX))

    assert content.lstrip().startswith('<div id="board"')
    assert 'id="controls"' in content
    assert "<html" not in content


def test_going_back_in_history_gets_the_page(made, viewer, client_of):
    headers = {**HTMX, "HX-History-Restore-Request": "true"}

    assert "<html" in markup(client_of(viewer).get(BOARD, headers=headers))


def test_no_grades_no_runs_and_no_items_say_what_to_do(collection, viewer, client_of):
    client = client_of(viewer)
    assert "No grades yet" in markup(client.get(BOARD))
    assert markup(client.get(BOARD, headers=HTMX)).lstrip().startswith('<div id="board"')

    topic = factories.TopicFactory(collection=collection)
    item = factories.ItemFactory(bank__collection=collection, topic=topic)
    factories.grade(factories.lexical_config(), item, factories.PooledFactory(topic=topic).passage, 4)
    assert "No runs yet" in markup(client.get(BOARD))

    factories.RunFactory(collection=collection)
    collection.stamp += 1
    collection.save()
    assert "no items of this kind" in markup(client.get(BOARD, {"kind": "nugget"}))


def test_a_run_tag_is_text(made, viewer, client_of):
    Run.objects.filter(run_tag="both").update(run_tag="<script>alert(1)</script>")
    content = markup(client_of(viewer).get(BOARD))

    assert "<script>alert" not in content


@pytest.mark.parametrize(
    ("value", "printed"),
    [(-1e-17, "0.0000"), (0.00001, "0.0000"), (0.0625, "+0.0625"), (None, "\N{EN DASH}")],
)
def test_a_difference_has_a_sign_unless_it_prints_as_nothing(value, printed):
    assert Template("{% load leaderboards %}{{ value|signed }}").render(Context({"value": value})) == printed


def test_who_may_look(made, viewer, outsider, client_of, client):
    assert client_of(viewer).get(BOARD).status_code == 200
    assert client_of(viewer).head(BOARD).status_code == 200
    assert client_of(viewer).post(BOARD).status_code == 405
    assert client_of(outsider).get(BOARD).status_code == 404
    assert client.get(BOARD).status_code == 302


def test_queries_do_not_grow_with_runs(made, viewer, client_of, django_assert_max_num_queries):
    client = client_of(viewer)
    client.get(BOARD)
    for number in range(10):
        run = factories.RunFactory(collection=made.collection, run_tag=f"more{number}")
        factories.RankingFactory(run=run, topic=made.topics["t1"], doc_ids=["d1"])
    made.collection.stamp += 1
    made.collection.save()
    client.get(BOARD)
    with django_assert_max_num_queries(29):
        assert len(shown(client.get(BOARD))) == 14
