"""Every plot is valid SVG without inline styles, names its marks, and stands by itself as a file."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree as ET

import pytest

from rubricweb.plots import Plot, Point, Scale, nice_ticks, scatter
from rubricweb.plots.cells import (
    Bars,
    DotRow,
    Frame,
    HeatRow,
    Level,
    confusion,
    dot_rows,
    heat_map,
    levels,
    tornado,
)

HOSTILE = '<script>"&'
FRAME = Frame(
    (HOSTILE, "1"), (0.0, 0.5, 1.0), ("grade", "share"), notes=("n 3", "4"), shaded_from=1, shaded="on"
)


def plots() -> dict[str, Plot]:
    names = {"name": "p", "sentence": HOSTILE}
    points = [
        Point(HOSTILE, 0.1, 0.2, is_named=True, href="/a?b=1&c=2"),
        Point("b", 0.5, 0.4, 1, is_out=True),
    ]
    marks = [Level(0, 0.5, 0.2, 0.8, HOSTILE, "/x"), Level(1, None), Level(1, 0.5, series=3, is_hollow=True)]
    bars = [Bars(HOSTILE * 9, -0.5, 0.2, HOSTILE, "b", "/item")]
    return {
        "scatter": scatter(points, axes=(HOSTILE, "y"), **names),
        "levels": levels(marks, FRAME, **names),
        "rows": dot_rows([DotRow(HOSTILE, 0.4, 0.2, 0.6, 0.3, "/run")], axis="score", **names),
        "tornado": tornado(bars, heads=("loses", "gains"), **names),
        "confusion": confusion(
            [[1, 0]], rows=["5"], columns=[HOSTILE, "1"], corner=("grade", "judged"), **names
        ),
        "heat": heat_map([HeatRow(HOSTILE, (0.5, None))], ["t1", HOSTILE], **names),
    }


@pytest.mark.parametrize("kind", plots())
def test_plots_are_xml_and_keep_to_the_content_policy(kind):
    plot = plots()[kind]
    assert ET.fromstring(plot.svg).get("aria-label") == HOSTILE
    assert not re.search(r"\sstyle=|<script|\son\w+=", plot.svg)


@pytest.mark.parametrize("kind", plots())
def test_a_plot_as_a_file_has_its_colours_and_no_links(kind):
    file = plots()[kind].file
    root = ET.fromstring(file)
    assert root.find("{*}title").text == HOSTILE
    styles = root.find("{*}style").text
    assert ".plot .shade-5 { fill: #123f73; }" in styles
    assert "var(" not in styles
    assert root.find(".//{*}a") is None
    drawn = {name for node in root.iter() for name in (node.get("class") or "").split()}
    plain = {"cell", "bar", "series-0"} | {f"on-{shade}" for shade in range(4)}
    assert not {name for name in drawn - plain if f".{name}" not in styles}


@pytest.mark.parametrize("kind", ["scatter", "levels", "rows", "tornado"])
def test_marks_that_open_something_are_named_links(kind):
    links = ET.fromstring(plots()[kind].svg).findall(".//a")
    assert links
    assert all(link.get("href") and HOSTILE in link.get("aria-label") for link in links)


def test_a_plot_with_links_is_a_group_and_else_an_image():
    assert ET.fromstring(plots()["scatter"].svg).get("role") == "group"
    assert ET.fromstring(plots()["confusion"].svg).get("role") == "img"


def test_equal_axes_put_equal_numbers_on_the_diagonal():
    plot = scatter([Point("a", 0.2, 0.2), Point("b", 0.7, 0.1)], name="s", sentence="", axes=("x", "y"))
    start, end = (
        [float(number) for number in re.findall(r"[\d.]+", part)]
        for part in re.search(r'd="M([^L"]+)L([^"]+)" class="diagonal"', plot.body).groups()
    )
    x, y = (float(number) for number in re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)"', plot.body).groups())
    assert (x - start[0]) / (end[0] - start[0]) == pytest.approx(
        (y - start[1]) / (end[1] - start[1]), abs=0.001
    )


def test_names_of_close_points_do_not_cover_each_other():
    points = [Point(f"run_{n}", 0.5, 0.5 + n / 1_000, is_named=True) for n in range(3)] + [
        Point("far", 0.0, 0.0)
    ]
    plot = scatter(points, name="s", sentence="", axes=("x", "y"))
    places = re.findall(r'<text dir="auto" x="([\d.]+)" y="([\d.]+)" class="name">run_', plot.body)
    assert len(places) == len(set(places)) == 3


def test_what_is_missing_is_not_drawn_as_zero():
    drawn = heat_map([HeatRow("a", (0.0, None))], ["t1", "t2"], name="h", sentence="").body
    assert drawn.count("shade-0") == 1
    assert "a, t2: no score" in drawn
    assert "<circle" not in dot_rows([DotRow("a", None)], name="r", sentence="", axis="s").body


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 250), (0.4444, 0.4445), (5, 5), (0, 0)])
def test_ticks_span_the_numbers_in_even_steps(low, high):
    ticks = nice_ticks(low, high)
    assert ticks[0] <= low <= high <= ticks[-1]
    steps = {round(b - a, 8) for a, b in itertools.pairwise(ticks)}
    assert len(steps) == 1
    assert len(ticks) <= 8


def test_a_scale_stops_at_its_ends():
    assert Scale(0, 1, 10, 20)(7) == 20
