"""The five pictures: each with its finding as a title, what it stands on, and the same numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from django.urls import reverse

from grading.formats.tables import PrintedTable, TextCell, Value, number
from grading.statistics.influence import ranks
from grading.statistics.max_t import MIN_TOPICS
from grading.statistics.mean_intervals import wilson
from grading.statistics.rank_intervals import standings
from grading.types import MIN_RATING, Purpose
from rubricweb.core.formatting import counted
from rubricweb.grades.configs import scale_of
from rubricweb.leaderboards import agreement_tables, sure as findings
from rubricweb.leaderboards.agreement import lowest
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.columns import changed
from rubricweb.leaderboards.board.selectors import of_judgments
from rubricweb.leaderboards.influence import InfluenceRow, Texts, item_influences, items_table
from rubricweb.leaderboards.meta import JUDGMENTS, CorrelationCell, Reference, correlation_cell
from rubricweb.leaderboards.sheets import SheetColumn, plain_sheet, sheet
from rubricweb.leaderboards.sure import KENDALL, Evidence, RatingPairs, interval_facts
from rubricweb.plots import Fact, Picture, Point, scatter
from rubricweb.plots.cells import Bars, Frame, Level, confusion, levels, tornado

MOST_ITEMS = 8
"""Items of the tornado; its file has all."""
COSTLY = 0.01
"""A run is named whose place costs Kendall's tau this much."""


def order(evidence: Evidence) -> Picture:
    """Return the runs by the other board and by this one."""
    other, cell, scored = evidence.other, evidence.cell, evidence.scored
    if other is None or cell is None:
        slug = evidence.spec.collection.slug
        title = "Nothing to compare the order with"
        subtitle = "Import people's judgments, or upload the scores of an official board below."
        return Picture(
            "order", title, subtitle, href=reverse("imports:imports", args=[slug]), button="Import"
        )
    of_run = {tag: score for tag, score in scored.by_run.items() if tag in other.values and score == score}
    tags = sorted(of_run, key=lambda tag: -scored.merit_by_run[tag])
    costly = {cost.run_tag for cost in cell.costs if cost.cost >= COSTLY}
    pages = dict(zip(scored.base.pool.run_tags, scored.base.pool.run_pks, strict=True))
    points = [
        Point(
            tag,
            other.values[tag],
            of_run[tag],
            is_named=tag in costly or place < 2,
            is_out=tag in costly,
            href=evidence.run_page(pages[tag]),
        )
        for place, tag in enumerate(tags)
    ]
    for series, config in enumerate(evidence.others, start=1):
        by_other = evidence.by(config).by_run
        points += [
            Point(f"{tag} by {config.label}", other.values[tag], by_other[tag], series)
            for tag in tags
            if by_other[tag] == by_other[tag]
        ]
    is_equal = all(0 <= value <= 1 for point in points for value in (point.x, point.y))
    x_name = other.label if evidence.against != JUDGMENTS else "people"
    theirs, ours = of_judgments(evidence.spec.measure), evidence.spec.measure
    subtitle = "One dot per run. Named: the first two, and those that disagree most."
    if evidence.against == JUDGMENTS and theirs == ours:
        subtitle = "One dot per run. Above the diagonal the grader gives more than people do."
    elif evidence.against == JUDGMENTS:
        x_name = f"people, {theirs.label}"
    title = findings.order(evidence.tau, evidence.n_runs, evidence.whose)
    plot = scatter(points, name="order", sentence=title, axes=(x_name, "grader"), is_equal=is_equal)
    facts = (evidence.runs_fact, *interval_facts(cell.interval(KENDALL)))
    return Picture("order", title, subtitle, plot, facts, partial(_order_sheet, evidence, tags, other))


def _order_sheet(evidence: Evidence, tags: Sequence[str], other: Reference) -> PrintedTable:
    by_run, pages = evidence.scored.by_run, evidence.scored.base.pool
    places = [
        ranks(np.array([values[tag] for tag in tags])).tolist() if tags else []
        for values in (evidence.scored.merit_by_run, other.values)
    ]
    address = dict(zip(pages.run_tags, pages.run_pks, strict=True))
    columns: list[SheetColumn[tuple[str, Value, Value]]] = [
        SheetColumn(
            "Run",
            "run_tag",
            lambda row: row[0],
            lambda row: TextCell(row[0], href=evidence.run_page(address[row[0]])),
        ),
        SheetColumn("Grader", "grader", lambda row: by_run[row[0]]),
        SheetColumn("People", "people", lambda row: other.values[row[0]]),
        SheetColumn("Rank", "rank", lambda row: row[1]),
        SheetColumn("Their rank", "their_rank", lambda row: row[2]),
    ]
    return sheet(
        "Runs by grader and people",
        columns,
        list(zip(tags, *places, strict=True)),
        evidence.stated(("compared with", other.label)),
        comments=(other.label,),
    )


