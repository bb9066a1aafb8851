"""The page of what moved."""

import html
import re

import pytest
from django.urls import reverse

from rubricweb.banks.actions import retire_item
from rubricweb.banks.versions import name_version
from rubricweb.leaderboards.moved import views
from tests import factories
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

PAGE = "/leaderboards/autumn/moved/"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def test_two_thresholds(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"was_min_grade": "5", "run": "both"})
    said = text(response)
    assert "threshold: 5 \N{RIGHTWARDS ARROW} 4" in said
    assert "With 2 topics no move can be clear." in said
    assert "Why both differs: rank 1 to 1, score 0.2500 to 1.0000" in said
    assert "Why does bread rise? t2 gained +0.5000 e2 4 " in said
    assert "4 \N{RIGHTWARDS ARROW} 4" not in said, "the rating is the same"
    cell = reverse(
        "review:cell",
        args=[made.bank.pk, made.topics["t2"].pk, made.passages["e2"].pk, made.items["t2"][0].pk],
    )
    assert cell in markup(response)


def test_a_version_against_now(made, owner, viewer, client_of):
    version = name_version(made.bank, name="first", by=owner)
    item = made.items["t2"][0]
    retire_item(item, seen=item.version, by=owner)
    client = client_of(viewer)
    said = text(client.get(PAGE, {"was_version": str(version.pk), "run": "stray"}))
    assert "version: main, version 1: first \N{RIGHTWARDS ARROW} as of now" in said
    assert "removed" in said
    assert "-0.5000" in said
    back = text(client.get(PAGE, {"version": str(version.pk), "was_version": "now", "run": "stray"}))
    assert "+0.5000" in back


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("source", "grader", "humans", "ratings by: grader \N{RIGHTWARDS ARROW} humans"),
        ("source", "corrected", "", "ratings by: corrected \N{RIGHTWARDS ARROW} grader"),
        (
            "definition",
            "papers",
            "workbench",
            "definition: as in the papers \N{RIGHTWARDS ARROW} the published",
        ),
        ("definition", "workbench", "", "definition: the published Workbench's \N{RIGHTWARDS ARROW} as in"),
    ],
)
def test_the_usual_against_another(rich, viewer, client_of, name, before, after, said):
    response = client_of(viewer).get(PAGE, {f"was_{name}": before, name: after})

    assert response.status_code == 200
    assert said in text(response)
    assert "parts add up to the difference" in text(response)


def test_before_what(made, viewer, client_of):
    assert "Choose what to compare with" in text(client_of(viewer).get(PAGE))
    assert "Both boards have the same settings" in text(client_of(viewer).get(PAGE, {"was_min_grade": "4"}))


def test_the_latest_version_is_offered(made, viewer, client_of):
    version = name_version(made.bank, name="pilot", by=None)
    client = client_of(viewer)
    (offer,) = client.get(PAGE).context["form"].offers()
    assert offer == ("Since main, version 1: pilot", f"was_version={version.pk}")
    assert "Both boards have the same settings" not in text(client.get(f"{PAGE}?{offer[1]}"))
    assert "version: main, version 1: pilot" in text(client.get(f"{PAGE}?{offer[1]}"))


def test_what_is_wrong_is_said(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"was_measure": "precision"})
    assert response.status_code == 422
    assert "no measure" in text(response)
    assert client_of(viewer).get(PAGE, {"was_min_grade": "9"}).status_code == 422


def test_roles_and_parts(made, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.post(PAGE).status_code == 405
    part = client.get(PAGE, {"was_min_grade": "5"}, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="moved"')
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    assert "No grades yet" in text(client.get("/leaderboards/empty/moved/"))


def test_few_queries(made, viewer, client_of, django_assert_max_num_queries):
    client = client_of(viewer)
    client.get(PAGE, {"was_min_grade": "5"})
    with django_assert_max_num_queries(45):
        client.get(PAGE, {"was_min_grade": "5"})


def test_options_of_both_boards(rich, viewer, client_of):
    """`lacks` covers two of three of subtopic a, none of b; from grade 5 on one; t2 is not its mean's."""
    asked = {"was_min_grade": "5", "run": "lacks", "missing": "skip", "units": "subtopics"}
    page = client_of(viewer).get(PAGE, asked)
    assert "Without: Mean over subtopics, then topics" in text(page)
    assert "Without: Threshold 5" in text(page)
    assert "Why lacks differs: rank 3 to 3, score 0.1667 to 0.3333" in text(page)
    assert "When does chlorophyll break down? t1 gained +0.1667" in text(page)
    assert "do not apply here" not in text(page)
    assert "its further columns" in text(client_of(viewer).get(PAGE, asked | {"columns": "P_20"}))


def test_the_file_has_all_parts_and_they_sum_to_the_difference(made, viewer, client_of, monkeypatch):
    monkeypatch.setattr(views, "SHOWN_ROWS", 1)
    context = client_of(viewer).get(PAGE, {"was_min_grade": "5", "run": "both"}).context
    data, row = context["reasons"].data, context["row"]
    parts = [line[data.columns.index("contribution")] for line in data.rows]

    assert (len(context["reasons"].rows), len(data.rows)) == (1, 2)
    assert sum(parts) == pytest.approx(row.after - row.before, abs=1e-15)
    said = dict(data.stated)
    assert said["threshold"] == "grade >= 4"
    assert said["before: threshold"] == "grade >= 5"
    assert said["collection"] == "autumn"
    runs = context["sheet"].data
    assert runs.columns[:3] == ("run_tag", "rank_before", "rank_before_first")
    assert len(runs.rows) == len(context["sheet"].rows) == 4
