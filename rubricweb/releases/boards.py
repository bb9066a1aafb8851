"""The parts of a release that are computed: qrels, leaderboards, agreement, figures and provenance.

Nothing in them depends on the clock or on keys of the database: a grader is named by its fingerprint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import Any

from grading.arrays import none_if_nan, undefined_last
from grading.errors import BadFormat
from grading.formats.reading import text_lines
from grading.formats.tables import DataTable, Value, tsv_lines
from grading.formats.trec import qrels_lines
from grading.measures import registry
from grading.measures.cover import LabelMode
from grading.types import Purpose, Qrel
from rubricweb import __version__
from rubricweb.campaigns import agreement as assessors
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection, Judgment
from rubricweb.corpus.pools import collection_pool
from rubricweb.corpus.run_slices import find_runs, tasks
from rubricweb.exports.boards import leaderboard_name, qrels, qrels_name
from rubricweb.grades.configs import default_min_grade, kinds_of
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.selectors import banks_graded_by, graders, scored_graders
from rubricweb.grades.visibility import visible_human_grades
from rubricweb.leaderboards import agreement_tables
from rubricweb.leaderboards.agreement import agreements, labellers
from rubricweb.leaderboards.board import Board, BoardError, BoardSpec, files, lookup, provenance
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.board.document import board_document
from rubricweb.leaderboards.board.selectors import board
from rubricweb.plots.cells import DotRow, HeatRow, dot_rows, heat_map
from rubricweb.releases.parts import Contents, ReleaseFile, ReleasePart, text_file

FURTHER = ("ndcg_cut_10", "P_20", "map")
"""Columns beside the measure that ranks the runs, by Rubric-Qrels."""
FINGERPRINT = 12
"""Digits that name a grader."""
CLOCK = ("made",)
"""Statements that would differ from one writing to the next."""
Json = dict[str, Any]  # documents of several shapes


def board_specs(collection: Collection) -> list[BoardSpec]:
    """Return the board of each grader over each bank that it graded, the default grader's first.

    Where runs have several tasks, the boards of each task follow that of all runs.
    """
    specs, several = [], tasks(collection)
    slices = [find_runs(collection, task, "") for task in several] if len(several) > 1 else []
    for row in scored_graders(collection):
        is_direct = row.config.purpose == Purpose.DIRECT
        for bank in [None] if is_direct else banks_graded_by(row.config, collection):
            name = registry.DEFAULT_OF_LABELS if is_direct else registry.DEFAULT
            measure = MeasureSpec(name, default_min_grade(row.config))
            spec = BoardSpec(collection, row.config, bank, kinds_of(row.config), measure)
            specs += [replace(_with_columns(spec), runs=runs) for runs in (None, *slices)]
    return specs


def _with_columns(spec: BoardSpec) -> BoardSpec:
    judged = Judgment.objects.filter(topic__collection=spec.collection).exists()
    further = [name for name in FURTHER if name != spec.measure.name]
    names = ",".join([*further, "judgments/ndcg_cut_10"] if judged else further)
    try:
        return lookup.with_columns(
            replace(spec, measure=lookup.check_measure(spec.config, spec.measure)), names
        )
    except BoardError:
        return spec


def qrels_files(contents: Contents) -> Iterator[ReleaseFile]:
    """Yield the human judgments, and for each grader and bank the labels of every mode."""
    judged = _judgments(contents.collection)
    if judged:
        yield text_file("qrels/judgments.qrels", "the human judgments", partial(_qrels_lines, judged))
    stems = _stems(
        contents.collection, lambda spec: qrels_name(spec).removesuffix(f"_{spec.measure.mode}.qrels")
    )
    for spec, stem in stems:
        if spec.runs:  # labels of passages that the qrels of all runs have
            continue
        rated = HumanGrade.objects.filter(topic__collection=contents.collection)
        is_rated = visible_human_grades(rated, contents.collection.pk).exists()
        for source in list(RatingSource) if is_rated else [RatingSource.GRADER]:
            for mode in LabelMode:
                variant = _labelled(replace(spec, source=source), mode)
                labels = list(qrels(variant)) if variant else []
                if variant and labels:
                    name = "_".join(
                        filter(None, (stem, "" if source is RatingSource.GRADER else source, mode))
                    )
                    about = f"{provenance.label_basis(variant)}, by {lookup.grader_name(spec.config)}"
                    yield text_file(f"qrels/{name}.qrels", about, partial(_qrels_lines, labels))


def _labelled(spec: BoardSpec, mode: LabelMode) -> BoardSpec | None:
    """Return the spec with labels of this mode; None where too few ratings calibrate them."""
    try:
        measure = lookup.calibrated(spec.config, spec.bank, replace(spec.measure, mode=mode))
        return lookup.check_labels(replace(spec, measure=measure))
    except BoardError:
        return None


def boards(contents: Contents) -> list[tuple[str, Board]]:
    """Return the boards with the beginning of their files' names, computed once."""
    if not contents.computed:
        stems = _stems(contents.collection, lambda spec: leaderboard_name(spec, "").removesuffix("."))
        contents.computed.extend((stem, board(spec)) for spec, stem in stems)
    return contents.computed


