"""Write Rubric-Qrels as a TREC qrels file."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from grading.formats.trec import qrels_lines, write_qrels
from grading.types import Qrel
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import writing
from rubricweb.exports import boards
from rubricweb.exports.files import replacing
from rubricweb.graders.rated_cells import labels_document, order_in_words
from rubricweb.leaderboards.board import BoardError, BoardSpec, provenance
from rubricweb.leaderboards.command_arguments import add_label_arguments, spec_of


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = "Write relevance labels made of grades: `topic 0 passage label`, to --out or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_label_arguments(parser)
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="default: standard output; .gz compresses"
        )
        parser.add_argument(
            "--losses", action="store_true", help="list what the file does not say, a passage a line"
        )
        parser.add_argument(
            "--json", action="store_true", help="print one JSON document; without --out it holds the qrels"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            spec = spec_of(options)
        except BoardError as error:
            raise CommandError(str(error)) from error
        labels, out = list(boards.qrels(spec)), options["out"]
        if out:
            _write(out, labels)
        if options["json"]:
            self.stdout.write(
                json.dumps(_document(spec, labels, out), indent=1, allow_nan=False, ensure_ascii=False)
            )
        elif not out:
            self.stdout.writelines(f"{line}\n" for line in _lines(labels))
        where = f" to {out}" if out else ""
        units = "topics and subtopics" if spec.by_subtopic else "topics"
        counted = f"{len(labels)} labels of {len({qrel.query_id for qrel in labels})} {units}"
        self.stderr.write(f"{counted}{where}: {provenance.label_basis(spec)}")
        if spec.measure.label_maps and spec.bank:
            self.stderr.write(order_in_words(spec.bank, spec.config, spec.measure.label_maps))
        for loss in boards.qrels_losses(spec) if options["losses"] else ():
            self.stderr.write(f"lost: {loss}")


def _write(path: Path, qrels: Iterable[Qrel]) -> None:
    try:
        with writing(path), replacing(path) as written:
            write_qrels(written, qrels)
    except BadFormat as error:
        raise CommandError(error.problem) from error


def _lines(qrels: Iterable[Qrel]) -> list[str]:
    """Return all lines, before any is written."""
    try:
        return list(qrels_lines(qrels))
    except BadFormat as error:
        raise CommandError(error.problem) from error


def _document(spec: BoardSpec, labels: list[Qrel], out: Path | None) -> dict[str, object]:
    summary = boards.qrels_summary(spec)
    rows = [{"query_id": qrel.query_id, "doc_id": qrel.doc_id, "label": qrel.relevance} for qrel in labels]
    return {
        "collection": spec.collection.slug,
        "grader": provenance.grader(spec),
        "bank": spec.bank.name if spec.bank else None,
        "bank_version": spec.version.number if spec.version else None,
        "ratings": str(spec.source),
        "definition": str(spec.measure.definition),
        "by_subtopic": spec.by_subtopic,
        "labels": provenance.labels(spec),
        "mode": str(spec.measure.mode),
        "min_grade": spec.measure.min_grade,
        "min_answers": spec.measure.min_answers,
        "lines": summary.lines,
        "topics": summary.topics,
        "unlabelled": summary.unlabelled,
        "by_label": {str(label): count for label, count in summary.by_label},
        **_calibration(spec),
        **({"file": str(out)} if out else {"qrels": rows}),
    }


def _calibration(spec: BoardSpec) -> dict[str, object]:
    """Return, of calibrated labels only, what each grade is worth and how they order the runs."""
    if not spec.measure.label_maps or not spec.bank:
        return {}
    maps = spec.measure.label_maps
    made = labels_document(spec.bank, spec.config, min_grade=spec.measure.min_grade)
    return {"calibration": {"pairs": maps.cells, "topics": maps.topics, **made}}
