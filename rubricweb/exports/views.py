"""Downloads of qrels, boards and flags; the page that offers them is `releases.share`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading.errors import BadFormat
from grading.formats import events
from grading.formats.tables import without_formula
from grading.formats.trec import qrels_lines
from rubricweb.banks.secrecy import public
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import Naming
from rubricweb.corpus.pseudonyms import naming as naming_of_people
from rubricweb.exports import selectors
from rubricweb.leaderboards.board.files import FORMATS
from rubricweb.leaderboards.forms import BoardForm, LabelForm
from rubricweb.review.models import Flag

BATCH = 500
COLUMNS = (
    "flag_id",
    "kind",
    "state",
    "bank",
    "query_id",
    "item_id",
    "doc_id",
    "number",
    "verb",
    "by",
    "at",
    "assignee",
    "text",
    "event_id",
)
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def flag_jsonl_lines(collection: Collection, name: Naming) -> Iterator[str]:
    return (events.event_line(thread) for thread in threads(collection, name))


def flag_tsv_lines(collection: Collection, name: Naming) -> Iterator[str]:
    r"""Yield lines with a header; tabs and line breaks become \t and \n, a backslash \\.

    Texts that a spreadsheet would take for formulas begin with an apostrophe.
    """
    yield "\t".join(COLUMNS)
    for thread in threads(collection, name):
        for event in thread.events:
            row = {column: getattr(event, column, None) for column in COLUMNS}
            row |= {column: getattr(thread, column) for column in COLUMNS if row[column] is None}
            yield "\t".join(without_formula(str(row[column])).translate(ESCAPES) for column in COLUMNS)


def threads(collection: Collection, name: Naming) -> Iterator[events.FlagThread]:
    """Yield the flags in the order in which they were opened, without those of secret items."""
    flags = public(Flag.objects.of(collection)).ready().order_by("pk")
    for flag in flags.iterator(chunk_size=BATCH):
        yield events.FlagThread(
            flag_id=f"{flag.bank.collection.slug}/{flag.pk}",
            kind=flag.kind,
            state="open" if flag.is_open else "resolved",
            bank=flag.bank.name,
            query_id=flag.topic.query_id,
            item_id=flag.revision.uid if flag.revision else "",
            doc_id=flag.passage.doc_id if flag.passage else "",
            by=name(flag.by),
            at=flag.at.isoformat(),
            assignee=name(flag.assignee),
            events=[
                events.FlagEvent(
                    event_id=str(event.uid),
                    number=event.number,
                    verb=events.Verb(event.verb),
                    by=name(event.by),
                    at=event.at.isoformat(),
                    assignee=name(event.assignee),
                    text=event.text,
                )
                for event in flag.events.all()
            ],
        )


class FlagsExportForm(forms.Form):
    """A file of flags and comments."""

    format = forms.ChoiceField(
        label="Format", choices=[("jsonl", "JSON Lines"), ("tsv", "TSV")], required=False
    )
    names = forms.ChoiceField(
        label="People", choices=[("", "pseudonyms"), ("1", "usernames")], required=False
    )


@require_safe
def qrels(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the qrels file, without comments, which trec_eval does not accept."""
    collection = access.collection_for(request.user, slug)
    form = LabelForm(request.GET, collection=collection)
    if not form.is_valid():
        return _back(request, slug)
    try:
        lines = list(qrels_lines(selectors.qrels(form.spec)))
    except BadFormat as error:
        messages.error(request, f"These labels cannot be written as qrels: {error.problem}.")
        return _back(request, slug)
    return _download(lines, name=selectors.qrels_name(form.spec), content_type="text/plain; charset=utf-8")


@require_safe
def qrels_losses(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the whole list of what the qrels file would not say, as text."""
    collection = access.collection_for(request.user, slug)
    form = LabelForm(request.GET, collection=collection)
    if not form.is_valid():
        return _back(request, slug)
    name = f"{selectors.qrels_name(form.spec)}.losses.txt"
    return _download(selectors.qrels_losses(form.spec), name=name, content_type="text/plain; charset=utf-8")


@require_safe
def leaderboard(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the board as TSV, JSON or LaTeX, or with a row for each topic in a format of other tools."""
    collection = access.collection_for(request.user, slug)
    form, kind = BoardForm(request.GET, collection=collection), request.GET.get("format", "tsv")
    if not form.is_valid() or kind not in FORMATS:
        return _back(request, slug)
    try:
        lines = FORMATS[kind].lines(form.spec)
    except BadFormat as error:
        messages.error(request, f"This board cannot be written as {kind}: {error.problem}.")
        return _back(request, slug)
    name = selectors.leaderboard_name(form.spec, kind)
    return _download(lines, name=name, content_type=FORMATS[kind].media_type)


@require_safe
def flags(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download flags and comments, with pseudonyms unless the address asks for usernames."""
    collection = access.collection_for(request.user, slug)
    form = FlagsExportForm(request.GET)
    if not form.is_valid():
        return redirect("releases:share", slug)
    name = naming_of_people(collection, with_names=bool(form.cleaned_data["names"]))
    if form.cleaned_data["format"] == "tsv":
        lines, content_type = flag_tsv_lines, "text/tab-separated-values; charset=utf-8"
    else:
        lines, content_type = flag_jsonl_lines, "application/jsonl; charset=utf-8"
    file = f"{collection.slug}_flags.{form.cleaned_data['format'] or 'jsonl'}"
    return _download(lines(collection, name), name=file, content_type=content_type)


def _download(lines: Iterable[str], *, name: str, content_type: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse((f"{line}\n" for line in lines), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _back(request: HtmxRequest, slug: str) -> HttpResponse:
    """Redirect to the page whose form explains what is wrong with this address."""
    return redirect(f"{reverse('releases:share', args=[slug])}?{request.GET.urlencode()}")
