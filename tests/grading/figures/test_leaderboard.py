"""The leaderboard figure is Plotly JSON that works on a light and on a dark page."""

import json

import plotly.graph_objects as go

from grading.figures.leaderboard import Point, leaderboard_figure

ROWS = [
    Point("bm25", 0.5, 0.25, 0.625, 25),
    Point("best<b>", 0.9, None, None, 1),
    Point("undefined", None, None, None, 0),
    Point("tied", 0.5, float("nan"), float("nan"), 25),
]


def figure(**theme):
    return leaderboard_figure(ROWS, title="R&D", score_label="Rubric-Cover@20", theme=theme or None)


def test_points_are_sorted_with_the_best_on_top():
    points, axis = figure()["data"][0], figure()["layout"]["yaxis"]
    assert points["x"] == [0.9, 0.5, 0.5]
    assert axis["ticktext"] == ["best&lt;b&gt;", "bm25", "tied"]
    assert axis["range"][0] > axis["range"][1], "the first row is at the top"


def test_whiskers_are_the_interval_and_hover_says_it():
    points = figure()["data"][0]
    assert (points["error_x"]["arrayminus"], points["error_x"]["array"]) == (
        [0.0, 0.25, 0.0],
        [0.0, 0.125, 0.0],
    )
    assert points["text"][1] == "bm25<br>Rubric-Cover@20 0.500 (0.250 to 0.625)<br>25 topics"
    assert points["text"][0].endswith("0.900<br>1 topic")


def test_colours_are_the_page_s_unless_given():
    plain = json.dumps(figure())
    assert "#" not in plain
    assert plain.count("rgba(0,0,0,0)") == 2
    themed = figure(text="#eee", grid="#444", mark="#7ab")
    assert themed["layout"]["font"] == {"color": "#eee"}
    assert themed["layout"]["xaxis"]["gridcolor"] == themed["layout"]["yaxis"]["gridcolor"] == "#444"
    assert themed["data"][0]["marker"]["color"] == themed["data"][0]["error_x"]["color"] == "#7ab"


def test_plotly_knows_every_property():
    whole = figure(text="#eee", grid="#444", mark="#7ab")
    built = go.Figure(data=whole["data"], layout=whole["layout"])
    assert json.loads(built.to_json())["layout"]["title"]["text"] == "R&amp;D"


def test_a_board_without_runs_is_still_a_figure():
    empty = leaderboard_figure([], title="", score_label="")
    assert empty["data"][0]["x"] == []
    go.Figure(data=empty["data"], layout=empty["layout"])
