"""Flags and comments as files: JSON Lines with a thread per line, or TSV with an event per line."""

from __future__ import annotations

from collections.abc import Iterator

from django import forms

from grading.formats import events
from grading.formats.events import FlagThread, event_line
from grading.formats.tables import without_formula
from rubricweb.banks.secrecy import public
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import Naming
from rubricweb.review.models import Flag, FlagEvent

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


def jsonl_lines(collection: Collection, name: Naming) -> Iterator[str]:
    return (event_line(thread) for thread in threads(collection, name))


def tsv_lines(collection: Collection, name: Naming) -> Iterator[str]:
    """With a header; tabs and line breaks in texts are written as \\t and \\n, a backslash as \\\\.

    Texts that a spreadsheet would take for formulas begin with an apostrophe.
    """
    yield "\t".join(COLUMNS)
    for thread in threads(collection, name):
        for event in thread.events:
            row = {column: getattr(event, column, None) for column in COLUMNS}
            row |= {column: getattr(thread, column) for column in COLUMNS if row[column] is None}
            yield "\t".join(without_formula(str(row[column])).translate(ESCAPES) for column in COLUMNS)


def threads(collection: Collection, name: Naming) -> Iterator[FlagThread]:
    """Yield the flags in the order in which they were opened, without those of secret items."""
    flags = public(Flag.objects.of(collection)).ready().order_by("pk")
    for flag in flags.iterator(chunk_size=BATCH):
        yield FlagThread(
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
            events=[_event(event, name) for event in flag.events.all()],
        )


def _event(event: FlagEvent, name: Naming) -> events.FlagEvent:
    return events.FlagEvent(
        event_id=str(event.uid),
        number=event.number,
        verb=events.Verb(event.verb),
        by=name(event.by),
        at=event.at.isoformat(),
        assignee=name(event.assignee),
        text=event.text,
    )


class FlagsExportForm(forms.Form):
    """A file of flags and comments."""

    format = forms.ChoiceField(
        label="Format",
        choices=[("jsonl", "JSON Lines"), ("tsv", "TSV")],
        required=False,
    )
    names = forms.ChoiceField(
        label="People",
        choices=[("", "pseudonyms"), ("1", "usernames")],
        required=False,
    )
