"""Plots of comparisons, by hand."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from rubricweb.leaderboards import plots
from rubricweb.leaderboards.comparison import redrawn_means


@pytest.mark.parametrize(
    ("difference", "bar"),
    [(0.2, (50.0, 20.0, "a")), (-0.5, (0.0, 50.0, "b")), (0.0004, (50.0, 0.0, "equal"))],
)
def test_bar_goes_right_for_a_and_left_for_b(difference, bar):
    drawn = plots.bar(difference, 0.5)
    assert (drawn.x, drawn.width, drawn.side) == bar


def test_axis_of_differences_ends_at_the_next_tenth():
    assert [plots.limit_of(values) for values in ([], [0.3], [-0.31, 0.2])] == [0.1, 0.3, 0.4]
    assert [label for _, label in plots.symmetric_ticks(0.4)] == [
        "\N{MINUS SIGN}0.4",
        "\N{MINUS SIGN}0.2",
        "0.0",
        "+0.2",
        "+0.4",
    ]


@pytest.mark.parametrize("span", [0.011, 0.1, 0.19, 0.55, 0.99, 1.0, 1.7])
def test_axes_have_a_few_round_ticks(span):
    assert 3 <= len(plots.nice_ticks(0.0, span)) <= 7


def test_distribution_changes_colour_at_0():
    means = redrawn_means(np.array([0.3, 0.1, -0.2, 0.2, 0.1, -0.1]))
    drawn = plots.distribution(means, (-0.05, 0.2))
    assert {one.side for one in drawn.columns if one.x + one.width <= drawn.zero + 0.1} == {"b"}
    assert {one.side for one in drawn.columns if one.x >= drawn.zero - 0.1} == {"a"}
    assert max(one.height for one in drawn.columns) == 100
    assert drawn.band[0] < drawn.zero < sum(drawn.band)
    assert all(0 <= place <= 100 for place, _ in drawn.ticks)


def test_dots_share_an_axis_around_all_scores():
    axis = plots.dots_axis([0.36, 0.65])
    assert (plots.dots(0.3, 0.7, axis).then, plots.dots(0.3, 0.7, axis).now) == (3, 97)
    assert plots.dots(0.6, 0.4, axis).start < plots.dots(0.6, 0.4, axis).then


@pytest.mark.parametrize(
    "svg",
    [
        plots.bars_file("A & B", [("t1 <why>", 0.2), ("t2", 0.0), ("t3" * 40, -0.1)], ("A", "<B>")),
        plots.distribution_file("A & B", plots.distribution(np.linspace(-0.1, 0.3, 99), (0.0, 0.2))),
        plots.dots_file("Then & now", [("<run>", 0.2, 0.4), ("same", 0.3, 0.3)]),
    ],
)
def test_files_are_well_formed_and_need_no_style_sheet(svg):
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    assert root.find("{*}title").text
    styles = root.find("{*}style").text
    assert "var(" not in styles
    drawn = {name for element in root.iter() for name in element.get("class", "").split()}
    assert not {name for name in drawn - {"series-0"} if f".{name}" not in styles}


def test_files_draw_what_their_numbers_say():
    bars = plots.bars_file("by topic", [("t1", 0.2), ("t2", 0.0), ("t3", -0.1)], ("A", "B"))
    marks = [
        (one.get("class"), float(one.get("x")), float(one.get("width"))) for one in _of(bars, "rect")[1:]
    ]
    (_, zero, long), (_, left, short) = marks
    assert [kind for kind, _, _ in marks] == ["plus", "minus"], "A is better to the right, B to the left"
    assert left + short == pytest.approx(zero, abs=0.2)
    assert long == pytest.approx(2 * short, abs=0.2)
    assert [one.get("class") for one in _of(bars, "circle")] == ["dot series-0 hollow"], "no difference"
    texts = [one.text for one in _of(plots.dots_file("runs", [("r", 0.2, 0.45)]), "text")]
    assert "+0.250" in texts
    then, now = _of(plots.dots_file("runs", [("r", 0.2, 0.45)]), "circle")
    assert ("hollow" in then.get("class"), "lead" in now.get("class")) == (True, True)
    assert float(then.get("cx")) < float(now.get("cx"))


def _of(svg, tag):
    return ET.fromstring(svg).findall(f".//{{*}}{tag}")
