"""Arguments of the commands of boards, qrels and comparisons, and what these name: specs, graders, banks."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from grading.formats.tables import tex_lines, text_lines
from grading.measures import CUTOFF, MIN_ANSWERS, registry
from grading.measures.cover import LabelMode
from grading.statistics.max_t import PairedTest
from grading.types import TrecEval
from rubricweb.banks.models import Bank
from rubricweb.corpus.command_arguments import collection_named
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import default_min_grade
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.grades.selectors import scored_graders
from rubricweb.leaderboards.board import BoardError, BoardSpec, MissingTopic, lookup

Options = Mapping[str, Any]  # as argparse and call_command give them

LINES = {"table": text_lines, "tex": tex_lines}
"""How a table is printed for people."""
FORMATS = ("json", "tsv", *LINES)


def add_label_arguments(parser: ArgumentParser) -> None:
    _add_item_arguments(parser)
    parser.add_argument(
        "--min-grade",
        type=int,
        metavar="N",
        help="lowest grade that counts (4; 1 for labels and checked answers)",
    )
    parser.add_argument(
        "--mode", default="max", help="label of a passage: max (default), binary, count or calibrated"
    )
    parser.add_argument(
        "--min-answers",
        type=int,
        default=MIN_ANSWERS.default,
        metavar="M",
        help="the label is the best rating that M items reach (1)",
    )
    parser.add_argument("--ratings", default="grader", help="by grader (default), corrected or humans")
    parser.add_argument("--definition", default="papers", help="papers (default), workbench or workbench_0")


def _add_item_arguments(parser: ArgumentParser) -> None:
    """Add the grader, and the items whose grades are used."""
    parser.add_argument("slug", help="the collection")
    text = "the grader, as far as the collection has several: its id in the command `graders`"
    parser.add_argument("--grader", type=int, metavar="ID", help=text)
    parser.add_argument("--prompt-class", default="", metavar="C", help="or its prompt class")
    parser.add_argument("--llm", default="", metavar="L", help="and its model")
    parser.add_argument("--backend", default="", metavar="B", help="and back-end, where these are not enough")
    parser.add_argument(
        "--bank", default="", metavar="NAME", help="default: the one bank that the grader graded"
    )
    parser.add_argument("--bank-version", type=int, metavar="N", help="number of a version of the bank")
    parser.add_argument("--kind", default="", help="question or nugget; default: all that the grader grades")
    parser.add_argument(
        "--by-subtopic", action="store_true", help="by subtopic; boards: their mean, then topics'"
    )
    add_run_arguments(parser)


def add_run_arguments(parser: ArgumentParser) -> None:
    """Add which runs count, with the pool that they make; see `run_slices.find_runs`."""
    parser.add_argument(
        "--task", default="", metavar="T", help="only runs of this task; none: without a task"
    )
    text = "only these runs, with * for any characters: bm25*,mono_t5"
    parser.add_argument("--runs", default="", metavar="A,B", help=text)


def spec_of(options: Options, *, cutoff: int = CUTOFF.default) -> BoardSpec:
    """Return a board of labels. Raise BoardError, which says what there is instead."""
    collection = collection_named(options["slug"], cold=True)
    config = lookup.find_grader(
        collection,
        prompt_class=options["prompt_class"],
        llm=options["llm"],
        backend=options["backend"],
        pk=options["grader"],
    )
    kinds = lookup.find_kinds(config, options["kind"])
    bank = lookup.find_bank(collection, config, options["bank"])
    measure = replace(_labelled(options, config), name=registry.DEFAULT_OF_LABELS, cutoff=cutoff)
    spec = BoardSpec(
        collection,
        config,
        bank,
        kinds,
        lookup.calibrated(config, bank, lookup.check_measure(config, measure)),
        version=lookup.find_version(bank, options["bank_version"]),
        source=lookup.parse_choice(RatingSource, options["ratings"], "ratings"),
        by_subtopic=options["by_subtopic"],
        runs=lookup.find_runs(collection, options["task"], options["runs"]),
    )
    return lookup.check_labels(spec)


def _labelled(options: Options, config: GraderConfig) -> MeasureSpec:
    """Return the parts of a measure that make the labels."""
    stated = options["min_grade"]
    return MeasureSpec(
        min_grade=default_min_grade(config) if stated is None else stated,
        mode=lookup.parse_choice(LabelMode, options["mode"], "mode", label="label mode"),
        min_answers=options["min_answers"],
        definition=lookup.parse_choice(Definition, options["definition"], "definition"),
    )


def add_board_arguments(parser: ArgumentParser) -> None:
    """Add the collection and all that a board depends on, in the words of its address."""
    add_label_arguments(parser)
    parser.add_argument(
        "--measure",
        default=registry.DEFAULT,
        metavar="M",
        help=f"what ranks the runs: cover-4, P_20:5, nDCG@10, or any of {registry.measure_names()}",
    )
    parser.add_argument(
        "--cutoff",
        type=int,
        default=CUTOFF.default,
        help=f"passages that measures of items look at ({CUTOFF.default})",
    )
    parser.add_argument(
        "--columns",
        default="",
        metavar="M,M",
        help=f"further measures, in either spelling; sets of them are {', '.join(registry.measure_sets())}",
    )
    parser.add_argument(
        "--relevant", type=int, default=0, metavar="N", help="trec_eval's first relevant label"
    )
    parser.add_argument(
        "--trec-eval",
        default=str(TrecEval.NINE),
        metavar="V",
        help="whose order of close scores: 9 (default; single precision) or 10 (double)",
    )
    parser.add_argument(
        "--topics",
        default="",
        metavar="A=V",
        help="only topics with a value of an attribute: category=how-to, ambiguity=5..10, ambiguity=high",
    )
    parser.add_argument("--topic", default="", metavar="QUERY_ID", help="only this topic")
    parser.add_argument("--subtopic", default="", metavar="FACET_ID", help="only this subtopic of --topic")
    parser.add_argument("--missing", default="zero", help="a topic that a run lacks: zero (default) or skip")
    parser.add_argument(
        "--test", default=PairedTest.SIGN_FLIPS, help="paired test: sign_flips (default) or studentised"
    )


def board_spec_of(options: Options) -> BoardSpec:
    """Return the board that the options name. Raise BoardError, which says what there is instead."""
    spec = spec_of(options, cutoff=options["cutoff"])
    trec_eval = lookup.parse_choice(TrecEval, options["trec_eval"], "trec_eval", label="version of trec_eval")
    labelled = replace(spec.measure, relevant=options["relevant"], trec_eval=trec_eval)
    measure = lookup.check_measure(spec.config, lookup.parse_measure(options["measure"], labelled))
    limited = replace(
        spec,
        measure=measure,
        missing=lookup.parse_choice(MissingTopic, options["missing"], "missing"),
        topic_slice=lookup.find_topics(spec.collection, options["topics"]),
        topic=options["topic"],
        facet=options["subtopic"],
        test=lookup.parse_choice(PairedTest, options["test"], "test"),
    )
    return lookup.with_columns(lookup.check_scope(limited), options["columns"])


def add_comparing_arguments(parser: ArgumentParser) -> None:
    """Add what is compared, and how it is printed."""
    parser.add_argument("slug", help="the collection")
    parser.add_argument("--prompt-class", action="append", default=[], metavar="C", help="default: all")
    parser.add_argument("--llm", action="append", default=[], metavar="L", help="default: all")
    parser.add_argument("--bank", action="append", default=[], metavar="NAME", help="default: all graded")
    text = "first judgment that is relevant; default: the collection's"
    parser.add_argument("--min-relevant-judgment", type=int, metavar="N", help=text)
    add_run_arguments(parser)
    parser.add_argument("--format", default="json", help="json (default), table, tsv or tex")
    add_json_argument(parser)


def add_json_argument(parser: ArgumentParser) -> None:
    """Add --json, the name that every command which prints has for its JSON."""
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="--format json")


def first_relevant(collection: Collection, options: Options) -> int:
    stated: int | None = options["min_relevant_judgment"]
    return collection.min_relevant if stated is None else stated


def check_format(options: Options) -> None:
    if options["format"] not in FORMATS:
        raise BoardError("format", f"no format {options['format']!r}; known are {', '.join(FORMATS)}")


def graders_named(collection: Collection, options: Options) -> list[GraderConfig]:
    """Return the graders of the named prompt classes and llms; all that can be scored where none is named."""
    configs = [row.config for row in scored_graders(collection)]
    for name in ("prompt_class", "llm"):
        available = sorted({str(getattr(config, name)) for config in configs})
        _require_known(options[name], available, what=name.replace("_", " "))
        configs = [
            config for config in configs if not options[name] or getattr(config, name) in options[name]
        ]
    return configs


def banks_named(collection: Collection, names: Sequence[str]) -> list[Bank]:
    banks = list(collection.banks.all())
    _require_known(names, [bank.name for bank in banks], what="bank")
    return [bank for bank in banks if not names or bank.name in names]


def _require_known(names: Sequence[str], available: Sequence[str], *, what: str) -> None:
    for name in names:
        if name not in available:
            raise BoardError(what, f"no {what} {name}; there are {', '.join(available) or 'none'}")
