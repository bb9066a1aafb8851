"""What a release is made of: its options, and the parts that hold data, from topics to runs."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from django.utils.crypto import salted_hmac

from grading.errors import BadFormat, BadPrompt, UnknownPrompt
from grading.formats import topics, trec
from grading.formats.banks import BY_NAME, Loss, losses as bank_losses
from grading.formats.graded import write_graded
from grading.formats.reading import write_lines
from grading.formats.responses import ResponseDialect, dialect_of, losses, write_responses
from grading.formats.topics import losses as topic_losses
from grading.prompts.prompt import toml_lines
from grading.types import Response
from rubricweb.banks.convert import BankScope
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.secrecy import public
from rubricweb.core import reader
from rubricweb.core.formatting import counted, safe_cell
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Run
from rubricweb.exports import corpus
from rubricweb.exports.banks import BankExport, bank_export
from rubricweb.exports.files import joined
from rubricweb.exports.workbench import LOSSES, graded_lines
from rubricweb.grades import configs, selectors
from rubricweb.leaderboards.board import Board

DIGITS = 8
"""Hex digits of a made-up name: two of a thousand runs share one with a probability of 0.0001."""


@dataclass(frozen=True, slots=True)
class Names:
    """Run tag or team -> its name in the release; empty if they keep their own."""

    runs: Mapping[str, str] = field(default_factory=dict)
    teams: Mapping[str, str] = field(default_factory=dict)

    @property
    def are_made_up(self) -> bool:
        return bool(self.runs)

    def run(self, run_tag: str) -> str:
        return self.runs[run_tag] if self.runs else run_tag

    def team(self, team: str) -> str:
        return self.teams[team] if self.runs and team else team

    def reading(self) -> AbstractContextManager[None]:
        """Read inside the block as everybody, from whom blind ratings are hidden; runs have these names."""
        return reader.reading_as(reader.Reader(run_names=self.runs))

    def found_in(self, path: Path) -> list[str]:
        """Return the own names that stand as whole words in a file, such as in the text of a passage."""
        own = [name for name in (*self.runs, *self.teams) if name]
        taken: set[str] = set()
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line in file:
                there = (name for name in own if name not in taken and name.encode() in line)
                taken.update(
                    name
                    for name in there
                    if re.search(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w-])", line)
                )
        return sorted(taken)

    def lines(self) -> list[str]:
        """Return the mapping as TSV, with a header."""
        both = {"run": self.runs, "team": self.teams}
        rows = [(kind, *pair) for kind, names in both.items() for pair in names.items()]
        return ["kind\tname\tname_in_release", *("\t".join(map(safe_cell, row)) for row in rows)]


def made_up_names(collection: Collection) -> Names:
    """Return a made-up name for each run and team, the same in all releases of the collection.

    They come from the collection's secret salt, so that nobody who has a list of tags can try them.
    """
    tags = set(collection.runs.values_list("run_tag", flat=True))
    tags |= set(collection.official_scores.values_list("run_tag", flat=True))
    teams = set(collection.runs.exclude(team="").values_list("team", flat=True))
    return Names(_named(collection, "run", tags), _named(collection, "team", teams))


def _named(collection: Collection, kind: str, own: Iterable[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for name in sorted(own):
        digest = salted_hmac(
            f"rubricweb.releases.{kind}", name, secret=collection.name_salt, algorithm="sha256"
        ).hexdigest()
        lengths = range(DIGITS, len(digest) + 1)
        names[name] = next(made for n in lengths if (made := f"{kind}-{digest[:n]}") not in names.values())
    return names


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """What an organizer chooses."""

    title: str = ""
    license: str = ""
    """Licence of the data, such as "CC BY 4.0"."""
    citation: str = ""
    contact: str = ""
    has_runs: bool = False
    """Whether it has the rankings and responses of the runs."""
    is_anonymous: bool = False
    """Runs and teams have pseudonyms."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The collection that is released, and how."""

    collection: Collection
    options: ReleaseOptions
    names: Names
    computed: list[tuple[str, Board]] = field(default_factory=list, compare=False)
    """The boards, once some part has asked for them (`boards.boards`)."""

    @property
    def title(self) -> str:
        return self.options.title or self.collection.name


