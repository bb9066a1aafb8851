"""The further tables behind a board, each computed when it is looked at or downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from grading.formats.tables import PrintedTable, Value
from grading.measures import registry
from grading.statistics.diagnostics import families
from grading.statistics.rank_correlation import Coefficient
from rubricweb.corpus.duplicates import latest_search
from rubricweb.grades.selectors import scored_graders
from rubricweb.leaderboards import agreement, agreement_tables, influence, meta, meta_tables
from rubricweb.leaderboards.board import MissingTopic, provenance
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.board.lookup import parse_measures
from rubricweb.leaderboards.influence import duplicates, pool
from rubricweb.leaderboards.sheets import plain_sheet
from rubricweb.leaderboards.sure import Evidence

MIN_GRADES = (3, 4, 5)
"""The thresholds at which all graders are compared."""
COMPARED = parse_measures(" ".join(registry.COMPARED))
"""The measures by which they are."""
NOTHING = PrintedTable("Nothing to compare with", ("Evaluation",), ())
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a table depends on beside the board."""

    evidence: Evidence
    teams: list[str]
    """Patterns of run tags that belong together."""
    depth: int


@dataclass(frozen=True, slots=True)
class SureTable:
    label: str
    says: str
    """How to read it."""
    make: Callable[[Choice], PrintedTable]


def _compared(choice: Choice, measures: tuple[str, ...]) -> meta.Comparison:
    collection = choice.evidence.spec.collection
    configs = [row.config for row in scored_graders(collection)]
    rows = meta.contenders(collection, configs, list(collection.banks.all()), MIN_GRADES)
    spec = meta.MetaSpec(
        choice.evidence.against,
        measures,
        collection.min_relevant,
        topics=choice.evidence.spec.topic_slice,
        runs=choice.evidence.spec.runs,
    )
    return meta.compared(meta.meta_rows(rows, spec, Coefficient), spec, Coefficient)


def graders(choice: Choice) -> PrintedTable:
    """Return each grader, bank and threshold by each measure, with its correlations with the other board."""
    if choice.evidence.other is None:
        return NOTHING
    return meta_tables.comparison(_compared(choice, COMPARED), choice.evidence.other.label)


def detail(choice: Choice) -> PrintedTable:
    """Return the same by the board's measure alone, with intervals and the runs that cost most."""
    if choice.evidence.other is None:
        return NOTHING
    name = choice.evidence.spec.measure.name
    return meta_tables.detail(_compared(choice, (name,)), name)


def _agreements(choice: Choice) -> list[agreement.Agreement]:
    collection = choice.evidence.spec.collection
    configs = [row.config for row in scored_graders(collection)]
    pairs = agreement.labellers(collection, configs, list(collection.banks.all()), choice.evidence.spec.runs)
    return agreement.agreements(pairs, min_answers=choice.evidence.spec.measure.min_answers)


def labels(choice: Choice) -> PrintedTable:
    """Return the labels of all graders against judgments, binarised; the file has each grade too."""
    spec = choice.evidence.spec
    levels = {"min_grade": spec.measure.min_grade, "min_relevant": spec.collection.min_relevant}
    rows = _agreements(choice)
    return replace(agreement_tables.binary(rows, **levels), data=agreement_tables.table(rows, **levels))


def needed(choice: Choice) -> PrintedTable:
    """Return kappa by threshold and items needed."""
    labeller = choice.evidence.agreement.labeller
    relevant = choice.evidence.spec.collection.min_relevant
    return agreement_tables.thresholds(labeller, agreement.threshold_kappas(labeller, min_relevant=relevant))


def between(choice: Choice) -> PrintedTable:
    collection, measure = choice.evidence.spec.collection, choice.evidence.spec.measure
    configs = [row.config for row in scored_graders(collection)]
    pairs = agreement.labellers(collection, configs, list(collection.banks.all()), choice.evidence.spec.runs)
    rows = agreement.between(pairs, min_grade=measure.min_grade, min_answers=measure.min_answers)
    return agreement_tables.graders(rows, min_grade=measure.min_grade)


def runs(choice: Choice) -> PrintedTable:
    evidence = choice.evidence
    scored, texts = evidence.scored, evidence.texts
    rows = [
        row
        for row in influence.item_influences(scored).dependents
        if (row.row.topic_id, row.row.uid) in texts
    ]
    return influence.runs_table(scored, rows, texts, evidence.public(texts), evidence.grid)


