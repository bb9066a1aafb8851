"""Tables drawn as cells whose colour is the number that they show: a confusion, and topics by runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricweb.plots.svg import WIDTH, Plot, box, linked, shortened, text

LEFT, TOP, ROW = 62, 24, 34
TOTAL = 44
"""The width of the last column, with the sum of a row."""
BINS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where a share has the next colour."""
THIN = 16
NAMES = 110
"""The width of the labels of rows."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """The scores of one row; None is missing, which is not 0."""

    label: str
    scores: tuple[float | None, ...]
    href: str = ""


def shade(share: float) -> int:
    """Return the colour of a share, 0 to 5.

    >>> [shade(share) for share in (0.0, 0.1, 0.6, 1.0)]
    [0, 1, 3, 5]
    """
    return sum(share >= end for end in BINS)


def confusion(
    counts: Sequence[Sequence[int]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    name: str,
    sentence: str,
    corner: tuple[str, str],
) -> Plot:
    """Return how often each row met each column; colour is the share of the row. `corner` names both.

    >>> plot = confusion(
    ...     [[3, 1]], rows=["5"], columns=["0", "1"], name="c", sentence="", corner=("grade", "judged")
    ... )
    >>> "75 % of grade 5" in plot.body
    True
    """
    step = (WIDTH - LEFT - TOTAL) / max(1, len(columns))
    body = [text(LEFT - 8, TOP - 8, corner[1], "end"), text(WIDTH - 8, TOP - 8, "n", "end")]
    body += [text(LEFT + step * (n + 0.5), TOP - 8, label, "middle name") for n, label in enumerate(columns)]
    for place, (label, of_row) in enumerate(zip(rows, counts, strict=True)):
        top, total = TOP + ROW * place, sum(of_row)
        body.append(text(LEFT - 8, top + 21, f"{corner[0]} {label}", "end name"))
        for column, count in enumerate(of_row):
            share = count / total if total else 0.0
            title = f"{count:,} judged {columns[column]}: {100 * share:.0f} % of {corner[0]} {label}"
            left = LEFT + step * column
            body.append(box((left + 1, top + 1), (step - 2, ROW - 2), f"cell shade-{shade(share)}", title))
            kind = f"middle count on-{shade(share)}"
            body.append(text(left + step / 2, top + 21, f"{count:,}", kind))
        body.append(text(WIDTH - 8, top + 21, f"{total:,}", "end"))
    return Plot(name, sentence, TOP + ROW * len(rows) + 4, "".join(body))


def heat_map(rows: Sequence[HeatRow], columns: Sequence[str], *, name: str, sentence: str) -> Plot:
    """Return a row each with a cell a column: shares in six colours, dashed where one is missing.

    >>> plot = heat_map([HeatRow("bm25", (0.5, None))], ["t1", "t2"], name="h", sentence="")
    >>> plot.body.count("shade-3"), plot.body.count("missing")
    (1, 1)
    """
    step = min(THIN, (WIDTH - NAMES) / max(1, len(columns)))
    return Plot(name, sentence, 8 + THIN * len(rows), _heat_cells(rows, columns, step))


def labelled_heat_map(rows: Sequence[HeatRow], columns: Sequence[str], *, name: str, sentence: str) -> Plot:
    """Return the same for paper: as wide as its columns need, with their labels below.

    >>> plot = labelled_heat_map([HeatRow("bm25", (0.5,))], ["t1"], name="h", sentence="")
    >>> "rotate(60)" in plot.body, plot.width
    (True, 360)
    """
    bottom = 8 + THIN * len(rows)
    labels = [
        f'<g transform="translate({NAMES + THIN * column + 4} {bottom + 8}) rotate(60)">'
        f"{text(0, 0, shortened(label, 190))}</g>"
        for column, label in enumerate(columns)
    ]
    width = max(WIDTH, NAMES + THIN * len(columns) + 100)
    return Plot(name, sentence, bottom + 190, _heat_cells(rows, columns, THIN) + "".join(labels), width)


def _heat_cells(rows: Sequence[HeatRow], columns: Sequence[str], step: float) -> str:
    body = []
    for place, row in enumerate(rows):
        top = 4 + THIN * place
        label = text(NAMES - 6, top + 12, shortened(row.label, NAMES - 6), "end name")
        body.append(linked(label, row.href, row.label))
        for column, score in enumerate(row.scores):
            kind = "cell missing" if score is None else f"cell shade-{shade(score)}"
            stated = "no score" if score is None else f"{score:z.3f}"
            title = f"{row.label}, {columns[column]}: {stated}"
            body.append(box((NAMES + step * column, top), (step - 1, THIN - 1), kind, title))
    return "".join(body)
