"""Topics and runs as files of any format, with what it cannot say of them; passages as JSON lines."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading import types
from grading.errors import BadFormat
from grading.formats import topics as topic_files
from grading.formats.passages import PassageEntry, passage_lines
from grading.formats.responses import ResponseDialect, dialect_of, losses, write_responses
from grading.formats.topic_dialects import TopicEntry
from grading.formats.topics import FORMATS, TOPICS_TSV, format_name_of, write_topics
from grading.formats.trec import write_run
from rubricweb.accounts import roles
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus import convert, duplicates
from rubricweb.corpus.access import collection_for, run_for_organizer
from rubricweb.corpus.models import Collection, Run
from rubricweb.exports.files import file_page, joined
from rubricweb.submissions.access import collection_with_topics

TREC_RUN = "trec-run"
UNSAID = ("team", "task", "type", "priority", "description")
"""Fields of a run that no ranking file holds."""


@dataclass(frozen=True, slots=True)
class TopicExport:
    """A collection's topics in one format, before they are written."""

    collection: Collection
    format_name: str
    topics: tuple[TopicEntry, ...]
    losses: tuple[str, ...]
    """What the file will lack: one entry a topic and field."""

    @property
    def file_name(self) -> str:
        ending = {TOPICS_TSV: "tsv", "workbench-queries": "json"}.get(self.format_name, "jsonl")
        return joined(self.collection.slug, "topics", self.format_name) + f".{ending}"

    def write(self, path: Path) -> None:
        """Write the topics. Raises `BadFormat` for a text that the format cannot hold."""
        write_topics(path, self.topics, self.format_name)

    def content(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="rubricweb-") as folder:
            path = Path(folder) / self.file_name
            self.write(path)
            return path.read_bytes()


def topic_export(collection: Collection, format_name: str = "") -> TopicExport:
    """Return the export; without a format, that in which most topics came."""
    topics = tuple(convert.topic_entry(row) for row in collection.topics.all())
    counted = Counter(map(format_name_of, topics)).most_common(1)
    chosen = format_name or (counted[0][0] if counted else TOPICS_TSV)
    return TopicExport(collection, chosen, topics, tuple(topic_files.losses(topics, chosen)))


class TopicFormatForm(forms.Form):
    """Which format the topics are exported in."""

    format = forms.ChoiceField(
        label="Format", choices=[(topic_format.name, topic_format.label) for topic_format in FORMATS]
    )


