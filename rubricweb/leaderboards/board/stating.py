"""What a board says of itself: on the page, in the comment lines of its files and in the command's JSON."""

from __future__ import annotations

from datetime import UTC, datetime

from grading.measures.bootstrap import LEVEL, RESAMPLES
from grading.measures.paired_tests import ALPHA, PairedTest
from grading.types import Purpose
from rubricweb import __version__
from rubricweb.grades.humans import Source
from rubricweb.grades.scoring import NORMALISED_COVER, NUGGETS, WEIGHTED_COVER, Definition
from rubricweb.leaderboards.board.columns import label_of
from rubricweb.leaderboards.board.types import Board, BoardSpec

Json = dict[str, object]

TESTS = {PairedTest.RANDOMISATION: "randomisation test", PairedTest.T: "t test"}
DEFINITIONS = {
    Definition.PAPERS: "as in the papers",
    Definition.WORKBENCH: "the published Workbench's",
    Definition.WORKBENCH_0: "the published Workbench's, for ranks from 0",
}
SOURCES = {
    Source.GRADER: "the grader",
    Source.CORRECTED: "the grader, corrected by people",
    Source.HUMANS: "people only",
}


def measure_name(spec: BoardSpec) -> str:
    """As people write it: Rubric-Cover@20, or trec_eval's name."""
    return label_of(spec.measure)


def threshold(spec: BoardSpec) -> str:
    return f">= {spec.measure.min_grade}"


def denominator(board: Board) -> str:
    """Over what the mean goes, in words."""
    spec, n = board.spec, board.n_topics
    lacking = "is left out of its mean" if spec.skips_missing else "counts 0"
    over = "subtopics" if spec.by_subtopic and spec.topic else "topics"
    macro = "; a topic is the mean over its subtopics" if spec.by_subtopic and not spec.topic else ""
    if spec.measure.is_trec:
        strict = "" if spec.skips_missing else " (trec_eval -c)"
        left_out = f"; {board.n_left_out} without are left out" if board.n_left_out else ""
        mean = f"mean over all {n} {over} with grades{left_out}{macro}"
        return f"{mean}; a topic that a run lacks {lacking}{strict}"
    without = board.n_left_out - board.n_undefined
    left_out = f"; {without} without are left out" if without else ""
    undefined = f"; {board.n_undefined} where it is 0 / 0 are left out" if board.n_undefined else ""
    mean = f"mean over all {n} {over} with items{left_out}{undefined}{macro}"
    return f"{_share(spec)}; {mean}; a topic that a run lacks {lacking}"


def labels(spec: BoardSpec) -> str:
    """How the ratings of a passage become its label, in words."""
    measure = spec.measure
    if spec.config.purpose == Purpose.DIRECT and measure.mode == "max":
        return "the grader's label"
    if measure.mode == "count":
        return f"number of items rated {threshold(spec)}"
    best = (
        "highest rating"
        if measure.min_answers == 1
        else f"best rating reached by {measure.min_answers} items"
    )
    return best if measure.mode == "max" else f"1 if the {best} is {threshold(spec)}, else 0"


def label_basis(spec: BoardSpec) -> str:
    """`labels`, and what is not as it usually is: whose ratings, of which items."""
    said = [labels(spec)]
    if spec.source is not Source.GRADER:
        said.append(f"ratings by {SOURCES[spec.source]}")
    if spec.version:
        said.append(f"items of version {spec.version.number}")
    if spec.by_subtopic:
        said.append("by subtopic")
    if spec.measure.is_workbench:
        said.append(f"definition: {DEFINITIONS[spec.measure.definition]}")
    return ", ".join(said)


def statements(board: Board) -> list[tuple[str, str]]:
    """Pairs of name and value: everything that a reader needs to make this board again."""
    spec, config = board.spec, board.spec.config
    said = [
        ("collection", spec.collection.slug),
        ("measure", measure_name(spec)),
        ("definition", DEFINITIONS[spec.measure.definition]),
        ("grader", f"{config.llm}, {config.prompt_class}, back-end {config.backend}, config {config.pk}"),
        ("ratings", SOURCES[spec.source]),
        ("bank", bank(board)),
        ("threshold", f"grade {threshold(spec)}"),
    ]
    if spec.topic:
        said.append(("only", f"topic {spec.topic}" + (f", subtopic {spec.facet}" if spec.facet else "")))
    if spec.measure.is_trec:
        said.append(("labels", labels(spec)))
        said.append(("relevant", f"label >= {spec.measure.level} (nDCG takes labels as gains)"))
    else:
        said.append(("cutoff", f"first {spec.measure.cutoff} passages by rank"))
    said += [("denominator", denominator(board)), ("topics", str(board.n_topics))]
    said += [(column.label, column_stated(spec, column.token)) for column in spec.columns]
    if board.verified[0]:
        said.append(("verified", f"{board.verified[0]} of {board.verified[1]} cells seen by people"))
    said += [("uncertainty", uncertainty(board)), ("RubricWeb", __version__)]
    return [*said, ("made", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")]


def bank(board: Board) -> str:
    """The bank with its version, or as of now, and the stamp of its items."""
    spec = board.spec
    if spec.bank is None:
        return "none: labels"
    when = f"version {spec.version.number}: {spec.version.name}" if spec.version else "as of now"
    return f"{spec.bank.name} ({kinds(spec)}s, {board.n_items} items, {board.items_stamp}), {when}"


def uncertainty(board: Board) -> str:
    if board.top is None:
        return "undefined with fewer than two topics or two runs"
    level, runs = f"{100 * LEVEL:g} %", len(board.rows)
    return (
        f"{level} bootstrap intervals of scores ({RESAMPLES:,} resamples of topics); ranks that a paired "
        f"{TESTS[board.test]} leaves open, Holm's correction over {runs * (runs - 1) // 2} pairs, "
        f"{100 * ALPHA:g} % for all together"
    )


def column_stated(spec: BoardSpec, token: str) -> str:
    column = next(column for column in spec.columns if column.token == token)
    if column.is_judgments:
        return f"human judgments, relevant from {spec.collection.min_relevant}"
    whose = f"by {column.config} (config {column.config.pk}), " if column.config else ""
    if column.measure.is_trec:
        return f"{whose}relevant from label {column.measure.level}"
    return f"{whose}grade >= {column.measure.min_grade}, first {column.measure.cutoff} passages"


def grader(spec: BoardSpec) -> Json:
    config = spec.config
    return {
        "id": config.pk,
        "llm": config.llm,
        "prompt_class": config.prompt_class,
        "backend": config.backend,
    }


def kinds(spec: BoardSpec) -> str:
    return "s and ".join(sorted(spec.kinds, reverse=True))


def _share(spec: BoardSpec) -> str:
    """What is divided by what, for measures of items."""
    measure = spec.measure
    if measure.name.startswith(NUGGETS):
        full, partial = measure.min_grade, measure.partial_grade
        return f"credit / nuggets; support is a grade >= {full}, partial support >= {partial}"
    if measure.name == NORMALISED_COVER:
        return "covered items / items that any passage of the pool covers"
    if measure.is_workbench:
        return "covered items / items rated on any passage of the topic"
    if measure.name == WEIGHTED_COVER:
        return "weight of covered items / sum of the weights above 0"
    return "covered items / all items of the topic" if measure.is_cover else "gain / gain of the ideal order"