def judged(evidence: Evidence) -> Picture:
    """Return the grader's labels of passages by their judgments."""
    agreement, spec = evidence.agreement, evidence.spec
    low, relevant = lowest(agreement.labeller, spec.measure.min_grade), spec.collection.min_relevant
    counts, binary = agreement.counts, evidence.binary
    n = int(counts.sum())
    if not n:
        title = "No passage has both a grade and a judgment"
        href = reverse("imports:imports", args=[spec.collection.slug])
        return Picture("judged", title, "Judgments come as qrels.", href=href, button="Import judgments")
    grades = findings.grades_from(low, agreement.labels[0])
    title = findings.precision(int(binary[0, 0]), int(binary[0].sum()), n, grades)
    subtitle = "Best grade of a passage against its judgment; colour: share of the row."
    plot = confusion(
        counts[:, ::-1].tolist(),
        rows=[str(label) for label in agreement.labels],
        columns=[str(level) for level in reversed(agreement.judgments)],
        name="judged",
        sentence=title,
        corner=("grade", "judged"),
    )
    kappa, spread = agreement.kappa(low, relevant), agreement.interval(low, relevant)
    facts = [Fact("n", counted(n, "passage")), Fact("right: judged", f"{relevant} or more")]
    facts += [Fact(agreement_tables.SIGN, f"{kappa:z.2f}")] if kappa is not None else []
    table = partial(agreement_tables.graded, agreement, min_relevant=relevant)
    return Picture("judged", title, subtitle, plot, (*facts, *interval_facts(spread)), table)


def confirmed(evidence: Evidence) -> Picture:
    """Return the share of each grade's pairs, drawn at random, that people call covered."""
    spec, name = evidence.spec, "confirmed"
    if spec.bank is None:
        return Picture(name, "This grader rates no items", "It labels passages; there are no pairs to check.")
    drawn = evidence.drawn(spec.config)
    if drawn is None:
        return Picture(name, "Hidden until you have rated your blind pairs", "These numbers include them.")
    low, top = spec.measure.min_grade, scale_of(spec.config)[1]
    by_grade = _by_grade(drawn, low, top)
    n = sum(cells for _, cells, _ in by_grade)
    title = findings.confirmed(by_grade)
    subtitle = "Share of randomly drawn pairs that people call covered, by grade."
    if not n:
        if not (href := evidence.check_address):
            return Picture(name, "This rubric cannot be checked", "Nobody can rate items that have only ids.")
        return Picture(
            name, "No randomly drawn pair has been rated", subtitle, href=href, button="Start a check"
        )
    marks = _levels(by_grade, str(spec.config.label), 0)
    for series, config in enumerate(evidence.others, start=1):
        theirs = evidence.drawn(config) or {}
        marks += _levels(_by_grade(theirs, low, top), str(config.label), series)
    frame = Frame(
        labels=tuple(str(grade) for grade, _, _ in by_grade),
        ticks=(0.0, 0.25, 0.5, 0.75, 1.0),
        axes=("grade", ""),
        notes=tuple(f"n {cells:,}" if not grade else f"{cells:,}" for grade, cells, _ in by_grade),
        is_share=True,
        shaded_from=low,
        shaded="counts as covered",
    )
    facts = (Fact("n", f"{counted(n, 'pair')}, drawn at random"), Fact("bars:", "95 %"))
    plot = levels(marks, frame, name=name, sentence=title)
    return Picture(name, title, subtitle, plot, facts, partial(_confirmed_sheet, evidence, by_grade))


def _confirmed_sheet(evidence: Evidence, by_grade: Sequence[tuple[int, int, int]]) -> PrintedTable:
    rows: list[dict[str, Value]] = []
    for grade, cells, covered in by_grade:
        ends = wilson(covered, cells)
        share = covered / cells if cells else None
        rows.append({"grade": grade, "cells": cells, "covered": covered, "share": share})
        rows[-1] |= {"low": ends.low, "high": ends.high}
    return plain_sheet(
        "Pairs that people call covered, by grade",
        ("Grade", "Pairs", "Covered", "Share", "From", "To"),
        rows,
        evidence.stated(("sample", "pairs drawn at random"), ("intervals", "95 %, Wilson")),
    )


