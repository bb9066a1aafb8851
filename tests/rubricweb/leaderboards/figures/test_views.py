"""Figures, each beside the table that says the same."""

import html
import json
import re

import pytest
from django.urls import reverse

from rubricweb.corpus.models import OfficialScore
from tests import factories
from tests.rubricweb.markup import markup
from tests.worked import judge

pytestmark = pytest.mark.portable

PAGE = "/leaderboards/autumn/figures/"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def figure_of(response):
    found = re.search(r'id="figure-json" type="application/json">(.*?)</script>', markup(response))
    return json.loads(found[1])["data"]


def cells_of(response):
    body = re.search(r"<tbody>(.*?)</tbody>", markup(response), re.DOTALL)[1]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [
        [
            html.unescape(re.sub(r"<[^>]*>", "", c)).strip()
            for c in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)
        ]
        for row in rows
    ]


def test_renormalised_boards_with_an_official_one(made, viewer, client_of):
    for run_tag, rank in (("both", 1), ("stray", 2), ("first", 3), ("elsewhere", 4)):
        OfficialScore.objects.create(
            collection=made.collection, board="TREC", run_tag=run_tag, value=rank, is_rank=True
        )
    response = client_of(viewer).get(PAGE, {"others": "P_2"})
    assert cells_of(response) == [
        ["both", "1.000", "1.000", "1.000"],
        ["stray", "0.333", "0.000", "0.500"],
        ["first", "0.000", "0.000", "0.000"],
        ["lacks", "0.000", "0.000", "\N{EN DASH}"],
    ]
    drawn = figure_of(response)
    assert [trace["name"] for trace in drawn] == ["Rubric-Cover@20", "P_2", "TREC (ranks)"]
    assert drawn[2]["y"] == [1.0, 0.5, 0.0, None]


def test_measure_against_measure_links_to_runs(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"view": "scatter", "against": "P_2"})
    (points,) = figure_of(response)
    assert points["text"] == ["both", "first", "lacks", "stray"]
    assert points["x"] == [1, 0.25, 0.25, 0.5]
    run = made.collection.runs.get(run_tag="both")
    assert points["customdata"][0].startswith(reverse("leaderboards:run", args=["autumn", run.pk]))
    assert [row[0] for row in cells_of(response)] == ["both", "stray", "first", "lacks"]


def test_measures_have_short_names_here_too(made, viewer, client_of):
    client, ge = client_of(viewer), "\N{GREATER-THAN OR EQUAL TO}"
    response = client.get(PAGE, {"others": "cover-1 P_2:5 rubric_cover"})
    names = [trace["name"] for trace in figure_of(response)]
    assert names == [f"Rubric-Cover@20 {ge} 4", f"Rubric-Cover@20 {ge} 1", "P_2"]
    (points,) = figure_of(client.get(PAGE, {"view": "scatter", "against": "cover-1"}))
    assert points["y"] == [1, 0.75, 0.25, 0.75]


def test_runs_with_their_intervals(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"view": "intervals"})
    (points,) = figure_of(response)
    assert points["x"] == [1, 0.5, 0.25, 0.25]
    assert [text.split("<")[0] for text in points["text"]] == ["both", "stray", "first", "lacks"]
    run = made.collection.runs.get(run_tag="both")
    assert points["customdata"][0].startswith(reverse("leaderboards:run", args=["autumn", run.pk]))
    assert cells_of(response)[1] == ["stray", "0.500", *2 * ["\N{EN DASH}"]]


def test_topics_and_runs_lead_to_the_grid(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"view": "heat"})
    (squares,) = figure_of(response)
    grid = reverse("editor:topic", args=[made.bank.pk, made.topics["t1"].pk], query={"view": "grid"})
    assert (squares["x"][0], squares["y"][0], squares["customdata"][0]) == ("t1", "both", grid)
    assert cells_of(response)[1] == ["stray", "0.000", "1.000"]


def test_one_run_by_topic(made, viewer, client_of):
    client = client_of(viewer)
    assert cells_of(client.get(PAGE, {"view": "strip"}))[0][:2] == ["t1", "1.000"]
    response = client.get(PAGE, {"view": "strip", "run": "stray"})
    assert cells_of(response) == [
        ["t2", "1.000", "0.500", "0.000", "1.000"],
        ["t1", "0.000", "0.500", "0.000", "1.000"],
    ]
    assert figure_of(response)[1]["y"] == [1, 0]


def test_grades(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"view": "grades"})
    assert [row[1] for row in cells_of(response)] == ["2", "0", "1", "1", "2", "1"]
    assert figure_of(response)[0]["y"][4] == pytest.approx(2 / 7)


def test_a_figure_as_a_file_of_its_own(made, viewer, outsider, client_of):
    address = reverse("leaderboards:figure-file", args=["autumn"])
    response = client_of(viewer).get(address, {"view": "heat"})
    assert response["Content-Disposition"] == 'attachment; filename="autumn-heat.html"'
    content = response.content.decode()
    assert "Plotly.newPlot" in content
    assert len(content) > 1_000_000, "it brings plotly.js with it"
    assert "https://cdn" not in content[:2000]
    assert "denominator" in content
    assert client_of(outsider).get(address).status_code == 404
    assert client_of(viewer).get(address, {"min_grade": "9"})["Location"].startswith(PAGE)


def test_what_is_wrong_is_said(made, viewer, client_of):
    client = client_of(viewer)
    for query, message in (
        ({"view": "scatter", "against": "precision"}, "no measure"),
        ({"others": "P_1 P_2 P_3 P_4 P_5 P_6"}, "expected at most 5"),
        ({"view": "strip", "run": "nobody"}, "not one of the available choices"),
    ):
        response = client.get(PAGE, query)
        assert response.status_code == 422
        assert message in text(response)


def test_roles_parts_and_empty_collections(made, viewer, outsider, client_of):
    judge(made)
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.post(PAGE).status_code == 405
    part = client.get(PAGE, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="figures"')
    made.collection.runs.all().delete()
    made.collection.stamp += 1
    made.collection.save()
    assert "no runs yet" in text(client.get(PAGE))
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    assert "No grades yet" in text(client.get("/leaderboards/empty/figures/"))