def contents_of(collection: Collection, options: ReleaseOptions) -> Contents:
    return Contents(collection, options, made_up_names(collection) if options.is_anonymous else Names())


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file of a release."""

    name: str
    """Name with its folder: `qrels/main_max.qrels`."""
    write: Callable[[Path], None]
    about: str
    """What it is, in a sentence for the README."""
    losses: tuple[str, ...] = field(default=())
    """What its format cannot say."""


@dataclass(frozen=True, slots=True)
class ReleasePart:
    """A part of every release: a folder."""

    name: str
    title: str
    how: str
    """How it is made, in a sentence for the README."""
    files: Callable[[Contents], Iterator[ReleaseFile]]
    size: Callable[[Contents], str]
    """How much is in it, for the preview: "25 topics"."""


def text_file(
    name: str, about: str, lines: Callable[[], Iterable[str]], losses: tuple[str, ...] = ()
) -> ReleaseFile:
    """Return a file of lines, which are made when it is written."""
    return ReleaseFile(
        name, lambda path: write_lines(path, (line.encode() for line in lines())), about, losses
    )


BANK_DIALECTS = ("workbench", "v3")
ANONYMOUS_LOSS = "what its source says beyond our fields, which may name runs or teams"
MANY = 10
"""From so many items on, the README counts those that lose the same."""
RESPONSES = ResponseDialect.RAG25
"""What responses are written in where nothing tells how they came."""


def topic_files(contents: Contents) -> Iterator[ReleaseFile]:
    export = corpus.topic_export(contents.collection)
    lost = export.losses
    if contents.names.are_made_up:
        export = replace(export, topics=tuple(replace(topic, foreign=None) for topic in export.topics))
        lost = (*topic_losses(export.topics, export.format_name), ANONYMOUS_LOSS)
    ending = export.file_name.rpartition(".")[2]

    def write(path: Path) -> None:
        export.write(path)
        if ending != "tsv":
            sort_keys(path)

    label = next(
        topic_format.label for topic_format in topics.FORMATS if topic_format.name == export.format_name
    )
    yield ReleaseFile(f"topics/topics.{ending}", write, f"the topics, as {label}", lost)


def bank_files(contents: Contents) -> Iterator[ReleaseFile]:
    for bank in contents.collection.banks.all():
        for name in BANK_DIALECTS:
            export = _without_names(bank_export(BankScope(bank), BY_NAME[name]), contents)
            yield from _bank_file(bank, export, (ANONYMOUS_LOSS,) if contents.names.are_made_up else ())


def _bank_file(bank: Bank, export: BankExport, lost: tuple[str, ...]) -> Iterator[ReleaseFile]:
    about = f"the rubric {bank.name}, as {export.dialect.label}"

    def write(path: Path) -> None:
        if export.is_empty:
            raise BadFormat("no item of this rubric has a text")
        if export.refusals:
            raise BadFormat(f"{export.dialect.label} cannot hold this rubric: {export.refusals[0]}")
        path.write_bytes(export.content())
        sort_keys(path)

    lost = (*lost, *_grouped((*export.losses, *export.warnings)))
    yield ReleaseFile(f"banks/{joined(bank.name, export.dialect.name)}.jsonl", write, about, lost)


def _grouped(losses: Iterable[Loss]) -> Iterator[str]:
    """Yield what is lost item by item, but one sentence for what many items lose."""
    by_reason: dict[str, list[Loss]] = defaultdict(list)
    for loss in losses:
        by_reason[loss.what].append(loss)
    for what, alike in by_reason.items():
        yield from map(str, alike) if len(alike) < MANY else [f"{len(alike):,} items: {what}"]


def _without_names(export: BankExport, contents: Contents) -> BankExport:
    """Return the bank without what its files say beyond our fields, where these could name runs."""
    if not contents.names.are_made_up:
        return export
    lines = tuple(
        replace(
            line, items=[replace(item, foreign=None, parts={}) for item in line.items], foreign=None, parts={}
        )
        for line in export.lines
    )
    kept = tuple(bank_losses(lines, export.dialect))
    return replace(export, lines=lines, losses=kept, warnings=())


def prompt_files(contents: Contents) -> Iterator[ReleaseFile]:
    """Yield the words of every grader; those of prompts that came with a file may be unknown."""
    written_as, unknown = {}, []
    for row in selectors.graders(contents.collection):
        try:
            prompt = configs.spec_of(row.config).prompt
        except (UnknownPrompt, BadPrompt):
            unknown.append(f"the words of {row.config.prompt_class} are not known here")
        else:
            written_as[prompt.prompt_id] = prompt
    if written_as:
        texts = [written_as[name] for name in sorted(written_as)]
        about, lost = "the prompts that the graders were asked", tuple(sorted(set(unknown)))
        yield text_file("prompts/prompts.toml", about, partial(toml_lines, texts), lost)


def graded_files(contents: Contents) -> Iterator[ReleaseFile]:
    def write(path: Path) -> None:
        write_graded(path, graded_lines(contents.collection, has_rankings=contents.options.has_runs))

    lost = (*LOSSES, *(() if contents.options.has_runs else ("the rankings of the runs",)))
    about = "the pools with judgments and grades, a topic a line, as the RUBRIC Workbench has them"
    yield ReleaseFile("grades/graded.jsonl.gz", write, about, lost)


def run_files(contents: Contents) -> Iterator[ReleaseFile]:
    """Yield the runs, if the organizer chose so, by their names in the release."""
    if not contents.options.has_runs:
        return
    names = contents.names
    runs = sorted(contents.collection.runs.accepted(), key=lambda run: names.run(run.run_tag))
    if runs:
        yield text_file(
            "runs/runs.tsv", "the runs, with team, task and type", partial(_listed, runs, contents)
        )
    for run in runs:
        name = joined(names.run(run.run_tag))
        if run.rankings.exists():
            yield ReleaseFile(f"runs/{name}.run", partial(_write_run, run, contents), "a run's rankings")
        if run.responses.exists():
            yield _responses(run, name, contents)


def _write_run(run: Run, contents: Contents, path: Path) -> None:
    rows = run.rankings.select_related("run", "topic").order_by("topic__position")
    rankings = (convert.ranking(row) for row in rows)
    trec.write_run(path, (replace(ranking, run_tag=contents.names.run(run.run_tag)) for ranking in rankings))


def _responses(run: Run, name: str, contents: Contents) -> ReleaseFile:
    rows = run.responses.select_related("run", "topic").order_by("topic__position")
    read, texts = [convert.response(row) for row in rows], {r.topic.query_id: r.topic.text for r in rows}
    dialect, responses = _dialect(read), [_response(response, contents) for response in read]

    def write(path: Path) -> None:
        write_responses(path, responses, dialect, texts)
        sort_keys(path)

    lost = tuple(
        f"{response.query_id}: {loss}"
        for response in responses
        for loss in losses(response, dialect, texts[response.query_id])
    )
    about = f"a run's responses, a topic a line, as {dialect.label}"
    return ReleaseFile(f"responses/{name}.jsonl", write, about, lost)


def _dialect(responses: list[Response]) -> ResponseDialect:
    """Return the most frequent dialect that has lines; BioGen's has none."""
    dialects = Counter(dialect for response in responses if (dialect := dialect_of(response.foreign)))
    dialects.pop(ResponseDialect.BIOGEN24, None)
    return dialects.most_common(1)[0][0] if dialects else RESPONSES


