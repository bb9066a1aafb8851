"""One board then and now."""

import html
import re

import pytest
from django.urls import reverse

from rubricweb.banks.actions import retire_item, revise_item
from rubricweb.banks.versions import name_version
from rubricweb.corpus.models import Run
from rubricweb.leaderboards.comparison import then
from tests import factories
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign

pytestmark = pytest.mark.portable

PAGE = "/collections/autumn/leaderboards/compare/"
ARROW = "\N{RIGHTWARDS ARROW}"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def pk_of(run_tag):
    return Run.objects.get(run_tag=run_tag).pk


def items_of(response):
    """Return, by topic, the items that the opened run's score differs by, with their grades then and now."""
    return {
        topic.query_id: [(item.part.text, item.part.best) for item in topic.items]
        + [(part.text, part.best) for part in topic.same]
        for topic in response.context["opened_run"].topics
    }


def test_two_thresholds(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"then_min_grade": "5", "run": pk_of("both")})
    page, board = text(response), response.context["then"]

    assert f"threshold: 5 {ARROW} 4" in page
    assert "Then as now: With 2 topics no run can be clearly ahead." in page
    assert "have another score" in page
    first = board.rows[0].moved
    assert (first.run_tag, first.before, first.after) == ("both", 0.25, 1)
    assert [(row.query_id, row.up, row.down) for row in board.topic_changes] == [("t1", 2, 0), ("t2", 2, 0)]
    assert items_of(response) == {
        "t2": [("Why does bread rise?", (4, 4))],
        "t1": [("When does chlorophyll break down?", (4, 4))],
    }
    cell = reverse(
        "review:cell",
        args=[made.bank.pk, made.topics["t2"].pk, made.passages["e2"].pk, made.items["t2"][0].pk],
    )
    assert cell in markup(response), "the table has the cells"


def test_a_version_against_now(made, owner, viewer, client_of):
    version = name_version(made.bank, name="first", by=owner)
    item = made.items["t2"][0]
    retire_item(item, seen=item.version, by=owner)
    client = client_of(viewer)
    page = text(client.get(PAGE, {"then_version": str(version.pk), "run": pk_of("stray")}))
    assert re.search(rf"version: main, version 1: first \(.+ 2\d\d\d, \d\d:\d\d\) {ARROW} as of now", page)
    assert "removed" in page
    assert "\N{MINUS SIGN}0.500" in page
    back = text(client.get(PAGE, {"version": str(version.pk), "then_version": "now", "run": pk_of("stray")}))
    assert "+0.500" in back


def test_a_reworded_item_shows_both_wordings_and_both_grades(made, owner, viewer, client_of):
    version = name_version(made.bank, name="first", by=owner)
    item = made.items["t2"][0]
    revise_item(item, text="Why does dough rise?", seen=item.version, by=owner)
    response = client_of(viewer).get(PAGE, {"then_version": str(version.pk), "run": pk_of("both")})

    assert items_of(response) == {"t2": [("Why does dough rise?", (4, -1))]}
    assert re.search(r"<del>\s*bread </del>\s*<ins>\s*dough </ins>", markup(response))


def test_grades_that_the_reader_has_to_rate_first_move_nothing(made, owner, assessor, client_of):
    client, options = client_of(assessor), {"then_min_grade": "5", "run": pk_of("both")}
    assert items_of(client.get(PAGE, options))["t2"] == [("Why does bread rise?", (4, 4))]
    blind_campaign(made.bank, by=owner, assignees=[assessor])
    assert "The same 4 scores." in text(client.get(PAGE, options))
    assert "Why does bread rise?" not in text(client.get(PAGE, options))


def test_secret_items_have_neither_words_nor_grades(made, owner, viewer, client_of):
    item = made.items["t2"][0]
    item.revision.is_secret = True
    item.revision.save()
    response = client_of(viewer).get(PAGE, {"then_min_grade": "5", "run": pk_of("both")})

    assert items_of(response)["t2"] == [("a secret item", (None, None))]
    assert item.revision.text not in html.unescape(response.content.decode())


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("source", "grader", "humans", f"ratings by: grader {ARROW} humans"),
        ("source", "corrected", "", f"ratings by: corrected {ARROW} grader"),
        ("definition", "papers", "workbench", f"definition: as in the papers {ARROW} the published"),
        ("definition", "workbench", "", f"definition: the published Workbench's {ARROW} as in"),
    ],
)
def test_the_usual_against_another(rich, viewer, client_of, name, before, after, expected):
    response = client_of(viewer).get(PAGE, {f"then_{name}": before, name: after})

    assert response.status_code == 200
    assert expected in text(response)
    assert "The items below add up to the difference." in text(response)


