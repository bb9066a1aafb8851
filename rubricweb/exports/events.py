"""What people said, as files: ratings, cells that were drawn at random, flags and comments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from django import forms
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from grading.formats import events
from grading.formats.events import GraderVerdict, How, RatingEvent, event_line
from grading.formats.tables import without_formula
from rubricweb.accounts import roles
from rubricweb.banks.secrecy import public
from rubricweb.campaigns.models import CampaignCell, Turn
from rubricweb.core.formatting import safe_cell
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import Naming, assessor_pseudonym, naming
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.raters import AddressForm
from rubricweb.grades.visibility import count_ratings, visible_human_grades
from rubricweb.review.models import Flag

RATING_FORMATS = {
    "jsonl": "application/x-ndjson; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
}
# fmt: off
FLAG_COLUMNS = (
    "flag_id", "kind", "state", "bank", "query_id", "item_id", "doc_id", "number", "verb", "by", "at",
    "assignee", "text", "event_id",
)
# fmt: on
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class RandomCellLine:
    """A cell that was drawn at random, with its probability, for estimates."""

    campaign: str
    query_id: str
    item_id: str
    passage_id: str
    order: int
    draw_probability: float
    population: int
    ratings: int


Line = RatingEvent | RandomCellLine


class FileForm(AddressForm):
    """Which file."""

    file = forms.ChoiceField(
        choices=[(name, name) for name in RATING_FORMATS], initial="jsonl", required=False
    )
    names = forms.ChoiceField(choices=[("", "pseudonyms"), ("1", "names")], required=False)


@require_safe
def human_grades(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download every event of ratings.

    Only people who see all ratings may, since others may still have to rate the cells.
    """
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    count_ratings(collection.pk)  # before the headers are written
    form = FileForm(request.GET)
    lines = human_grade_lines(collection, shows_names=bool(form.value("names", "")))
    return _file(lines, form, RatingEvent, f"{slug}_human_grades")