def _by_grade(drawn: RatingPairs, low: int, top: int) -> list[tuple[int, int, int]]:
    """Return grade, cells, and cells that people rate from `low` on, of each grade."""
    rows = []
    for grade in range(MIN_RATING, top + 1):
        by_human = {human: cells for (grader, human), cells in drawn.items() if grader == grade}
        covered = sum(cells for human, cells in by_human.items() if human >= low)
        rows.append((grade, sum(by_human.values()), covered))
    return rows


def _levels(by_grade: Sequence[tuple[int, int, int]], label: str, series: int) -> list[Level]:
    marks = []
    for grade, cells, covered in by_grade:
        if cells:
            ends = wilson(covered, cells)
            reach = f"{100 * ends.low:.0f} to {100 * ends.high:.0f} %"
            share = f"{covered:,} of {counted(cells, 'pair')} covered ({reach})"
            title = f"{label}, grade {grade}: {share}"
            is_hollow = cells < findings.ENOUGH_OF_A_GRADE
            mark = Level(
                grade, covered / cells, ends.low, ends.high, title, is_hollow=is_hollow, series=series
            )
            marks.append(mark)
    return marks


def items(evidence: Evidence) -> Picture:
    """Return the items whose removal moves scores most, without those that are secret from the reader."""
    scored, bank = evidence.scored, evidence.spec.bank
    if bank is None:
        return Picture("items", "No item can be left out", "This grader labels passages, not items.")
    texts = evidence.texts
    rows = [row for row in item_influences(scored).rows if (row.topic_id, row.uid) in texts]
    rows.sort(key=lambda row: -row.span)
    n_beyond = sum(row.n_beyond > 0 for row in rows)
    move = max((row.influence.largest_move for row in rows), default=0)
    can_tell = scored.ranks is not None and scored.ranks.can_tell
    title = findings.influence(len(rows), n_beyond, move, can_tell=can_tell)
    bars = [
        Bars(
            _label(row, texts[row.topic_id, row.uid]),
            row.loses[1],
            row.gains[1],
            row.loses[0],
            row.gains[0],
            evidence.grid(row.topic_id),
        )
        for row in rows[:MOST_ITEMS]
    ]
    subtitle = "What the runs that lose and gain most would change if the item were left out."
    plot = None
    if bars and scored.run_tags:
        plot = tornado(bars, name="items", sentence=title, heads=("loses most", "gains most"))
    counted = f"{len(rows):,} items" + (f", the {len(bars)} largest" if len(bars) < len(rows) else "")
    facts = (
        Fact("n", counted),
        Fact("largest move in rank", str(move)),
        Fact("items that move a run beyond chance", f"{n_beyond:,}"),
    )
    return Picture("items", title, subtitle, plot, facts, partial(_items_sheet, evidence, rows, texts))


def _items_sheet(evidence: Evidence, rows: Sequence[InfluenceRow], texts: Texts) -> PrintedTable:
    return items_table(evidence.scored, rows, texts, evidence.public(texts), evidence.grid)


def _label(row: InfluenceRow, text: str) -> str:
    """Return the item's text behind its topic; an item without text has an id, which begins with it."""
    return text if text.startswith(row.query_id) else f"{row.query_id}  {text}"


