"""The audit trail of a collection, for its organizers: who did what, and when."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django import forms
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase, QueryDict
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core import formatting
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import HtmxRequest, download, page_or_part
from rubricweb.core.models import AuditEntry
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection

PAGE_ROWS = 50
HEAD = ("at", "who", "what", "thing", "id", "detail")


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """The filters of the audit trail; None shows all. Both days are included, in UTC."""

    by: int | None = None
    verb: str | None = None
    since: dt.date | None = None
    until: dt.date | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    entries: list[AuditEntry]
    before: int | None
    """The parameter of the next, older page; None on the last."""


def entries(collection: Collection, filters: AuditFilters) -> QuerySet[AuditEntry]:
    """Return the entries that match the filters, newest first, with their authors."""
    conditions = {
        "by": filters.by,
        "verb": filters.verb,
        "at__date__gte": filters.since,
        "at__date__lte": filters.until,
    }
    rows = AuditEntry.objects.filter(collection=collection).select_related("by")
    return rows.filter(**{name: value for name, value in conditions.items() if value}).order_by("-pk")


def audit_page(collection: Collection, filters: AuditFilters, *, before: int | None = None) -> AuditPage:
    rows = entries(collection, filters)
    rows = rows.filter(pk__lt=before) if before else rows
    page = list(rows[: PAGE_ROWS + 1])
    return AuditPage(page[:PAGE_ROWS], page[PAGE_ROWS - 1].pk if len(page) > PAGE_ROWS else None)


def authors(collection: Collection) -> QuerySet[User]:
    """Return everybody who changed something in the collection."""
    did = AuditEntry.objects.filter(collection=collection).order_by().values("by")
    return User.objects.filter(pk__in=did).order_by("username")


def verbs(collection: Collection) -> list[str]:
    rows = AuditEntry.objects.filter(collection=collection).order_by("verb")
    return list(rows.values_list("verb", flat=True).distinct())


def table(collection: Collection, filters: AuditFilters) -> Iterator[tuple[object, ...]]:
    """Yield the header and every entry, for a file."""
    yield HEAD
    for entry in entries(collection, filters).iterator(chunk_size=2_000):
        who = entry.by.username if entry.by else ""
        at = entry.at.isoformat(timespec="seconds")
        yield (at, who, entry.verb, entry.kind, entry.object_id or "", entry.detail)


class AuditForm(ChipForm):
    """A value that cannot be read is ignored."""

    in_toolbar = ("by", "verb", "since", "until")
    outdated = ("before",)

    by = forms.TypedChoiceField(label="Person", coerce=int, empty_value=None, required=False)
    verb = forms.ChoiceField(label="What happened", required=False)
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        self.address = address
        super().__init__(address, auto_id="audit-%s")
        everybody = [(person.pk, str(person)) for person in authors(collection)]
        offer_choices(self, "by", [("", "anybody"), *everybody])
        happened = [(verb, verb) for verb in verbs(collection)]
        offer_choices(self, "verb", [("", "anything"), *happened])
        self.is_valid()

    @property
    def filters(self) -> AuditFilters:
        chosen = self.cleaned_data
        return AuditFilters(
            chosen.get("by"), chosen.get("verb") or None, chosen.get("since"), chosen.get("until")
        )


@require_safe
def audit(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = AuditForm(request.GET, collection)
    context = {
        "collection": collection,
        "form": form,
        "page": audit_page(collection, form.filters, before=form.cleaned_data.get("before")),
    }
    return page_or_part(request, "corpus/audit.html", context, part="entries")


@require_safe
def audit_file(request: HtmxRequest, slug: str, form: str) -> HttpResponseBase:
    """Send all entries that match the filters, as `tsv` or `csv`."""
    if form not in formatting.CONTENT_TYPES:
        raise Http404("No such format.")
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    filters = AuditForm(request.GET, collection).filters
    rows = formatting.lines(table(collection, filters), form)
    name = f"{collection.slug}-audit.{form}"
    return download(rows, name=name, content_type=formatting.CONTENT_TYPES[form])
