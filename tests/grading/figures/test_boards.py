"""Figures say what their tables say: plain dicts, checked by Plotly's own validators."""

import json

import plotly.graph_objects as go
import pytest

from grading.figures.comparison import Series, ordered, renormalised, scatter, several
from grading.figures.grades import grade_histogram
from grading.figures.topics import heat_map, strip

P, R = Series("P_20", {"a": 0.2, "b<i>": 0.8, "c": 0.5}), Series("cover", {"a": 1.0, "b<i>": 3.0, "d": 2.0})
FIGURES = {
    "scatter": scatter(P, R, links={"a": "/runs/1/"}),
    "several": several([P, R]),
    "histogram": grade_histogram({"one": [4, 0, 0, 0, 2, 1], "none": [0, 0]}),
    "heat map": heat_map(
        ["a", "b"], ["t1", "t2"], [[0.5, None], [1, 0]], label="P", links=[["x", "y"], ["", ""]]
    ),
    "strip": strip("a", ["t1", "t2"], [0.5, None], [[1, 0]], label="P", links=["/grid/1/", "/grid/2/"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_takes_them(name):
    figure = FIGURES[name]
    go.Figure(data=figure["data"], layout=figure["layout"])
    assert json.loads(json.dumps(figure, allow_nan=False)) == figure


def test_scatter_has_the_runs_of_both():
    points = FIGURES["scatter"]["data"][0]
    assert points["text"] == ["a", "b&lt;i&gt;"]
    assert (points["x"], points["y"]) == ([0.2, 0.8], [1.0, 3.0])
    assert points["customdata"] == ["/runs/1/", ""]


def test_a_topic_that_a_run_lacks_has_no_square():
    squares = FIGURES["heat map"]["data"][0]
    assert list(zip(squares["x"], squares["y"], squares["marker"]["color"], strict=True)) == [
        ("t1", "a", 0.5),
        ("t1", "b", 1),
        ("t2", "b", 0),
    ]
    assert squares["customdata"] == ["x", "", ""]
    assert FIGURES["heat map"]["layout"]["yaxis"]["categoryarray"] == ["b", "a"]


def test_renormalised_boards_go_from_0_to_1():
    assert ordered([P, R]) == ["b<i>", "c", "a", "d"]
    first, second = FIGURES["several"]["data"]
    assert first["y"] == [1.0, 0.5, 0.0, None]
    assert second["y"] == [1.0, None, 0.0, 0.5]
    assert renormalised({"a": 2.0, "b": 2.0}) == {"a": 0.0, "b": 0.0}
    assert renormalised({}) == {}
    assert several([])["data"] == []


def test_histogram_has_shares():
    bars, none = FIGURES["histogram"]["data"]
    assert bars["y"] == pytest.approx([4 / 7, 0, 0, 0, 2 / 7, 1 / 7])
    assert none["y"] == [0.0, 0.0]


def test_strip_has_the_run_over_the_others():
    crowd, own = FIGURES["strip"]["data"]
    assert (crowd["x"], crowd["y"]) == (["t1", "t2"], [1, 0])
    assert (own["y"], own["customdata"]) == ([0.5, None], ["/grid/1/", "/grid/2/"])
