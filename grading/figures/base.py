"""The common parts of all figures: colours that work on light and dark, a frame, plain text."""

from __future__ import annotations

from collections.abc import Mapping

Json = dict[str, object]
"""Plotly's JSON: nested dicts."""

COLOURS = ("#2f7fc1", "#c8681a", "#2e9a63", "#a65bc0", "#c0504d", "#7d7f1f")
"""At least 3 to 1 against white and against our dark surface; symbols differ too."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
TRANSPARENT = "rgba(0,0,0,0)"


def figure(data: list[Json], x: Mapping[str, object], y: Mapping[str, object], *, height: int) -> Json:
    """Plotly's `data`, `layout` and `config`.

    >>> figure([], {"title": {"text": "x"}}, {}, height=300)["layout"]["xaxis"]["automargin"]
    True
    """
    layout: Json = {
        "xaxis": {"automargin": True, "zeroline": False, **x},
        "yaxis": {"automargin": True, "zeroline": False, **y},
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 16, "b": 48},
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "hovermode": "closest",
        "barmode": "group",
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    }
    return {"data": data, "layout": layout, "config": {"responsive": True, "displaylogo": False}}


def titled(text: str) -> Json:
    return {"title": {"text": plain(text)}}


def plain(text: str) -> str:
    """Plotly reads a few HTML tags in text; a run tag is never one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
