"""Import a collection from files, or add files to one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from grading.errors import BadFormat, Unclear
from grading.formats import Content, registry
from grading.formats.assignments import PEOPLE
from grading.segmentation import PassagesOf
from grading.types import MAX_RATING
from rubricweb.banks.models import Bank
from rubricweb.core.reader import OperatorCommand
from rubricweb.corpus.import_base import label_of
from rubricweb.corpus.import_judgments import SeveralJudgments
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import board_file, shipped_boards
from rubricweb.grades.import_collection import (
    DEFAULT_BANK,
    NUGGET_GRADER,
    ImportFiles,
    ImportSummary,
    import_collection,
)

FILES = {
    "--queries": "topics: TSV, JSON dictionary of query id and text, or JSON lines of AutoJudge, RAGTIME, "
    "RAG'25 or BioGen",
    "--qrels": "human judgments as TREC qrels",
    "--labels-of": "the reranker requests that UMBRELA labelled, in their order",
    "--official": "official leaderboard: JSON of ranks, TSV with the header run_tag and rank or score, "
    "a board that was exported as TSV or JSON, output of trec_eval, or a leaderboard of AutoJudge; or one "
    f"that comes with RubricWeb: {', '.join(shipped_boards())}",
}
REPEATED_FILES = {
    "--passages": "passages or documents without grades: JSON lines, TSV, or reranker requests, whose "
    "candidates enter the pools; repeatable",
    "--graded": "Workbench file of passages with judgments, rankings and grades; repeatable",
    "--labels": "labels of a grader, never judgments: qrels of a judge, with --by, repeatable; or "
    "output of UMBRELA (0 to 3, or 0 to 4 where it has a 4), with --labels-of",
    "--assignments": "assignments of nuggets to whole answers (nuggetizer, NIST), verdicts on criteria "
    "(RAGDoll), or assessments of reports by the short answers of a --bank (DRAGUN), with --by; repeatable",
    "--nugget-grades": "grades of nuggets by a rubric judge of AutoJudge, with --by; repeatable",
    "--ratings": "ratings of people as Export wrote them, or as Argilla, doccano, Label Studio or "
    "autojudge-annotate export them; repeatable",
    "--flags": "flags and comments as Export wrote them; repeatable",
    "--votes": "votes on answers as the vote board wrote them, event by event; repeatable",
    "--battles": "battles of an arena, one vote a line: model_a, model_b, winner and more, with --by; "
    "repeatable",
    "--support-labels": "labels of support by answer, as NIST and RAGDoll have them, with --by; or as Export "
    "wrote them; repeatable",
    "--bank": "bank of questions or nuggets in any dialect, or a folder of them; repeatable",
    "--responses": "generated responses of runs (RAG, RAGTIME, DRAGUN, AutoJudge): a file or a folder; "
    "repeatable",
}
AUTHORED = ("assignments", "support_labels", "battles", "nugget_grades")
"""Files whose author `--by` names; `--labels` without `--labels-of` are some, too."""
NEEDS_AUTHOR = ("assignments", "labels")
EXPECTED_AUTHOR = "--by NAME for all files, or --by FILE=NAME"
FLAGS = {
    "--segment": "cut the documents of --passages into windows of ten sentences, five apart",
    "--replace": "take what contradicts an earlier import in place of the old",
    "--json": "print the summary as one JSON document",
}


class Command(OperatorCommand):
    help = (
        "Make the collection SLUG from files, or add them to it. Files may be gzip-compressed or plain. "
        "Importing the same files again changes nothing."
    )
    requires_system_checks = ()  # they load every page: a tenth of an import's memory

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--name", default="", help="the collection's name (a new one: SLUG)")
        for option, text in FILES.items():
            parser.add_argument(option, type=Path, metavar="FILE", help=text)
        for option, text in REPEATED_FILES.items():
            parser.add_argument(option, type=Path, metavar="FILE", action="append", default=[], help=text)
        text = "the run that the order of the candidates in reranker requests makes (default: none)"
        parser.add_argument("--candidates-run", default="", metavar="TAG", help=text)
        parser.add_argument("--runs", type=Path, metavar="DIR", help="folder of run files (.run, .txt, .gz)")
        parser.add_argument(
            "--bank-name", default=DEFAULT_BANK, help="takes the items of --bank (%(default)s)"
        )
        text = (
            "what of a response becomes a passage to grade (%(default)s); answers that come with labels or "
            "assignments are one passage"
        )
        parser.add_argument(
            "--passages-of", type=PassagesOf, choices=list(PassagesOf), default=PassagesOf.SENTENCE, help=text
        )
        _add_foreign_arguments(parser)
        text = "the first judgment that counts as relevant (a new collection: 1)"
        parser.add_argument("--min-relevant", type=int, metavar="N", help=text)
        text = "which of several judgments of a passage counts (default: highest; with --replace: last)"
        parser.add_argument("--judgments", type=SeveralJudgments, choices=list(SeveralJudgments), help=text)
        for option, text in FLAGS.items():
            parser.add_argument(option, action="store_true", help=text)

    def handle(self, *, slug: str, **options: Any) -> None:  # Any: what argparse parsed, by name
        files = _files(options)
        _check(slug, files)
        summary = _imported(slug, files)
        self.stdout.write(json.dumps(_document(summary)) if options["json"] else _lines(summary))
        if not summary.collection.memberships.exists():
            self.stderr.write(
                f"Nobody is a member yet: {settings.COMMAND} set_role {slug} USERNAME organizer"
            )


def _imported(slug: str, files: ImportFiles) -> ImportSummary:
    try:
        return import_collection(slug, files=files, by=None)
    except Unclear as error:
        ways = " or ".join(f"--read-as {shlex.quote(f'{error.file}={name}')}" for name in error.formats)
        raise CommandError(
            f"{' '.join(str(error).split(chr(10)))}; to read it nevertheless: {ways}"
        ) from error
    except BadFormat as error:
        raise CommandError(" ".join(str(error).split("\n"))) from error


def _files(options: Mapping[str, Any]) -> ImportFiles:  # Any: what argparse parsed, by name
    files = _given_files(options)
    read_as = _formats_of(files, options["read_as"])
    if files.official and options["official_format"]:
        read_as[files.official] = options["official_format"]
    return replace(files, read_as=read_as)


def _authors(options: Mapping[str, Any]) -> dict[Path, str]:  # Any: what argparse parsed, by name
    """Return who made what is in each file that names nobody.

    Raises CommandError for a file without an author, and for an author of no file.
    """
    if options["labels_of"] and len(options["labels"]) != 1:
        raise CommandError("--labels-of goes with one --labels, the output of UMBRELA")
    taking = [*AUTHORED, *(() if options["labels_of"] else ("labels",))]
    files = [path for name in taking for path in options[name]]
    authors = dict.fromkeys(options["nugget_grades"], NUGGET_GRADER)
    of_all = [given.strip() for given in options["by"] if "=" not in given]
    if len(of_all) > 1 or (options["by"] and not files):
        names = ", ".join(of_all) or options["by"][0]
        raise CommandError(
            f"--by {names}: {len(files)} files that have an author, expected {EXPECTED_AUTHOR}"
        )
    authors |= dict.fromkeys(files, of_all[0]) if of_all and of_all[0] else {}
    for given in options["by"]:
        pattern, is_of_file, name = given.partition("=")
        meant = [path for path in files if _is_named(path, pattern)] if is_of_file and name.strip() else []
        if is_of_file and not meant:
            raise CommandError(f"--by {given}: no file is named {pattern}, expected {EXPECTED_AUTHOR}")
        authors |= dict.fromkeys(meant, name.strip())
    unsaid = [
        path for name in NEEDS_AUTHOR for path in options[name] if path in files and path not in authors
    ]
    if unsaid:
        names = ", ".join(path.name for path in unsaid)
        raise CommandError(
            f"{names}: the file does not say whose labels it has, expected {EXPECTED_AUTHOR} (output of "
            "UMBRELA: --labels-of)"
        )
    return authors


def _is_named(path: Path, pattern: str) -> bool:
    return path.name == pattern or fnmatchcase(path.name, pattern)


def _formats_of(files: ImportFiles, given: Sequence[str]) -> dict[Path, str]:
    """Return the formats that --read-as names, by file.

    Raises CommandError for an unknown file or format.
    """
    read_as: dict[Path, str] = {}
    for option in given:
        pattern, _, name = option.rpartition("=")
        try:
            registry.find(name)
        except BadFormat as error:
            raise CommandError(f"--read-as {option}: {error.problem}") from error
        meant = [path for path in _paths_of(files) if _is_named(path, pattern)]
        if not meant:
            raise CommandError(
                f"--read-as {option}: no file is named {pattern or 'so'}, expected NAME=FORMAT"
            )
        read_as |= dict.fromkeys(meant, name)
    return read_as


def _given_files(options: Mapping[str, Any]) -> ImportFiles:  # Any: what argparse parsed, by name
    return ImportFiles(
        name=options["name"].strip(),
        queries=options["queries"],
        passages=tuple(options["passages"]),
        is_segmenting=options["segment"],
        candidates_run=options["candidates_run"],
        graded=tuple(options["graded"]),
        labels=options["labels"][0] if options["labels_of"] else None,
        labels_of=options["labels_of"],
        judge_labels=() if options["labels_of"] else tuple(options["labels"]),
        scale=options["scale"],
        assignments=tuple(options["assignments"]),
        nugget_grades=tuple(options["nugget_grades"]),
        ratings=tuple(options["ratings"]),
        flags=tuple(options["flags"]),
        votes=tuple(options["votes"]),
        battles=tuple(options["battles"]),
        support=tuple(options["support_labels"]),
        authors=_authors(options),
        after_prediction_of=options["after_prediction_of"].strip(),
        banks=tuple(options["bank"]),
        bank_name=options["bank_name"].strip(),
        runs=options["runs"],
        responses=tuple(options["responses"]),
        passages_of=options["passages_of"],
        qrels=options["qrels"],
        official=board_file(options["official"]) if options["official"] else None,
        official_measure=options["official_measure"],
        min_relevant=options["min_relevant"],
        judgments=options["judgments"],
        replace=options["replace"],
    )


def _add_foreign_arguments(parser: CommandParser) -> None:
    """Add the options on what files of other tools do not state themselves."""
    text = (
        f"author of files that do not say whose labels, assignments, grades or votes they have: {PEOPLE}, or "
        f"the name of a grader (of --nugget-grades: {NUGGET_GRADER} unless named; of --battles: who voted "
        "where a line has no judge); NAME alone is of all such files; repeatable"
    )
    parser.add_argument("--by", action="append", default=[], metavar="[FILE=]NAME", help=text)
    text = "the highest label on the scale of the qrels of --labels, which begins at 0 (their highest label)"
    parser.add_argument("--scale", type=int, choices=range(1, MAX_RATING + 1), metavar="N", help=text)
    text = "the model whose labels people saw and corrected (default: they labelled from scratch)"
    parser.add_argument("--after-prediction-of", default="", metavar="NAME", help=text)
    text = "which measure of --official, if that has several (ndcg_cut_10, or map)"
    parser.add_argument("--official-measure", default="", metavar="M", help=text)
    explanation = (
        "read the file of that name, or all that a pattern such as *.run names, as the format, whatever its "
        "content seems to be; repeatable"
    )
    parser.add_argument("--read-as", action="append", default=[], metavar="NAME=FORMAT", help=explanation)
    text = "what --official is, where its content does not tell"
    formats = [reader.name for reader in registry.of_content(Content.LEADERBOARD)]
    parser.add_argument("--official-format", default="", choices=formats, help=text)


def _check(slug: str, files: ImportFiles) -> None:
    given = (
        files.queries,
        files.passages,
        files.graded,
        files.labels,
        files.judge_labels,
        files.assignments,
        files.nugget_grades,
        files.ratings,
        files.flags,
        files.votes,
        files.support,
        files.battles,
        files.banks,
        files.runs,
        files.responses,
        files.qrels,
        files.official,
    )
    if not any(given):
        is_known = Collection.objects.filter(slug=slug).exists()
        if not is_known or not (files.name or files.min_relevant is not None):
            raise CommandError(
                "nothing to import: name at least one file, such as --queries FILE or --graded FILE"
            )
    try:
        Collection(slug=slug, name=files.name or slug, min_relevant=files.min_relevant or 0).clean_fields()
        Bank(name=files.bank_name).clean_fields(exclude=["collection"])
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        raise CommandError(f"{field.replace('_', ' ')}: {problems[0]}") from error


def _document(summary: ImportSummary) -> dict[str, object]:
    return {
        "collection": summary.collection.slug,
        "changed": summary.has_changed,
        "counts": {kind: asdict(counts) for kind, counts in summary.counts.items()},
        "trec_eval_order": summary.reordered,
        "notes": list(summary.notes),
    }


def _lines(summary: ImportSummary) -> str:
    rows = [
        f"{label_of(kind):28} {counts.new:>9,} new "
        f"{counts.changed:>9,} changed {counts.unchanged:>9,} unchanged"
        for kind, counts in summary.counts.items()
    ]
    notes = [f"Note: {note}." for note in summary.notes]
    ending = "Imported." if summary.has_changed else "Nothing changed: all of this was already there."
    return "\n".join([f"Collection {summary.collection.slug}", *rows, *notes, ending])


def _paths_of(files: ImportFiles) -> list[Path]:
    """Return all files of the import that exist, those of folders included."""
    named = [files.queries, files.qrels, files.official, files.runs, *files.run_files]
    named += [files.labels, files.labels_of, *files.judge_labels, *files.assignments]
    named += [*files.passages, *files.graded, *files.nugget_grades, *files.banks, *files.responses]
    named += [*files.ratings, *files.flags, *files.votes, *files.support, *files.battles]
    paths = [path for path in named if path]
    inside = [path for folder in paths if folder.is_dir() for path in folder.iterdir()]
    return [path for path in (*paths, *inside) if path.is_file()]