def thresholds(evidence: Evidence) -> Picture:
    """Return Kendall's tau with the other board for each threshold; a mark opens the board at it."""
    spec, other, name = evidence.spec, evidence.other, "thresholds"
    if other is None:
        return Picture(name, "No order to choose a threshold by", "It takes judgments or an official board.")
    if spec.config.purpose != Purpose.RATE:
        return Picture(name, "This grader has one threshold", "Its labels count from its own scale's.")
    grades = list(range(MIN_RATING + 1, scale_of(spec.config)[1] + 1))
    cells = [_at(other, evidence.scored, grade) for grade in grades]
    values = [cell.value(KENDALL) for cell in cells]
    defined = {grade: value for grade, value in zip(grades, values, strict=True) if value is not None}
    if not defined or len({tuple(cell.ours.values()) for cell in cells}) == 1:
        reason = "No order to choose a threshold by"
        if defined:
            has_none = spec.measure.takes_gains
            reason = "This measure has no threshold" if has_none else "The threshold changes no score"
        return Picture(name, reason, "All thresholds give the same board." if defined else "")
    current, best = spec.measure.min_grade, max(defined, key=lambda grade: defined[grade])
    best = current if defined.get(current) == defined[best] else best
    topics = min((cell.n_topics for cell in cells if cell.draws), default=0)
    further = standings(values, [cell.draws.get(KENDALL) for cell in cells], topics=topics)
    as_good = {
        grade for grade, standing in zip(grades, further, strict=True) if standing and standing.is_as_good
    }
    is_as_good = current in as_good if topics >= MIN_TOPICS else None
    title = findings.threshold(current, best, evidence.n_runs, is_as_good=is_as_good, whose=evidence.whose)
    marks = [_tau_mark(evidence, place, grades[place], cell) for place, cell in enumerate(cells)]
    for series, config in enumerate(evidence.others, start=1):
        by_other = evidence.by(config)
        of_other = [_at(other, by_other, grade).value(KENDALL) for grade in grades]
        marks += [
            Level(place, value, title=f"{config.label}, grade {grades[place]}: {value:z.2f}", series=series)
            for place, value in enumerate(of_other)
            if value is not None
        ]
    frame = Frame(
        labels=tuple(f"{grade}+" if grade < grades[-1] else str(grade) for grade in grades),
        ticks=_tau_ticks(marks),
        axes=("covered at grade", findings.TAU),
        chosen=grades.index(current) if current in grades else None,
        chosen_label="the board",
        is_band=True,
    )
    subtitle = f"Kendall's {findings.TAU} with {evidence.whose} order; band: 95 %. A click shows that board."
    rivals = ", ".join(str(grade) for grade in sorted(as_good - {best})) or "none"
    beyond = (Fact(f"not clearly behind {best}:", rivals),) if is_as_good is not None else ()
    facts = (evidence.runs_fact, *beyond)
    plot = levels(marks, frame, name=name, sentence=title)
    return Picture(name, title, subtitle, plot, facts, partial(_threshold_sheet, evidence, grades, cells))


def _at(other: Reference, scored: ScoredBoard, grade: int) -> CorrelationCell:
    own = scored.spec.measure
    relevant = 0 if own.spelling else own.relevant  # `rel` of a name is a threshold, too
    measure = replace(own, min_grade=grade, relevant=relevant, spelling="")
    return correlation_cell(scored.with_measure(measure), other, [KENDALL])


def _tau_mark(evidence: Evidence, place: int, grade: int, cell: CorrelationCell) -> Level:
    value, ends = cell.value(KENDALL), cell.interval(KENDALL)
    low, high = (ends.low, ends.high) if ends.is_defined else (None, None)
    board = reverse("leaderboards:board", args=[evidence.spec.collection.slug])
    href = f"{board}?{changed(evidence.query, min_grade=str(grade))}"
    title = f"Threshold {grade}: {findings.TAU} {number(value)}; show the board"
    return Level(place, value, low, high, title, href)


def _tau_ticks(marks: Sequence[Level]) -> tuple[float, ...]:
    lowest_end = min(end for mark in marks for end in (mark.value, mark.low) if end is not None)
    first = max(-5, int(np.floor(lowest_end * 5)))
    return tuple(round(tick / 5, 1) for tick in range(first, 6))


def _threshold_sheet(
    evidence: Evidence, grades: Sequence[int], cells: Sequence[CorrelationCell]
) -> PrintedTable:
    lines: list[dict[str, Value]] = []
    for grade, cell in zip(grades, cells, strict=True):
        ends = cell.interval(KENDALL)
        lines.append({"min_grade": grade, "kendall": cell.value(KENDALL), "low": ends.low, "high": ends.high})
    return plain_sheet(
        "Agreement of the order, by threshold",
        ("Threshold", f"Kendall's {findings.TAU}", "From", "To"),
        lines,
        evidence.stated(("compared with", evidence.other.label if evidence.other else "")),
    )


PICTURES: dict[str, Callable[[Evidence], Picture]] = {
    "order": order,
    "judged": judged,
    "confirmed": confirmed,
    "items": items,
    "thresholds": thresholds,
}
"""By name in addresses, in the order of the page."""
