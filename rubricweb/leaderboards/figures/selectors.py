"""What the figures draw, each as Plotly's JSON and as the table with the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.urls import reverse

from grading.arrays import none_if_nan, undefined_last
from grading.figures.base import Json
from grading.figures.comparison import Series, ordered, renormalised, scatter, several
from grading.figures.grades import grade_histogram
from grading.figures.leaderboard import Point, leaderboard_figure
from grading.figures.topics import heat_map, strip
from grading.formats.data_table import DataTable, Value, from_mappings
from grading.formats.sheets import PrintedTable, TextCell, number
from grading.statistics.influence import TIED_DECIMALS
from grading.types import MAX_RATING
from rubricweb.leaderboards.board import lookup, provenance
from rubricweb.leaderboards.board.columns import distinct_labels, parse_measure
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.board.types import Board, BoardError, BoardSpec
from rubricweb.leaderboards.board_page import WHISKERS
from rubricweb.leaderboards.meta.references import reference

Links = dict[str, str]


@dataclass(frozen=True, slots=True)
class Drawn:
    figure: Json
    sheet: PrintedTable
    says: str
    """What the figure shows, for those who do not see it."""


def intervals(of: Board, scored: ScoredBoard, links: Links) -> Drawn:
    """Return the runs with the intervals of their scores, best first."""
    rows = [row for row in of.rows if row.score is not None]
    points = [
        Point(row.run_tag, round(row.score or 0, TIED_DECIMALS), row.low, row.high, row.n_topics)
        for row in rows
    ]
    name = provenance.measure_name(of.spec)
    figure = leaderboard_figure(points, title="", score_label=f"{name} with {WHISKERS}")
    figure["data"][0]["customdata"] = [links.get(row.run_tag, "") for row in rows]  # type: ignore[index]
    figure["layout"]["margin"] |= {"t": 16, "b": 60}  # type: ignore[index]  # the page has the title
    cells = [
        (
            TextCell(row.run_tag, href=links.get(row.run_tag, "")),
            *(TextCell(number(value)) for value in (row.score, row.low, row.high)),
        )
        for row in rows
    ]
    lines = [{"run_tag": row.run_tag, name: row.score, "low": row.low, "high": row.high} for row in rows]
    heads = ("Run", name, "From", "To")
    sheet = PrintedTable("Runs with their intervals", heads, tuple(cells), data=_data(scored, lines))
    return Drawn(figure, sheet, f"Runs by {name} with their {WHISKERS}")


def against(scored: ScoredBoard, name: str, links: Links) -> Drawn:
    """Return the board's measure against another one."""
    x, y = _told_apart([scored, _under(scored.spec, name)], ["", name])
    rows = [
        (
            TextCell(tag, href=links.get(tag, "")),
            TextCell(number(x.scores[tag])),
            TextCell(number(y.scores[tag])),
        )
        for tag in ordered([x])
        if tag in y.scores
    ]
    data = _data(
        scored, [{"run_tag": tag, x.name: x.scores[tag], y.name: y.scores.get(tag)} for tag in x.scores]
    )
    sheet = PrintedTable("Measure against measure", ("Run", x.name, y.name), tuple(rows), data=data)
    return Drawn(scatter(x, y, links=links), sheet, f"Each run by {x.name} and by {y.name}")


def renormalised_boards(scored: ScoredBoard, names: Sequence[str], references: Sequence[str]) -> Drawn:
    """Several boards in one figure, each from 0 (its worst run) to 1 (its best)."""
    spec = scored.spec
    under = {name: _under(spec, name) for name in names}
    further = {name: one for name, one in under.items() if one.spec.measure != spec.measure}
    boards = _told_apart([scored, *further.values()], ["", *further])
    tags = set(scored.run_tags)
    for name in references:
        series = reference(scored.base, name, spec.measure, spec.collection.min_relevant)
        boards.append(Series(series.label, {tag: v for tag, v in series.values.items() if tag in tags}))
    scores = [renormalised(board.scores) for board in boards]
    rows = [
        (TextCell(tag), *(TextCell(number(series.get(tag))) for series in scores)) for tag in ordered(boards)
    ]
    lines = [
        {"run_tag": tag} | {board.name: series.get(tag) for board, series in zip(boards, scores, strict=True)}
        for tag in ordered(boards)
    ]
    heads = ("Run", *(board.name for board in boards))
    sheet = PrintedTable("Renormalised boards", heads, tuple(rows), data=_data(scored, lines))
    return Drawn(several(boards), sheet, "Runs by several boards, each renormalised to 0 and 1")


def topics_and_runs(scored: ScoredBoard) -> Drawn:
    """Return every run's score on every topic that counts; a click opens the topic's grid."""
    places, columns = _best_first(scored), _counted(scored)
    names = [scored.base.pool.topics[column].query_id for column in columns]
    tags = [scored.run_tags[run] for run in places]
    scores = [[none_if_nan(scored.table.scores[run, column]) for column in columns] for run in places]
    grids = [_grid(scored, scored.base.pool.topics[column].topic_id) for column in columns]
    label = provenance.measure_name(scored.spec)
    figure = heat_map(tags, names, scores, label=label, links=[grids] * len(tags))
    lines = [
        (TextCell(tag), *(TextCell(number(s)) for s in row)) for tag, row in zip(tags, scores, strict=True)
    ]
    data = _data(
        scored,
        [
            {"run_tag": tag, "topic": name, "score": score}
            for tag, row in zip(tags, scores, strict=True)
            for name, score in zip(names, row, strict=True)
        ],
    )
    sheet = PrintedTable("Topics and runs", ("Run", *names), tuple(lines), data=data)
    return Drawn(figure, sheet, f"{label} of each run on each topic")