def test_where_nothing_differs_the_scores_are_the_same(made, viewer, client_of):
    page = text(client_of(viewer).get(PAGE, {"then_min_grade": "4"}))
    assert "The same 4 scores." in page
    assert "Both boards have the same settings." in page


def test_the_latest_version_is_offered(made, viewer, client_of):
    version = name_version(made.bank, name="pilot", by=None)
    client = client_of(viewer)
    response = client.get(PAGE, {"view": "then"})
    assert "Compare this board with another one" in text(response)
    (offer,) = response.context["offers"]
    assert offer[0] == "Since main, version 1: pilot"
    assert offer[1].endswith(f"then_version={version.pk}")
    assert "version: main, version 1: pilot" in text(client.get(f"{PAGE}?{offer[1]}"))


def test_what_is_wrong_is_beside_its_control(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"then_measure": "precision"})
    assert response.status_code == 422
    assert "no measure" in text(response)
    assert client_of(viewer).get(PAGE, {"then_min_grade": "9"}).status_code == 422
    assert client_of(viewer).get(PAGE, {"then_min_grade": "5", "run": "both"}).status_code == 422


def test_roles_and_parts(made, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE, {"view": "then"}).status_code == 404
    client = client_of(viewer)
    part = client.get(PAGE, {"then_min_grade": "5"}, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="compare"')
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    assert "No grades yet" in text(client.get("/collections/empty/leaderboards/compare/?view=then"))


def test_few_queries(made, viewer, client_of, django_assert_max_num_queries):
    client = client_of(viewer)
    client.get(PAGE, {"then_min_grade": "5"})
    with django_assert_max_num_queries(45):
        client.get(PAGE, {"then_min_grade": "5"})


def test_options_of_both_boards(rich, viewer, client_of):
    """`lacks` covers two of three of subtopic a, none of b; from grade 5 on one; t2 is not its mean's."""
    options = {"then_min_grade": "5", "run": pk_of("lacks"), "missing": "skip", "units": "subtopics"}
    response = client_of(viewer).get(PAGE, options)
    row = response.context["opened_run"].row.moved
    assert "Without: Mean over subtopics, then topics" in text(response)
    assert "Without: Threshold 5" in text(response)
    assert (row.run_tag, row.rank_before, row.rank_after) == ("lacks", 3, 3)
    assert (row.before, row.after) == (pytest.approx(1 / 6), pytest.approx(1 / 3))
    assert "When does chlorophyll break down?" in text(response)
    assert "do not apply here" not in text(response)
    assert "its further columns" in text(client_of(viewer).get(PAGE, options | {"columns": "P_20"}))


def test_measures_of_labels_show_passages_with_labels_then_and_now(made, viewer, client_of):
    options = {"measure": "P_2", "then_min_grade": "5", "run": pk_of("both")}
    response = client_of(viewer).get(PAGE, options)
    assert "This measure is not a sum over items" in text(response)
    assert "e2 4 4" in text(response)


def test_the_file_has_all_parts_and_they_sum_to_the_difference(made, viewer, client_of, monkeypatch):
    monkeypatch.setattr(then, "SHOWN_PARTS", 1)
    client, options = client_of(viewer), {"then_min_grade": "5", "run": pk_of("both")}
    context = client.get(PAGE, options).context
    data, row = context["reasons"].data, context["opened_run"].row.moved
    parts = [line[data.columns.index("contribution")] for line in data.rows]

    assert (len(context["reasons"].rows), len(data.rows)) == (1, 2)
    assert sum(parts) == pytest.approx(row.after - row.before, abs=1e-15)
    stated = dict(data.stated)
    assert (stated["threshold"], stated["before: threshold"]) == ("grade >= 4", "grade >= 5")
    assert len(context["sheet"].data.rows) == 4
    tsv = client.get(PAGE, options | {"file": "reasons.tsv"}).content.decode()
    assert sum(not line.startswith("#") for line in tsv.splitlines()) == 3
    assert b"rank_before_first" in client.get(PAGE, options | {"file": "runs.tsv"}).content
    assert client.get(PAGE, options | {"file": "runs.svg"})["Content-Type"] == "image/svg+xml"
