"""Compare the boards of graders, banks and thresholds with official leaderboards."""

import json
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from grading.errors import BadFormat
from grading.formats.official import read_official
from grading.formats.tables import PrintedTable, tsv_lines
from grading.measures import registry
from grading.statistics.rank_correlation import Coefficient
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import Official, board_file
from rubricweb.leaderboards import meta, meta_tables
from rubricweb.leaderboards.board import BoardError
from rubricweb.leaderboards.board.lookup import find_runs, find_topics, parse_measures
from rubricweb.leaderboards.command_arguments import (
    LINES,
    add_comparing_arguments,
    banks_named,
    check_format,
    first_relevant,
    graders_named,
)
from rubricweb.leaderboards.meta import OFFICIAL, Contender, contenders, reference_choices


class Command(OperatorCommand):
    requires_system_checks = ()  # they load every page
    help = (
        "Correlate boards with official leaderboards: a row a grader, bank and threshold; a column a measure."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_comparing_arguments(parser)
        text = "official leaderboards as import_collection takes them; default: those of the collection"
        parser.add_argument("--official", type=board_file, nargs="+", default=[], metavar="FILE", help=text)
        text = "which measure of --official files that have several (ndcg_cut_10, or map)"
        parser.add_argument("--official-measure", default="", metavar="M", help=text)
        text = "'judgments', or the name of an official leaderboard of the collection; repeatable"
        parser.add_argument("--against", action="append", default=[], metavar="NAME", help=text)
        default = ", ".join(registry.COMPARED)
        text = f"a measure as boards name it (cover-4, P_20:5, nDCG@10); repeatable; default: {default}"
        parser.add_argument("--measure", action="append", default=[], metavar="M", help=text)
        text = "lowest grade that counts; repeatable; default: 1, 3, 4 and 5"
        parser.add_argument("--min-grade", type=int, action="append", default=[], metavar="N", help=text)
        parser.add_argument("--top", type=int, metavar="K", help="compare the official top K only")
        text = "only topics with a value of an attribute: category=how-to, ambiguity=5..10, ambiguity=high"
        parser.add_argument("--topics", default="", metavar="A=V", help=text)
        text = "as good is at most W below the best (0.05 in EXAM++); default: where the intervals say so"
        parser.add_argument("--within", type=float, metavar="W", help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            check_format(options)
            collection = collection_named(options["slug"], cold=True)
            rows = _contenders(collection, options)
            specs = _specs(collection, options)
            comparisons = [_compared(rows, spec) for spec in specs]
        except (BoardError, BadFormat) as error:
            raise CommandError(str(error)) from error
        if options["format"] == "json":
            documents = [meta_tables.document(row) for row in comparisons]
            self.stdout.write(json.dumps(documents, indent=1, allow_nan=False, ensure_ascii=False))
        elif options["format"] == "tsv":
            self.stdout.write("\n".join(tsv_lines(meta_tables.table(comparisons, with_costs=True))))
        else:
            lines = LINES[options["format"]]
            self.stdout.write("\n\n".join("\n".join(lines(_sheet(row))) for row in comparisons))


def _contenders(collection: Collection, options: dict[str, Any]) -> list[Contender]:
    configs, banks = graders_named(collection, options), banks_named(collection, options["bank"])
    rows = contenders(collection, configs, banks, options["min_grade"] or [1, 3, 4, 5])
    if not rows:
        raise BoardError("grader", "no board to compare: no such grader graded such a bank")
    return rows


def _specs(collection: Collection, options: dict[str, Any]) -> list[meta.MetaSpec]:
    measures = parse_measures(" ".join(options["measure"] or registry.COMPARED))
    level = first_relevant(collection, options)
    choices = dict(reference_choices(collection))
    names = [name if name in choices else f"{OFFICIAL}{name}" for name in options["against"]]
    if unknown := [name for name in names if name not in choices]:
        there = ", ".join(name.removeprefix(OFFICIAL) for name in choices) or "none"
        raise BoardError(
            "reference",
            f"nothing to compare with named {unknown[0].removeprefix(OFFICIAL)}; there are {there}",
        )
    boards = [_read(path, options["official_measure"]) for path in options["official"]]
    top, within = options["top"], options["within"]
    topics = find_topics(collection, options["topics"])
    runs = find_runs(collection, options["task"], options["runs"])
    specs = [meta.MetaSpec(board.name, measures, level, top, within, board) for board in boards]
    names = names or ([] if boards else list(choices))
    specs += [meta.MetaSpec(name, measures, level, top, within) for name in names]
    if not specs:
        raise BoardError("reference", "nothing to compare with: name --official FILE, or import judgments")
    return [replace(spec, topics=topics, runs=runs) for spec in specs]


def _read(path: Path, measure: str) -> Official:
    board = read_official(path, measure=measure)
    name = f"{path.name}, {board.measure}" if board.measure else path.name
    return Official(name, board.kind == "ranks", board.values, by_topic=board.by_topic)


def _compared(rows: list[Contender], spec: meta.MetaSpec) -> meta.Comparison:
    return meta.compared(meta.meta_rows(rows, spec), spec, Coefficient)


def _sheet(comparison: meta.Comparison) -> PrintedTable:
    return meta_tables.comparison(comparison, comparison.spec.reference.removeprefix(OFFICIAL))