def board_files(contents: Contents) -> Iterator[ReleaseFile]:
    """Yield each board overall (JSON, TSV, LaTeX) and by topic, in the formats that other tools read."""
    if contents.options.has_runs and boards(contents):
        about = "recomputes the scores from grades, rubrics and runs: `python boards/recompute.py`"
        yield text_file("boards/recompute.py", about, _recompute_lines)
    for stem, leaderboard in boards(contents):
        spec = leaderboard.spec
        about = f"the runs by {provenance.measure_name(spec)}, {lookup.grader_name(spec.config)}"
        for form in files.OF_RUNS:
            yield text_file(f"boards/{stem}.{form.name}", about, partial(_board_lines, form, leaderboard))
        for kind in files.PER_TOPIC:
            yield text_file(f"boards/{stem}.{kind}", f"{about}, by topic", partial(_value_lines, spec, kind))


def _recompute_lines() -> list[str]:
    return (
        (resources.files("rubricweb.releases") / "recompute.py").read_text(encoding="utf-8").split("\n")[:-1]
    )


def figure_files(contents: Contents) -> Iterator[ReleaseFile]:
    for stem, leaderboard in boards(contents):
        spec, label = leaderboard.spec, provenance.measure_name(leaderboard.spec)
        rows = [DotRow(row.run_tag, row.score, row.low, row.high) for row in leaderboard.rows]
        drawn = dot_rows(rows, name=stem, sentence=contents.title, axis=label).file
        about = f"the runs by {label} with 95 % intervals over topics"
        yield text_file(f"figures/{stem}.svg", about, partial(text_lines, drawn))
        by_topic = _heat_map(spec, title=f"{label} by topic")
        yield text_file(
            f"figures/{stem}_topics.svg", f"{label} of each run on each topic", partial(text_lines, by_topic)
        )


def agreement_files_of(contents: Contents) -> Iterator[ReleaseFile]:
    """Yield the agreement of graders with human judgments, and of assessors with each other."""
    collection = contents.collection
    configs = [row.config for row in scored_graders(collection)]
    pairs = labellers(collection, configs, list(collection.banks.all())) if _judgments(collection) else []
    if pairs:
        least, relevant = default_min_grade(configs[0]), collection.min_relevant
        table = agreement_tables.table(agreements(pairs), min_grade=least, min_relevant=relevant)
        about = "labels of graders against the human judgments, with Cohen's kappa"
        yield text_file("agreement/graders.tsv", about, partial(tsv_lines, _without_keys(table, configs)))
    rated = assessors.agreement(collection)
    if rated.overall.cells:
        about = "how far assessors agree with each other (Krippendorff's alpha), overall and by topic"
        yield text_file("agreement/assessors.json", about, partial(_assessors_json, rated))


def provenance_files(contents: Contents) -> Iterator[ReleaseFile]:
    about = "what the boards are based on: graders with their settings, rubrics, definitions and counts"
    yield text_file("provenance/provenance.json", about, partial(_provenance_json, contents))


def _qrels_lines(qrels: list[Qrel]) -> list[str]:
    """Return the lines without ids that the format cannot have."""
    lines: list[str] = []
    for qrel in qrels:
        try:
            lines += qrels_lines([qrel])
        except BadFormat:
            continue
    return lines


def _judgments(collection: Collection) -> list[Qrel]:
    """Return the judgments by topic and subtopic; a subtopic's id is `topic/subtopic`."""
    rows = Judgment.objects.filter(topic__collection=collection)
    fields = rows.values_list("topic__position", "topic__query_id", "facet_id", "doc_id", "relevance")
    ordered = sorted(fields)
    return [
        Qrel(f"{topic}/{facet}" if facet else topic, doc_id, label)
        for _, topic, facet, doc_id, label in ordered
    ]


def _stems(collection: Collection, stem: Callable[[BoardSpec], str]) -> Iterator[tuple[BoardSpec, str]]:
    """Yield each board with the beginning of its files' names; graders of one name add their fingerprints."""
    pairs = [(spec, stem(spec).removeprefix(f"{collection.slug}_")) for spec in board_specs(collection)]
    names = [name for _, name in pairs]
    for spec, name in pairs:
        yield spec, name if names.count(name) == 1 else f"{name}_{spec.config.fingerprint[:FINGERPRINT]}"


def _board_lines(form: files.BoardFormat, leaderboard: Board) -> list[str]:
    """Return the file without what depends on the clock or on keys of the database."""
    if form.of_board is None or form.name == "json":
        return _board_json(leaderboard)
    return [
        _without_key(line, leaderboard.spec.config)
        for line in form.of_board(leaderboard)
        if not re.match(rf"[#%] ({'|'.join(CLOCK)}): ", line)
    ]


def _statements(leaderboard: Board) -> list[tuple[str, str]]:
    stated = [pair for pair in provenance.statements(leaderboard) if pair[0] not in CLOCK]
    return [(name, _without_key(value, leaderboard.spec.config)) for name, value in stated]


