"""What the commands of boards and qrels share: their arguments, and the spec that these name."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from rubricweb.corpus.models import Collection
from rubricweb.grades.scoring import Measure
from rubricweb.leaderboards import choices
from rubricweb.leaderboards.boards import BoardSpec
from rubricweb.leaderboards.errors import BoardError

Options = Mapping[str, Any]  # as argparse and call_command give them


def add_label_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("slug", help="the collection")
    parser.add_argument("--prompt-class", required=True, metavar="C")
    parser.add_argument("--llm", required=True, metavar="L")
    parser.add_argument(
        "--backend", default="", metavar="B", help="where llm and prompt class are not enough"
    )
    parser.add_argument(
        "--bank", default="", metavar="NAME", help="default: the one bank that the grader graded"
    )
    parser.add_argument("--kind", default="", help="question or nugget; default: all that the grader grades")
    parser.add_argument(
        "--min-grade",
        type=int,
        metavar="N",
        help="lowest grade that counts (4; 1 for labels and checked answers)",
    )
    parser.add_argument("--mode", default="max", help="label of a passage: max (default), binary or count")
    parser.add_argument(
        "--min-answers",
        type=int,
        default=1,
        metavar="M",
        help="the label is the best rating that M items reach (1)",
    )


def spec_of(options: Options, *, measure: str, cutoff: int = 20) -> BoardSpec:
    """Raises BoardError, which says what there is instead."""
    collection = collection_named(options["slug"])
    config = choices.grader_named(
        collection, prompt_class=options["prompt_class"], llm=options["llm"], backend=options["backend"]
    )
    kinds = choices.kinds_chosen(config, options["kind"])
    bank = choices.bank_named(collection, config, options["bank"])
    stated = options["min_grade"]
    min_grade = choices.default_min_grade(config) if stated is None else stated
    wanted = Measure(measure, min_grade, cutoff, choices.mode_named(options["mode"]), options["min_answers"])
    return BoardSpec(collection, config, bank, kinds, choices.measure_chosen(config, wanted))


def collection_named(slug: str) -> Collection:
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None:
        known = ", ".join(Collection.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise BoardError("collection", f"no collection {slug}; there are {known}")
    return collection
