"""Flags and comments as files: JSON Lines with a thread per line, or TSV with an event per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from django import forms
from django.utils.translation import gettext_lazy

from rubricweb.accounts.models import User
from rubricweb.banks.secrecy import public
from rubricweb.core.spreadsheets import without_formula
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.review.flags.models import Flag, FlagEvent

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

Naming = Callable[[User | None], str]
"""The name of a person; empty for nobody."""


def naming(collection: Collection, *, with_names: bool) -> Naming:
    """By username, or by the person's pseudonym in the collection."""

    def name(person: User | None) -> str:
        if person is None:
            return ""
        return person.username if with_names else assessor_pseudonym(collection, person.pk)

    return name


def jsonl_lines(collection: Collection, name: Naming) -> Iterator[str]:
    for flag in _flags(collection):
        thread = _place(flag) | {
            "by": name(flag.by),
            "at": flag.at.isoformat(),
            "assignee": name(flag.assignee),
            "events": [_event(event, name) for event in flag.events.all()],
        }
        yield json.dumps(thread, ensure_ascii=False)


def tsv_lines(collection: Collection, name: Naming) -> Iterator[str]:
    """With a header; tabs and line breaks in texts are written as \\t and \\n, a backslash as \\\\.

    Texts that a spreadsheet would take for formulas begin with an apostrophe.
    """
    yield "\t".join(COLUMNS)
    for flag in _flags(collection):
        for event in flag.events.all():
            row = _place(flag) | _event(event, name)
            yield "\t".join(without_formula(str(row[column])).translate(ESCAPES) for column in COLUMNS)


def _flags(collection: Collection) -> Iterator[Flag]:
    """Without those of secret items."""
    flags = public(Flag.objects.of(collection)).ready().order_by("pk")
    return iter(flags.iterator(chunk_size=BATCH))


def _place(flag: Flag) -> dict[str, object]:
    return {
        "flag_id": f"{flag.bank.collection.slug}/{flag.pk}",
        "kind": flag.kind,
        "state": "open" if flag.is_open else "resolved",
        "bank": flag.bank.name,
        "query_id": flag.topic.query_id,
        "item_id": flag.revision.uid if flag.revision else "",
        "doc_id": flag.passage.doc_id if flag.passage else "",
    }


def _event(event: FlagEvent, name: Naming) -> dict[str, object]:
    return {
        "event_id": str(event.uid),
        "number": event.number,
        "verb": event.verb,
        "by": name(event.by),
        "at": event.at.isoformat(),
        "assignee": name(event.assignee),
        "text": event.text,
    }


class FlagsExportForm(forms.Form):
    """A file of flags and comments."""

    format = forms.ChoiceField(
        label=gettext_lazy("Format"),
        choices=[("jsonl", gettext_lazy("JSON Lines")), ("tsv", gettext_lazy("TSV"))],
        required=False,
    )
    names = forms.ChoiceField(
        label=gettext_lazy("People"),
        choices=[("", gettext_lazy("pseudonyms")), ("1", gettext_lazy("usernames"))],
        required=False,
    )
