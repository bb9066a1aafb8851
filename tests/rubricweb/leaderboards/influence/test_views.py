"""The page of influence, view by view."""

import html
import re

import pytest

from rubricweb.leaderboards.influence import views
from tests import factories
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

PAGE = "/leaderboards/autumn/influence/"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("items", "Which pigment makes leaves red? t1 0.500 0.333"),
        ("runs", "stray 2 1\N{EN DASH}4 4 Why does bread rise? t2"),
        ("pairs", "Nothing to show"),
        ("holes", "stray 2 1\N{EN DASH}4 0.500 0.333 0.333 0.333 1"),
        ("teams", "On average, a run's rank would be off by"),
        ("origins", "All items of this board have one origin"),
        ("nonsense", "Which pigment makes leaves red?"),
    ],
)
def test_views(made, viewer, client_of, view, said):
    response = client_of(viewer).get(PAGE, {"view": view})
    assert response.status_code == 200
    assert said in text(response)


def test_items_link_to_their_grid_and_come_in_order(made, viewer, client_of):
    asked = r"(Which pigment|When does|Why does)"
    hard, easy = (client_of(viewer).get(PAGE, {"by": by, "all": "1"}) for by in ("hard", "easy"))
    assert f"/banks/{made.bank.pk}/topics/{made.topics['t1'].pk}/?view=grid" in markup(hard)
    body = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
    first, last = (re.findall(asked, body.search(markup(found))[0]) for found in (hard, easy))
    assert first[0] == last[-1] == "Which pigment", "the fewest passages cover it"


def test_controls_travel_along(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"view": "teams", "kind": "question", "teams": "b*"})
    content = markup(response)
    assert '<input type="hidden" name="view" value="teams"' in content
    assert '<option value="question" selected>' in content
    assert "Without: Items questions" in text(response)
    assert "Without: Runs of one team or model b*" in text(response)
    refused = client_of(viewer).get(PAGE, {"view": "teams", "depth": "0"})
    assert refused.status_code == 422
    assert "greater than or equal to 1" in text(refused)


def test_roles_and_parts(made, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.post(PAGE).status_code == 405
    part = client.get(PAGE, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="influence"')


def test_without_grades(viewer, client_of):
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    assert "No grades yet" in text(client_of(viewer).get("/leaderboards/empty/influence/"))


def test_few_queries(made, viewer, client_of, django_assert_max_num_queries):
    client = client_of(viewer)
    client.get(PAGE)
    with django_assert_max_num_queries(30):
        client.get(PAGE)


def test_options_of_the_board_apply(rich, viewer, client_of):
    """By people alone only d1, d3 and e1 are rated: of `both`, d2 and e2 are holes."""
    client = client_of(viewer)
    by_people = text(client.get(PAGE, {"view": "holes", "source": "humans"}))
    assert "both 3 1\N{EN DASH}4 0.000 0.667 0.667 0.667 0 lacks 3 1\N{EN DASH}4 0.000 1.000" in by_people
    page = client.get(PAGE, {"units": "subtopics", "missing": "skip", "topic": "t1"})
    assert "do not apply here" not in text(page)
    assert "Without: Only topic t1" in text(page)
    assert "Why does bread rise?" not in text(page), "only topic t1"
    assert "Without:" not in text(client.get(PAGE))


def test_options_that_cannot_apply_are_said(rich, viewer, client_of):
    client = client_of(viewer)
    asked = {"definition": "workbench", "columns": "P_20", "topic": "t1", "missing": "skip"}
    by_items = text(client.get(PAGE, asked))
    assert "no item can be left out: scores are as in the papers" in by_items
    assert "its further columns" in by_items
    assert "counts 0" not in by_items.partition("do not apply here")[2].partition("Items")[0]
    teams = text(client.get(PAGE, asked | {"view": "teams"}))
    assert "as in the papers" not in teams.partition("do not apply here")[2].partition("Teams")[0]
    origins = text(client.get(PAGE, asked | {"view": "origins"}))
    assert "all topics are compared here" in origins
    assert "leaving out topics that a run lacks" in origins


def test_a_board_of_one_item_has_nothing_left_without_it(made, viewer, client_of):
    said = text(client_of(viewer).get(PAGE, {"topic": "t2"}))
    assert "Why does bread rise? t2" in said
    assert "nan" not in said


@pytest.mark.parametrize("view", ["items", "runs", "pairs", "holes", "teams", "origins"])
def test_every_view_under_every_option(rich, viewer, client_of, view):
    client = client_of(viewer)
    for options in (
        {"source": "humans", "measure": "weighted_cover"},
        {"units": "subtopics", "missing": "skip"},
        {"units": "subtopics", "topic": "t1"},
        {"topic": "t1", "facet": "a", "definition": "workbench"},
        {"topic": "t3", "measure": "ndcg_cut_10"},
    ):
        response = client.get(PAGE, {"view": view, **options})
        assert response.status_code == 200
        assert "nan" not in text(response).split()


def test_the_file_has_all_items_with_all_digits(made, viewer, client_of, monkeypatch):
    monkeypatch.setattr(views, "SHOWN_ROWS", 1)
    sheet = client_of(viewer).get(PAGE).context["sheet"]
    rows = [dict(zip(sheet.data.columns, row, strict=True)) for row in sheet.data.rows]

    assert (len(sheet.rows), len(rows)) == (1, 3)
    red = next(row for row in rows if row["text"].startswith("Which pigment"))
    assert (red["topic"], red["share_of_runs"], red["share_of_passages"]) == ("t1", 0.5, 1 / 3)
    said = dict(sheet.data.stated)
    assert said["cutoff"] == "first 20 passages by rank"
    assert said["bank"].startswith("main (")


@pytest.mark.parametrize("view", ["items", "runs", "pairs", "holes", "teams", "origins"])
def test_each_file_has_the_rows_of_its_table(made, viewer, client_of, view):
    sheet = client_of(viewer).get(PAGE, {"view": view}).context["sheet"]
    assert len(sheet.data.rows) == len(sheet.rows)
