"""How often each grade was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grading.figures.base import COLOURS, Json, figure, plain, titled


def grade_histogram(counts: Mapping[str, Sequence[int]]) -> Json:
    """Grader -> how often it gave 0, 1, ...; drawn as shares, so that few grades stand beside many.

    >>> grade_histogram({"m": [1, 3]})["data"][0]["y"]
    [0.25, 0.75]
    """
    data = []
    for place, (name, frequencies) in enumerate(counts.items()):
        total = sum(frequencies)
        trace: Json = {
            "type": "bar",
            "name": plain(name),
            "x": [str(grade) for grade in range(len(frequencies))],
            "y": [count / total if total else 0.0 for count in frequencies],
            "text": [f"{count:,}" for count in frequencies],
            "textposition": "none",
            "marker": {"color": COLOURS[place % len(COLOURS)]},
            "hovertemplate": f"{plain(name)}<br>grade %{{x}}: %{{text}} (%{{y:.1%}})<extra></extra>",
        }
        data.append(trace)
    return figure(data, {"type": "category", **titled("grade")}, titled("share of grades"), height=380)