def one_run(scored: ScoredBoard, run_tag: str) -> Drawn:
    """Return one run topic by topic, among the others; a click opens the topic's grid."""
    run = scored.run_tags.index(run_tag)
    columns = sorted(_counted(scored), key=lambda column: -scored.table.scores[run, column])
    topics = [scored.base.pool.topics[column] for column in columns]
    own = [none_if_nan(scored.table.scores[run, column]) for column in columns]
    rest = [place for place in range(len(scored.run_tags)) if place != run]
    others = [[none_if_nan(scored.table.scores[place, column]) for column in columns] for place in rest]
    label, names = provenance.measure_name(scored.spec), [topic.query_id for topic in topics]
    grids = [_grid(scored, topic.topic_id) for topic in topics]
    figure = strip(run_tag, names, own, others, label=label, links=grids)
    scores = scored.table.scores[:, columns]
    lines = [
        (
            TextCell(name, href=grid),
            TextCell(number(own[place])),
            TextCell(number(float(np.nanmean(scores[:, place])))),
            TextCell(number(float(np.nanmin(scores[:, place])))),
            TextCell(number(float(np.nanmax(scores[:, place])))),
        )
        for place, (name, grid) in enumerate(zip(names, grids, strict=True))
    ]
    heads = ("Topic", run_tag, "Mean of all", "Worst", "Best")
    sheet = PrintedTable(f"{run_tag} by topic", heads, tuple(lines), data=_by_topic(scored, run, columns))
    return Drawn(figure, sheet, f"{label} of {run_tag} on each topic, among all runs")


def grade_counts(scored: ScoredBoard) -> Drawn:
    """Return how often each grade was given to the board's items."""
    counts = np.zeros(MAX_RATING + 1, dtype=np.int64)
    for topic in scored.base.pool.topics:
        ratings = (
            scored.base.grades[topic.topic_id]
            .matrix.columns(scored.base.items.get(topic.topic_id, ()))
            .ratings
        )
        counts += np.bincount(ratings[ratings >= 0].ravel(), minlength=MAX_RATING + 1)[: MAX_RATING + 1]
    name, total = str(scored.spec.config), int(counts.sum())
    rows = [
        (TextCell(str(grade)), TextCell(f"{count:,}"), TextCell(number(count / total if total else None)))
        for grade, count in enumerate(counts.tolist())
    ]
    shares = (count / total if total else None for count in counts.tolist())
    lines = [
        {"grade": grade, "cells": count, "share": share}
        for grade, (count, share) in enumerate(zip(counts.tolist(), shares, strict=True))
    ]
    sheet = PrintedTable("Grades", ("Grade", "Cells", "Share"), tuple(rows), data=_data(scored, lines))
    return Drawn(grade_histogram({name: counts.tolist()}), sheet, f"How often {name} gave each grade")


def _by_topic(scored: ScoredBoard, run: int, columns: Sequence[int]) -> DataTable:
    """Return one run topic by topic, beside all runs."""
    scores = scored.table.scores
    lines: list[dict[str, Value]] = [
        {
            "topic": scored.base.pool.topics[column].query_id,
            "score": none_if_nan(scores[run, column]),
            "mean": float(np.nanmean(scores[:, column])),
            "worst": float(np.nanmin(scores[:, column])),
            "best": float(np.nanmax(scores[:, column])),
        }
        for column in columns
    ]
    return from_mappings(lines, [*provenance.scored_statements(scored), ("run", scored.run_tags[run])])


def _data(scored: ScoredBoard, lines: Sequence[Mapping[str, Value]]) -> DataTable:
    return from_mappings(lines, provenance.scored_statements(scored))


def _under(spec: BoardSpec, name: str) -> ScoredBoard:
    """Return the same board by another measure. Raises BoardError where it has no meaning for the grader."""
    measure = lookup.check_measure(spec.config, parse_measure(name, spec.measure))
    return scored_board(replace(spec, measure=measure))


def _told_apart(boards: Sequence[ScoredBoard], names: Sequence[str]) -> list[Series]:
    """Return the scores of boards that differ by their measures, each with a label of its own."""
    measures = [board.spec.measure for board in boards]
    labels = distinct_labels(zip(names, measures, strict=True))
    return [
        Series(label, {tag: score for tag, score in board.by_run.items() if not np.isnan(score)})
        for label, board in zip(labels, boards, strict=True)
    ]


def _best_first(scored: ScoredBoard) -> list[int]:
    means = scored.means.tolist()
    return sorted(range(len(means)), key=lambda run: (-undefined_last(means[run]), scored.run_tags[run]))


def _counted(scored: ScoredBoard) -> list[int]:
    if not len(scored.run_tags):
        raise BoardError("grader", "no runs: import them first")
    return [int(column) for column in np.flatnonzero((~np.isnan(scored.table.scores)).any(axis=0))]


def _grid(scored: ScoredBoard, topic_id: int) -> str:
    bank = scored.spec.bank
    return reverse("editor:topic", args=[bank.pk, topic_id], query={"view": "grid"}) if bank else ""