def _response(response: Response, contents: Contents) -> Response:
    names = contents.names
    if not names.are_made_up:
        return response
    run_tag, team = names.run(response.run_tag), names.team(response.team)
    return replace(response, run_tag=run_tag, team=team, foreign={})


def _listed(runs: list[Run], contents: Contents) -> Iterator[str]:
    yield "\t".join(("run_tag", "team", "task", "type", "priority"))
    for run in runs:
        team, tag = contents.names.team(run.team), contents.names.run(run.run_tag)
        cells = (tag, team, run.task, run.type, "" if run.priority is None else run.priority)
        yield "\t".join(map(safe_cell, cells))


def sort_keys(path: Path) -> None:
    """Order the keys of every object: PostgreSQL does not keep the order in which a file had them."""
    rows = [json.loads(row) for row in path.read_bytes().split(b"\n") if row.strip()]
    written = (json.dumps(row, ensure_ascii=False, sort_keys=True).encode() for row in rows)
    write_lines(path, written)


def _size_of_runs(contents: Contents) -> str:
    runs = contents.collection.runs.accepted().count()
    return counted(runs, "run") if contents.options.has_runs else "left out"


def _size_of_banks(contents: Contents) -> str:
    items = public(Item.objects.active().filter(bank__collection=contents.collection)).count()
    return f"{counted(contents.collection.banks.count(), 'rubric')}, {counted(items, 'item')}"


TOPICS = ReleasePart(
    "topics",
    "Topics",
    "In the format in which most of them came.",
    topic_files,
    lambda contents: counted(contents.collection.topics.count(), "topic"),
)
BANKS = ReleasePart(
    "banks",
    "Rubrics",
    "Active items, in the Workbench's dialect and AutoJudge's.",
    bank_files,
    _size_of_banks,
)
PROMPTS = ReleasePart(
    "prompts",
    "Prompts",
    "What each grader was asked, word by word.",
    prompt_files,
    lambda contents: counted(len(selectors.graders(contents.collection)), "grader"),
)
GRADES = ReleasePart(
    "grades",
    "Graded passages",
    "Every grade of an active item, with the model's reply, unless it was dropped.",
    graded_files,
    lambda contents: counted(sum(row.grades for row in selectors.graders(contents.collection)), "grade"),
)
RUNS = ReleasePart(
    "runs", "Runs and responses", "Accepted runs, as they were submitted.", run_files, _size_of_runs
)