def _without_key(text: str, config: GraderConfig) -> str:
    return text.replace(f"config {config.pk}", f"fingerprint {config.fingerprint[:FINGERPRINT]}")


def _board_json(leaderboard: Board) -> list[str]:
    document = board_document(leaderboard)
    for name in CLOCK:
        document.pop(name)
    document["grader"] = _grader(leaderboard.spec.config)
    return _json_lines(document)


def _value_lines(spec: BoardSpec, kind: str) -> Iterator[str]:
    """Yield the lines by the shown names of runs, whatever the order in the database."""
    rows = sorted(files.value_rows(spec), key=lambda row: row.run_tag)
    return files.PER_TOPIC[kind](rows)


def _heat_map(spec: BoardSpec, *, title: str) -> str:
    scored = scored_board(spec)
    merits = scored.mean_merits.tolist()
    places = sorted(range(len(merits)), key=lambda run: (-undefined_last(merits[run]), scored.run_tags[run]))
    rows = [
        HeatRow(scored.run_tags[run], tuple(none_if_nan(score) for score in scored.table.scores[run]))
        for run in places
    ]
    topics = [topic.query_id for topic in scored.base.pool.topics]
    return heat_map(rows, topics, name="topics", sentence=title).file


def _without_keys(table: DataTable, configs: list[GraderConfig]) -> DataTable:
    """Return the table with graders by their fingerprints, and without the time."""
    place = table.columns.index("grader_id") if "grader_id" in table.columns else None
    stated = tuple(pair for pair in table.stated if pair[0] not in CLOCK)
    if place is None:
        return replace(table, stated=stated)
    fingerprints: dict[Value, Value] = {config.pk: config.fingerprint[:FINGERPRINT] for config in configs}
    rows = ((*row[:place], fingerprints.get(row[place]), *row[place + 1 :]) for row in table.rows)
    names = tuple("grader_fingerprint" if name == "grader_id" else name for name in table.columns)
    return replace(table, columns=names, rows=tuple(sorted(rows, key=repr)), stated=stated)


def _assessors_json(rated: assessors.AgreementView) -> list[str]:
    """Return alpha overall and by topic, and the effect of seeing the grader, without people and items."""
    by_topic = sorted(map(assessors.document, rated.by_topic), key=lambda row: str(row["name"]))
    anchoring = assessors.document(rated.anchoring) if rated.anchoring else None
    return _json_lines(
        {"overall": assessors.document(rated.overall), "by_topic": by_topic, "anchoring": anchoring}
    )


def _provenance_json(contents: Contents) -> list[str]:
    collection = contents.collection
    pool = collection_pool(collection)
    configs = sorted((row.config for row in graders(collection)), key=lambda config: config.fingerprint)
    return _json_lines(
        {
            "collection": {
                "slug": collection.slug,
                "name": collection.name,
                "description": collection.description,
            },
            "software": {"name": "RubricWeb", "version": __version__},
            "runs": len(pool.run_tags),
            "topics": len(pool.topics),
            "pooled_passages": sum(len(topic.doc_ids) for topic in pool.topics),
            "first_relevant_judgment": collection.min_relevant,
            "pool_rule": collection.pool_rule,
            "graders": [_grader(config) for config in configs],
            "boards": {stem: dict(_statements(leaderboard)) for stem, leaderboard in boards(contents)},
        }
    )


def _grader(config: GraderConfig) -> Json:
    return {
        "fingerprint": config.fingerprint,
        "llm": config.llm,
        "prompt_class": config.prompt_class,
        "prompt": config.prompt_name,
        "backend": config.backend,
        "purpose": config.purpose,
        "options": config.settings,
    }


def _json_lines(document: Json) -> list[str]:
    """Return the JSON with sorted keys, since PostgreSQL does not keep their order; NaN is null."""
    return json.dumps(_defined(document), indent=1, ensure_ascii=False, sort_keys=True).split("\n")


def _defined(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _defined(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_defined(part) for part in value]
    return None if isinstance(value, float) and value != value else value


def _size(contents: Contents) -> str:
    return counted(len(board_specs(contents.collection)), "board")


def _size_of_qrels(contents: Contents) -> str:
    of_all = [spec for spec in board_specs(contents.collection) if spec.runs is None]
    return counted(len(LabelMode) * len(of_all), "file")


QRELS = ReleasePart(
    "qrels", "Qrels", "Labels of every mode that the exports have.", qrels_files, _size_of_qrels
)
BOARDS = ReleasePart("boards", "Leaderboards", "Computed when the release was made.", board_files, _size)
AGREEMENT = ReleasePart(
    "agreement",
    "Agreement",
    "Over the pairs that people rated and judged.",
    agreement_files_of,
    lambda _: "tables",
)
FIGURES = ReleasePart("figures", "Figures", "The boards, drawn.", figure_files, _size)
PROVENANCE = ReleasePart(
    "provenance", "Provenance", "What everything is based on.", provenance_files, lambda _: "one document"
)