@require_safe
def random_cells(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download the cells that campaigns drew at random."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    form = FileForm(request.GET)
    return _file(random_cell_lines(collection), form, RandomCellLine, f"{slug}_random_cells")


def human_grade_lines(collection: Collection, *, shows_names: bool = False) -> Iterator[RatingEvent]:
    """Yield ratings in chronological order, each with the comment of its turn.

    Events that are hidden from the reader are left out, and those of secret items.
    """
    turns = _turns(collection)
    full = ("topic", "revision", "passage", "by", "config", "decision")
    rows = HumanGrade.objects.filter(topic__collection=collection).select_related(*full).order_by("pk")
    for row in visible_human_grades(public(rows), collection.pk).iterator(chunk_size=2_000):
        campaign, comment = turns.get((row.revision_id, row.passage_id, row.by_id), ("", ""))
        decision = getattr(row, "decision", None)
        yield RatingEvent(
            event=str(row.uid),
            query_id=row.topic.query_id,
            item_id=row.revision.uid,
            passage_id=row.passage.doc_id,
            assessor=row.by.username if shows_names else assessor_pseudonym(collection, row.by.pk),
            number=row.number,
            rating=row.rating,
            verdict=GraderVerdict(row.verdict),
            how=How(row.how),
            withdrawn=row.is_withdrawn,
            grader=str(row.config) if row.config else "",
            grader_rating=row.seen_rating,
            campaign=campaign if row.how in {HumanGrade.How.BLIND, HumanGrade.How.ASSISTED} else "",
            comment=comment,
            reason=decision.reason if decision else "",
            at=row.at.isoformat(),
        )


def random_cell_lines(collection: Collection) -> Iterator[RandomCellLine]:
    """Yield the random cells of each campaign in its order, without secret items."""
    cells = public(CampaignCell.objects.filter(campaign__collection=collection, is_random=True))
    full = ("campaign", "topic", "revision", "passage")
    done: dict[int, int] = {}
    turns = Turn.objects.filter(cell__in=cells, state=Turn.State.SUBMITTED)
    for cell in turns.values_list("cell", flat=True):
        done[cell] = done.get(cell, 0) + 1
    for row in cells.select_related(*full).order_by("campaign", "order").iterator(chunk_size=2_000):
        yield RandomCellLine(
            campaign=row.campaign.name,
            query_id=row.topic.query_id,
            item_id=row.revision.uid,
            passage_id=row.passage.doc_id,
            order=row.order,
            draw_probability=row.draw_probability,
            population=row.campaign.population,
            ratings=done.get(row.pk, 0),
        )


def _turns(collection: Collection) -> dict[tuple[int, int, int], tuple[str, str]]:
    """Return the last campaign and comment of each (revision, passage, person)."""
    rows = Turn.objects.filter(campaign__collection=collection, state=Turn.State.SUBMITTED).order_by("pk")
    names = ("cell__revision", "cell__passage", "person", "campaign__name", "comment")
    return {
        (revision, passage, person): turn for revision, passage, person, *turn in rows.values_list(*names)
    }


class FlagsExportForm(forms.Form):
    """A file of flags and comments."""

    format = forms.ChoiceField(
        label="Format", choices=[("jsonl", "JSON Lines"), ("tsv", "TSV")], required=False
    )
    names = forms.ChoiceField(
        label="People", choices=[("", "pseudonyms"), ("1", "usernames")], required=False
    )


@require_safe
def flags(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Download flags and comments, with pseudonyms unless the address asks for usernames."""
    collection = collection_for(request.user, slug)
    form = FlagsExportForm(request.GET)
    if not form.is_valid():
        return redirect("releases:share", slug)
    name = naming(collection, with_names=bool(form.cleaned_data["names"]))
    if form.cleaned_data["format"] == "tsv":
        lines, content_type = flag_tsv_lines(collection, name), "text/tab-separated-values; charset=utf-8"
    else:
        lines = map(event_line, threads(collection, name))
        content_type = "application/jsonl; charset=utf-8"
    file = f"{collection.slug}_flags.{form.cleaned_data['format'] or 'jsonl'}"
    return download((f"{line}\n" for line in lines), name=file, content_type=content_type)


def flag_tsv_lines(collection: Collection, name: Naming) -> Iterator[str]:
    r"""Yield lines with a header; tabs and line breaks become \t and \n, a backslash \\.

    Texts that a spreadsheet would take for formulas begin with an apostrophe.
    """
    yield "\t".join(FLAG_COLUMNS)
    for thread in threads(collection, name):
        for event in thread.events:
            row = {column: getattr(event, column, None) for column in FLAG_COLUMNS}
            row |= {column: getattr(thread, column) for column in FLAG_COLUMNS if row[column] is None}
            yield "\t".join(without_formula(str(row[column])).translate(ESCAPES) for column in FLAG_COLUMNS)


def threads(collection: Collection, name: Naming) -> Iterator[events.FlagThread]:
    """Yield the flags in the order in which they were opened, without those of secret items."""
    flags = public(Flag.objects.of(collection)).ready().order_by("pk")
    for flag in flags.iterator(chunk_size=500):
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
                events.ThreadEvent(
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


def _file(lines: Iterable[Line], form: FileForm, kind: type[Line], name: str) -> HttpResponseBase:
    chosen = form.value("file", "jsonl")
    content = _tsv(lines, kind) if chosen == "tsv" else _jsonl(lines)
    return download(content, name=f"{name}.{chosen}", content_type=RATING_FORMATS[chosen])


def _jsonl(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        written = (
            event_line(line)
            if isinstance(line, RatingEvent)
            else json.dumps(asdict(line), ensure_ascii=False)
        )
        yield f"{written}\n"


def _tsv(lines: Iterable[Line], kind: type[Line]) -> Iterator[str]:
    """Yield lines with a header; tabs and line breaks inside a field become spaces."""
    names = [name for name in kind.__annotations__ if name != "line"]
    yield "\t".join(names) + "\n"
    for line in lines:
        yield "\t".join(_cell(getattr(line, name)) for name in names) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else safe_cell(value)
