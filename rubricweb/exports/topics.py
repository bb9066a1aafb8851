"""Topics as a file of any format, with what that format cannot say of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading.errors import BadFormat
from grading.formats import topics as topic_files
from grading.formats.topic_dialects import TopicEntry
from grading.formats.topics import FORMATS, TOPICS_TSV, format_name_of, write_topics
from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus import convert
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.exports.naming import joined
from rubricweb.submissions.access import collection_with_topics

SHOWN = 500
"""How many losses the page lists."""


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
        """Raises `BadFormat` for a text that the format cannot hold."""
        write_topics(path, self.topics, self.format_name)

    def content(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="rubricweb-") as folder:
            path = Path(folder) / self.file_name
            self.write(path)
            return path.read_bytes()


def topic_export(collection: Collection, format_name: str = "") -> TopicExport:
    """Return the export; without a format, that in which most topics came."""
    topics = tuple(convert.topic_entry(row) for row in collection.topics.all())
    chosen = format_name or usual_format(topics)
    return TopicExport(collection, chosen, topics, tuple(topic_files.losses(topics, chosen)))


def usual_format(topics: tuple[TopicEntry, ...]) -> str:
    """The format in which most topics came."""
    counted = Counter(format_name_of(topic) for topic in topics).most_common(1)
    return counted[0][0] if counted else TOPICS_TSV


class TopicFormatForm(forms.Form):
    """Which format the topics are exported in."""

    format = forms.ChoiceField(label="Format", choices=[(one.name, one.label) for one in FORMATS])


@require_safe
def topics_page(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a format, and see what it cannot say before downloading."""
    collection = collection_for(request.user, slug)
    export = topic_export(collection)
    form = TopicFormatForm(request.GET or {"format": export.format_name})
    context = {
        "collection": collection,
        "form": form,
        "title": "Topics",
        "intro": "With narratives, backgrounds and limits, if the format has a place for them.",
        "shown": SHOWN,
    }
    if not form.is_valid():
        return form_response(request, "exports/file.html", context, part="file")
    context["export"] = export = topic_export(collection, form.cleaned_data["format"])
    context["file_address"] = f"{reverse('exports:topics-file', args=[slug])}?format={export.format_name}"
    return page_or_part(request, "exports/file.html", context, part="file")


@require_safe
def topics_file(request: HtmxRequest, slug: str) -> HttpResponse:
    """The topics in the format of the address, or without one in that in which most came."""
    collection = collection_with_topics(request.user, slug)
    back = "exports:topics" if roles.holds(request.user, collection, roles.TO_VIEW) else "submissions:submit"
    form = TopicFormatForm(request.GET)
    if request.GET and not form.is_valid():
        return redirect(back, slug)
    export = topic_export(collection, form.cleaned_data["format"] if request.GET else "")
    try:
        content = export.content()
    except BadFormat as error:
        messages.error(
            request,
            f"The topics cannot be written in this format: {error.problem}.",
        )
        return redirect(back, slug)
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{export.file_name}"'
    return response
