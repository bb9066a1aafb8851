"""Downloads of labels, boards and flags; the page that offers them is `releases.share`."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading.errors import BadFormat
from grading.formats.trec import qrels_lines
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus import access
from rubricweb.corpus.pseudonyms import naming as naming_of_people
from rubricweb.exports import flags as flag_files
from rubricweb.exports import naming, selectors
from rubricweb.exports.flags import FlagsExportForm
from rubricweb.leaderboards.board.files import WRITERS
from rubricweb.leaderboards.forms import BoardForm, LabelForm


@require_safe
def qrels(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """The qrels file, without comments, which trec_eval does not accept."""
    collection = access.collection_for(request.user, slug)
    form = LabelForm(request.GET, collection=collection)
    if not form.is_valid():
        return _back(request, slug)
    try:
        lines = list(qrels_lines(selectors.qrels(form.spec)))
    except BadFormat as error:
        messages.error(
            request,
            f"These labels cannot be written as qrels: {error.problem}.",
        )
        return _back(request, slug)
    return _download(lines, name=naming.qrels_name(form.spec), content_type="text/plain; charset=utf-8")


@require_safe
def qrels_losses(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """The whole list of what the qrels file would not say, as text."""
    collection = access.collection_for(request.user, slug)
    form = LabelForm(request.GET, collection=collection)
    if not form.is_valid():
        return _back(request, slug)
    name = f"{naming.qrels_name(form.spec)}.losses.txt"
    return _download(selectors.qrels_losses(form.spec), name=name, content_type="text/plain; charset=utf-8")


@require_safe
def leaderboard(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """The board as TSV, JSON or LaTeX, or with a row for each topic in a format of other tools."""
    collection = access.collection_for(request.user, slug)
    form, kind = BoardForm(request.GET, collection=collection), request.GET.get("format", "tsv")
    if not form.is_valid() or kind not in WRITERS:
        return _back(request, slug)
    try:
        lines = WRITERS[kind].lines(form.spec)
    except BadFormat as error:
        messages.error(
            request,
            f"This board cannot be written as {kind}: {error.problem}.",
        )
        return _back(request, slug)
    name = naming.leaderboard_name(form.spec, kind)
    return _download(lines, name=name, content_type=WRITERS[kind].content_type)


@require_safe
def flags(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Flags and comments, with pseudonyms unless the address asks for usernames."""
    collection = access.collection_for(request.user, slug)
    form = FlagsExportForm(request.GET)
    if not form.is_valid():
        return redirect("releases:share", slug)
    name = naming_of_people(collection, with_names=bool(form.cleaned_data["names"]))
    if form.cleaned_data["format"] == "tsv":
        lines, content_type = flag_files.tsv_lines, "text/tab-separated-values; charset=utf-8"
    else:
        lines, content_type = flag_files.jsonl_lines, "application/jsonl; charset=utf-8"
    file = f"{collection.slug}_flags.{form.cleaned_data['format'] or 'jsonl'}"
    return _download(lines(collection, name), name=file, content_type=content_type)


def _download(lines: Iterable[str], *, name: str, content_type: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse((f"{line}\n" for line in lines), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _back(request: HtmxRequest, slug: str) -> HttpResponse:
    """Redirect to the page whose form explains what is wrong with this address."""
    return redirect(f"{reverse('releases:share', args=[slug])}?{request.GET.urlencode()}")