def pairs(choice: Choice) -> PrintedTable:
    evidence = choice.evidence
    scored, texts = evidence.scored, evidence.texts
    rows = [
        pair
        for pair in influence.pairs(scored)
        if {(pair.topic_id, pair.first), (pair.topic_id, pair.second)} <= set(texts)
    ]
    return influence.pairs_table(scored, rows, texts, evidence.public(texts), evidence.grid)


def holes(choice: Choice) -> PrintedTable:
    scored = choice.evidence.scored
    return pool.holes_table(scored, pool.holes(scored))


def teams(choice: Choice) -> PrintedTable:
    scored = choice.evidence.scored
    rows = pool.teams_left_out(scored, families(scored.run_tags, choice.teams), depth=choice.depth)
    return pool.teams_table(scored, rows, choice.depth)


def origins(choice: Choice) -> PrintedTable:
    """Return what authors of items gain by them, over all topics, each of which counts for every run."""
    spec = replace(choice.evidence.spec, missing=MissingTopic.ZERO, topic="", facet="")
    scored = scored_board(spec)
    rows = pool.circularity(scored, families(scored.run_tags, choice.teams))
    return pool.origins_table(scored, rows)


def copies(choice: Choice) -> PrintedTable:
    scored = choice.evidence.scored
    search = latest_search(scored.spec.collection)
    rows = duplicates.duplicates(scored)
    return duplicates.duplicates_table(scored, rows, search.threshold if search else 1.0)


def grades(choice: Choice) -> PrintedTable:
    """Return how often each grade was given to the board's items."""
    base = choice.evidence.scored.base
    counts = [0] * 6
    for topic in base.pool.topics:
        ratings = base.grades[topic.topic_id].matrix.columns(base.items.get(topic.topic_id, ())).ratings
        for grade in range(6):
            counts[grade] += int((ratings == grade).sum())
    n = sum(counts)
    lines: list[dict[str, Value]] = [
        {"grade": grade, "cells": c, "share": c / n if n else None} for grade, c in enumerate(counts)
    ]
    stated = provenance.scored_statements(choice.evidence.scored)
    return plain_sheet("Grades", ("Grade", "Pairs", "Share"), lines, stated)


TABLES = {
    "graders": SureTable(
        "All graders",
        "Correlation of the order of runs with the other board, for each grader, rubric and threshold.",
        graders,
    ),
    "detail": SureTable(
        "All graders, in detail",
        "The same by this measure alone: behind the best, with the interval of the difference, and the runs "
        "without which Kendall's tau would rise most.",
        detail,
    ),
    "labels": SureTable("Labels", "Labels of passages against people's judgments, for each grader.", labels),
    "needed": SureTable(
        "Items needed", "Agreement of labels when several items must reach the threshold.", needed
    ),
    "between": SureTable(
        "Between graders", "Agreement of two graders' labels of the same passages.", between
    ),
    "runs": SureTable("Runs", "Each run that changes rank if one item is left out, with that item.", runs),
    "pairs": SureTable(
        "Redundant pairs",
        "Items of a topic that nearly the same passages cover count one thing twice.",
        pairs,
    ),
    "holes": SureTable(
        "Ungraded passages", "A run with many ungraded passages may score low for that reason alone.", holes
    ),
    "teams": SureTable(
        "Teams left out",
        "What if a team had not taken part? Passages that only its runs return would not have been graded.",
        teams,
    ),
    "origins": SureTable(
        "Who wrote the items",
        "How much more a model's runs gain on items that it wrote than other runs do; about 0 is fair.",
        origins,
    ),
    "copies": SureTable(
        "Near-duplicates",
        "Whether a run gains from copies. Score once drops a passage below a near-duplicate of it.",
        copies,
    ),
    "grades": SureTable("Grades", "How often the grader gave each grade.", grades),
}
"""By name in addresses, in the order of the page."""


def document(choice: Choice, name: str) -> Json | None:
    """Return the table as JSON, of those that have it: the graders' and the labels'."""
    spec = choice.evidence.spec
    if name == "graders" and choice.evidence.against:
        return meta_tables.document(_compared(choice, COMPARED))
    if name == "labels":
        measure = spec.measure
        return agreement_tables.document(
            _agreements(choice),
            min_grade=measure.min_grade,
            min_relevant=spec.collection.min_relevant,
            min_answers=measure.min_answers,
        )
    return None
