"""A board as files with a row for each run, topic and measure, which other tools of the field read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from grading.formats.leaderboards import ALL, TABLES, LeaderboardRow, json_lines, table_lines, trec_eval_lines
from grading.statistics.mean_intervals import mean_and_stderr
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board.scores import Basis, basis, column_basis, score_column, score_units
from rubricweb.leaderboards.board.types import BoardSpec

FORMATS: dict[str, Callable[[Iterable[LeaderboardRow]], Iterator[str]]] = {
    **{columns.name: partial(table_lines, columns=columns) for columns in TABLES if columns.is_written},
    "trec_eval": trec_eval_lines,
    "jsonl": json_lines,
}
"""Their lines by name."""
MEASURES = "eval.measures.yml"
"""The ending of the file that AutoJudge's tools put beside a leaderboard."""
LOSSES = (
    "standard errors, intervals and rank intervals",
    "what the board is based on: grader, rubric, threshold, version",
    "topics that count for no mean: they have no row",
    "blanks in pseudonyms of runs: they become hyphens",
)
"""What none of these formats can say of a board."""


def lines(spec: BoardSpec, form: str) -> list[str]:
    """Return the lines of a file of that format. Raises `BadFormat` for a name with white space."""
    return list(FORMATS[form](value_rows(spec)))


def measures_lines(spec: BoardSpec) -> list[str]:
    """Return the file that names the measures of a leaderboard, with the type of their values and in words.

    Names and words are quoted as in JSON, which YAML reads.
    """
    names = {measure_token(spec.measure): _described(spec.measure, spec.measure.label_with_threshold)}
    for column in spec.columns:
        if column.token not in names:
            text = column.label if column.support else _described(column.measure, column.label)
            names[column.token] = text
    return [
        "measures:",
        *(
            line
            for name, text in names.items()
            for line in (
                f"- name: {json.dumps(name)}",
                "  dtype: float",
                f"  description: {json.dumps(text)}",
            )
        ),
    ]


def _described(measure: MeasureSpec, label: str) -> str:
    """Return the label, and the name in the other spelling."""
    return f"{label}, in other spelling {measure.other_name}" if measure.other_name else label


def value_rows(spec: BoardSpec) -> Iterator[LeaderboardRow]:
    """Yield every score of the board and its further columns, and of each run the mean as topic `all`.

    A topic that counts for no mean has no row, as on the board. Pseudonyms get a hyphen for their space,
    since readers of these files split their lines at white space.
    """
    base = basis(spec)
    scores = {measure_token(spec.measure): (_units(base), score_units(base, spec.measure).scores)}
    for column in spec.columns:
        if column.token not in scores:
            of = column_basis(base, column)
            scores[column.token] = (_units(of), score_column(of, column).scores)
    for place, run_tag in enumerate(base.pool.run_tags):
        for name, (units, table) in scores.items():
            yield from _of_run(run_tag.replace(" ", "-"), name, table[place], units)


def measure_token(measure: MeasureSpec) -> str:
    """Return the measure's name with what it depends on, as `--columns` takes it: `rubric_cover@20:4`.

    A name of ir_measures is kept as it was typed.
    """
    if measure.spelling:
        return measure.spelling
    cutoff = "" if measure.uses_labels else f"@{measure.cutoff}"
    return f"{measure.name}{cutoff}:{measure.min_grade}"


def _of_run(
    run_tag: str, name: str, scores: NDArray[np.float64], units: list[str]
) -> Iterator[LeaderboardRow]:
    for unit, score in zip(units, scores.tolist(), strict=True):
        if score == score:
            yield LeaderboardRow(run_tag, unit, name, score)
    mean = float(mean_and_stderr(scores[np.newaxis]).mean[0])
    if mean == mean:
        yield LeaderboardRow(run_tag, ALL, name, mean)


def _units(base: Basis) -> list[str]:
    """Return the names of what the mean goes over: topics, or `topic/subtopic` on a board of one topic."""
    if not (base.spec.by_subtopic and base.spec.topic):
        return [topic.query_id for topic, _ in base.units()]
    return [
        "/".join(filter(None, (topic.query_id, next(iter(items.facets), ""))))
        for topic, items in base.units()
    ]
