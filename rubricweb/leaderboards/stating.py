"""What a board says of itself: on the page, in the TSV's comment lines and in the command's JSON."""

from __future__ import annotations

from collections.abc import Mapping

from grading.formats.leaderboard_tsv import LeaderboardRow, leaderboard_lines
from grading.measures.rank_correlation import Correlation
from grading.types import Purpose
from rubricweb import __version__
from rubricweb.leaderboards.boards import Board, BoardCorrelation, BoardRow, BoardSpec

Json = dict[str, object]


def measure_name(spec: BoardSpec) -> str:
    """As people write it: Rubric-Cover@20, or trec_eval's name."""
    return f"Rubric-Cover@{spec.measure.cutoff}" if spec.measure.is_cover else spec.measure.name


def threshold(spec: BoardSpec) -> str:
    return f">= {spec.measure.min_grade}"


def denominator(board: Board) -> str:
    """Over what the mean goes, in words."""
    left_out = f"; {board.n_left_out} without are left out" if board.n_left_out else ""
    if board.spec.measure.is_cover:
        over = f"covered items / all items of the topic; mean over all {board.n_topics} topics with items"
        return f"{over}{left_out}; a topic that a run lacks counts 0"
    over = f"mean over all {board.n_topics} topics with grades"
    return f"{over}{left_out}; a topic that a run lacks counts 0 (trec_eval -c)"


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


def statements(board: Board) -> list[tuple[str, str]]:
    """Pairs of name and value: everything that a reader needs to make this board again."""
    spec, config = board.spec, board.spec.config
    bank = (
        f"{spec.bank.name} ({kinds(spec)}s, {board.n_items} items, {board.items_stamp})"
        if spec.bank
        else "none: labels"
    )
    said = [
        ("collection", spec.collection.slug),
        ("measure", measure_name(spec)),
        ("grader", f"{config.llm}, {config.prompt_class}, back-end {config.backend}"),
        ("bank", bank),
        ("threshold", f"grade {threshold(spec)}"),
    ]
    if spec.measure.is_cover:
        said.append(("cutoff", f"first {spec.measure.cutoff} passages by rank"))
    else:
        said.append(("labels", labels(spec)))
        said.append(("relevant", f"label >= {spec.measure.level} (nDCG takes labels as gains)"))
    said += [("denominator", denominator(board)), ("topics", str(board.n_topics)), ("RubricWeb", __version__)]
    return said


def kinds(spec: BoardSpec) -> str:
    return "s and ".join(sorted(spec.kinds, reverse=True))


def document(board: Board) -> Json:
    """The board as one JSON document; what is undefined is null."""
    return {
        **_spec(board.spec),
        "items": board.n_items,
        "items_stamp": board.items_stamp,
        "denominator": denominator(board),
        "topics": board.n_topics,
        "topics_left_out": board.n_left_out,
        "judged_at": board.judged_at,
        "version": __version__,
        "rows": [_row(row) for row in board.rows],
        "correlations": [_correlation(found) for found in board.correlations],
    }


def grader(spec: BoardSpec) -> Json:
    config = spec.config
    return {
        "id": config.pk,
        "llm": config.llm,
        "prompt_class": config.prompt_class,
        "backend": config.backend,
    }


def tsv_lines(board: Board) -> list[str]:
    """Comment lines that state everything, a header, one run a line."""
    said = [f"{name}: {value}" for name, value in statements(board)]
    said += [
        f"{name} with {found.against} ({found.measure}): {_value(value)} over {value.n} runs"
        for found in board.correlations
        for name, value in (("Spearman", found.spearman), ("Kendall tau-b", found.kendall))
    ]
    return leaderboard_lines(tsv_rows(board), said)


def tsv_rows(board: Board) -> list[LeaderboardRow]:
    return [LeaderboardRow(row.run_tag, row.score, row.stderr, row.n_topics) for row in board.rows]


def _spec(spec: BoardSpec) -> Json:
    measure = spec.measure
    by_labels: Json = {"mode": str(measure.mode), "min_answers": measure.min_answers, "labels": labels(spec)}
    depends: Json = {"cutoff": measure.cutoff} if measure.is_cover else {**by_labels, "level": measure.level}
    return {
        "collection": spec.collection.slug,
        "measure": measure.name,
        "grader": grader(spec),
        "bank": spec.bank.name if spec.bank else None,
        "kinds": sorted(spec.kinds),
        "min_grade": measure.min_grade,
        "threshold": threshold(spec),
        **depends,
    }


def _row(row: BoardRow) -> Json:
    return {
        "rank": row.rank,
        "run_tag": row.run_tag,
        "score": row.score,
        "stderr": row.stderr,
        "n_topics": row.n_topics,
        "n_answered": row.n_answered,
        "judged": row.judged,
    }


def _correlation(found: BoardCorrelation) -> Json:
    both: Mapping[str, Json] = {
        name: {"value": value.value, "runs": value.n, "reason": value.reason}
        for name, value in (("spearman", found.spearman), ("kendall", found.kendall))
    }
    return {"against": found.against, "measure": found.measure, **both}


def _value(found: Correlation) -> str:
    return f"void, {found.reason}" if found.value is None else f"{found.value:.4f}"