@require_safe
def topics_page(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a format, and see what it cannot say before downloading."""
    collection = collection_for(request.user, slug)
    export = topic_export(collection)
    form = TopicFormatForm(request.GET or {"format": export.format_name})
    return file_page(
        request,
        collection,
        form,
        topic_export(collection, form.cleaned_data["format"]) if form.is_valid() else None,
        title="Topics",
        intro="With narratives, backgrounds and limits, if the format has a place for them.",
        file_address=f"{reverse('exports:topics-file', args=[slug])}?format={form['format'].value()}",
    )


@require_safe
def topics_file(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the topics in the format of the address, or by default in that in which most came."""
    collection = collection_with_topics(request.user, slug)
    back = "exports:topics" if roles.holds(request.user, collection, roles.TO_VIEW) else "submissions:submit"
    form = TopicFormatForm(request.GET)
    if request.GET and not form.is_valid():
        return redirect(back, slug)
    export = topic_export(collection, form.cleaned_data["format"] if request.GET else "")
    try:
        content = export.content()
    except BadFormat as error:
        messages.error(request, f"The topics cannot be written in this format: {error.problem}.")
        return redirect(back, slug)
    return download(content, name=export.file_name, content_type="text/plain; charset=utf-8")


@dataclass(frozen=True, slots=True)
class RunExport:
    """A run in one format, before it is written."""

    run: Run
    format_name: str
    losses: tuple[str, ...]
    """What the file will lack or make up, one entry an item."""

    @property
    def file_name(self) -> str:
        ending = {TREC_RUN: "run", ResponseDialect.BIOGEN24: "json"}.get(self.format_name, "jsonl")
        return joined(self.run.collection.slug, self.run.run_tag, self.format_name) + f".{ending}"

    def content(self) -> bytes:
        """Return the file. Raises `BadFormat` for an id that the format cannot hold."""
        with tempfile.TemporaryDirectory(prefix="rubricweb-") as folder:
            path = Path(folder) / self.file_name
            if self.format_name == TREC_RUN:
                rows = self.run.rankings.select_related("run", "topic").order_by("topic__position")
                write_run(path, map(convert.ranking, rows))
            else:
                texts = _topic_texts(self.run)
                write_responses(path, _responses(self.run), ResponseDialect(self.format_name), texts)
            return path.read_bytes()


class RunFormatForm(forms.Form):
    """Which format the run is exported in: those that can say anything of it."""

    format = forms.ChoiceField(label="Format")

    def __init__(self, address: object, run: Run) -> None:
        answers = _responses(run)
        super().__init__(address or {"format": _usual_format(answers)})  # type: ignore[arg-type]
        offered = [(dialect.value, dialect.label) for dialect in ResponseDialect if answers]
        offer_choices(self, "format", [*offered, (TREC_RUN, "TREC run: the ranking")])


def run_export(run: Run, format_name: str) -> RunExport:
    """Return the export; an empty format is the run's usual one.

    Raises `BadFormat` for an id that the format cannot hold.
    """
    answers = _responses(run)
    format_name = format_name or _usual_format(answers)
    if format_name != TREC_RUN:
        lost, topics = partial(losses, dialect=ResponseDialect(format_name)), _topic_texts(run)
        problems = [
            f"{answer.query_id}: {loss}"
            for answer in answers
            for loss in lost(answer, topic_text=topics[answer.query_id])
        ]
        return RunExport(run, format_name, tuple(problems))
    unsaid = [f"the run's {name}" for name in UNSAID if getattr(run, name)]
    texts = [f"{answer.query_id}: the text of the answer, and what it cites" for answer in answers]
    return RunExport(run, format_name, (*unsaid, *texts))


@require_safe
def run_page(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Choose a format, and see what it cannot say before downloading."""
    run = run_for_organizer(request.user, slug, run_id)
    form = RunFormatForm(request.GET, run)
    export = None
    try:
        if form.is_valid():
            export = run_export(run, form.cleaned_data["format"])
    except BadFormat as error:
        form.add_error("format", f"The run cannot be written in this format: {error.problem}.")
    file_address = reverse("exports:run-file", args=[slug, run_id])
    return file_page(
        request,
        run.collection,
        form,
        export,
        title=f"Run {run.run_tag}",
        intro="Its ranking as trec_eval reads it, or its answers in a format of a track.",
        file_address=f"{file_address}?format={form['format'].value()}",
    )


@require_safe
def run_file(request: HtmxRequest, slug: str, run_id: int) -> HttpResponseBase:
    run = run_for_organizer(request.user, slug, run_id)
    form = RunFormatForm(request.GET, run)
    if not form.is_valid():
        return redirect("exports:run", slug, run_id)
    try:
        export = run_export(run, form.cleaned_data["format"])
        content = export.content()
    except BadFormat as error:
        messages.error(request, f"The run cannot be written in this format: {error.problem}.")
        return redirect("exports:run", slug, run_id)
    return download(content, name=export.file_name, content_type="text/plain; charset=utf-8")


def _responses(run: Run) -> list[types.Response]:
    rows = run.responses.select_related("run", "topic").order_by("topic__position")
    return [convert.response(row) for row in rows]


def _topic_texts(run: Run) -> dict[str, str]:
    """Return the texts of the topics that the run answered, by query id."""
    return dict(run.responses.values_list("topic__query_id", "topic__text"))


def _usual_format(answers: list[types.Response]) -> str:
    """Return the dialect in which most of the answers came; without any, that of rankings."""
    if not answers:
        return TREC_RUN
    dialects = Counter(dialect for answer in answers if (dialect := dialect_of(answer.foreign)))
    return dialects.most_common(1)[0][0].value if dialects else ResponseDialect.RAG25.value


class NotSearched(Exception):
    """No search for near-duplicates has ended, so that none can be left out; the text says so."""


def passages_of(collection: Collection, *, has_duplicates: bool = True) -> Iterator[PassageEntry]:
    """Return the passages by doc id; `has_duplicates=False` keeps the representative of each group only.

    Raises NotSearched before the first passage.
    """
    rows = collection.passages.order_by("doc_id")
    if has_duplicates:
        return convert.passage_entries(rows)
    if duplicates.latest_search(collection) is None:
        raise NotSearched(f"Nobody has looked for near-duplicates in {collection} yet.")
    redundant = duplicates.redundant_doc_ids(collection)
    return (entry for entry in convert.passage_entries(rows) if entry.doc_id not in redundant)


@require_safe
def passages_file(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the passages, for people who see the names of runs; `deduplicated=1` for representatives.

    Without a search nothing is a near-duplicate, and all passages come.
    """
    collection = collection_for(request.user, slug, needed=roles.TO_SEE_RUNS)
    is_deduplicated = bool(request.GET.get("deduplicated"))
    is_searched = duplicates.latest_search(collection) is not None
    entries = passages_of(collection, has_duplicates=not (is_deduplicated and is_searched))
    name = f"{slug}_passages{'_deduplicated' if is_deduplicated else ''}.jsonl"
    return download(passage_lines(entries), name=name, content_type="application/jsonl; charset=utf-8")
