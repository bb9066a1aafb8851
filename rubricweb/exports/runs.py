"""A run as a file: its ranking as trec_eval reads it, or its answers in any dialect, with what is lost."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading import types
from grading.errors import BadFormat
from grading.formats.responses import Dialect, dialect_of, losses, write_responses
from grading.formats.trec import write_run
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus import convert
from rubricweb.corpus.access import run_for_organizer
from rubricweb.corpus.models import Run
from rubricweb.exports.naming import joined
from rubricweb.exports.topics import SHOWN

TREC_RUN = "trec-run"
UNSAID = ("team", "task", "type", "priority", "description")
"""Of a run: what no ranking says."""


@dataclass(frozen=True, slots=True)
class RunExport:
    """A run in one format, before it is written."""

    run: Run
    format_name: str
    losses: tuple[str, ...]
    """What the file will lack or make up, one entry an item."""

    @property
    def file_name(self) -> str:
        ending = {TREC_RUN: "run", Dialect.BIOGEN24: "json"}.get(self.format_name, "jsonl")
        return joined(self.run.collection.slug, self.run.run_tag, self.format_name) + f".{ending}"

    def content(self) -> bytes:
        """Raises `BadFormat` for an id that the format cannot hold."""
        with tempfile.TemporaryDirectory(prefix="rubricweb-") as folder:
            path = Path(folder) / self.file_name
            if self.format_name == TREC_RUN:
                rows = self.run.rankings.select_related("run", "topic").order_by("topic__position")
                write_run(path, map(convert.ranking, rows))
            else:
                write_responses(path, _responses(self.run), Dialect(self.format_name))
            return path.read_bytes()


class RunFormatForm(forms.Form):
    """Which format the run is exported in: those that can say anything of it."""

    format = forms.ChoiceField(label="Format")

    def __init__(self, address: object, run: Run) -> None:
        answers = _responses(run)
        super().__init__(address or {"format": _usual_format(answers)})  # type: ignore[arg-type]
        offered = [(dialect.value, dialect.label) for dialect in Dialect if answers]
        offer_choices(self, "format", [*offered, (TREC_RUN, "TREC run: the ranking")])


def run_export(run: Run, format_name: str) -> RunExport:
    """Return the export. Raises `BadFormat` for an id that the format cannot hold."""
    answers = _responses(run)
    if format_name != TREC_RUN:
        lost = partial(losses, dialect=Dialect(format_name))
        found = [f"{answer.query_id}: {loss}" for answer in answers for loss in lost(answer)]
        return RunExport(run, format_name, tuple(found))
    unsaid = [f"the run's {name}" for name in UNSAID if getattr(run, name)]
    texts = [f"{answer.query_id}: the text of the answer, and what it cites" for answer in answers]
    return RunExport(run, format_name, (*unsaid, *texts))


def usual_format(run: Run) -> str:
    """Return the dialect in which most of the run's answers came; without any, that of rankings."""
    return _usual_format(_responses(run))


@require_safe
def run_page(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Choose a format, and see what it cannot say before downloading."""
    run = run_for_organizer(request.user, slug, run_id)
    form = RunFormatForm(request.GET, run)
    file_address = reverse("exports:run-file", args=[slug, run_id])
    context = {
        "collection": run.collection,
        "form": form,
        "title": f"Run {run.run_tag}",
        "intro": "Its ranking as trec_eval reads it, or its answers in a format of a track.",
        "shown": SHOWN,
    }
    try:
        if form.is_valid():
            context["export"] = export = run_export(run, form.cleaned_data["format"])
            context["file_address"] = f"{file_address}?format={export.format_name}"
    except BadFormat as error:
        form.add_error(
            "format",
            f"The run cannot be written in this format: {error.problem}.",
        )
    if form.errors:
        return form_response(request, "exports/file.html", context, part="file")
    return page_or_part(request, "exports/file.html", context, part="file")


@require_safe
def run_file(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    run = run_for_organizer(request.user, slug, run_id)
    form = RunFormatForm(request.GET, run)
    if not form.is_valid():
        return redirect("exports:run", slug, run_id)
    try:
        export = run_export(run, form.cleaned_data["format"])
        content = export.content()
    except BadFormat as error:
        messages.error(
            request,
            f"The run cannot be written in this format: {error.problem}.",
        )
        return redirect("exports:run", slug, run_id)
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{export.file_name}"'
    return response


def _responses(run: Run) -> list[types.Response]:
    rows = run.responses.select_related("run", "topic").order_by("topic__position")
    return [convert.response(row) for row in rows]


def _usual_format(answers: list[types.Response]) -> str:
    if not answers:
        return TREC_RUN
    known = Counter(dialect for one in answers if (dialect := dialect_of(one.foreign)))
    return known.most_common(1)[0][0].value if known else Dialect.RAG25.value
