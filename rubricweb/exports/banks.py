"""A bank as a file of any dialect, with what that dialect cannot say of it."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading.formats.banks import (
    BY_NAME,
    DIALECTS,
    BankLine,
    Dialect,
    Loss,
    documents,
    losses,
    refusals,
    warnings,
    without_twins,
)
from rubricweb.accounts import roles
from rubricweb.banks.convert import bank_lines, without_text
from rubricweb.banks.models import Bank
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.exports.naming import joined

SHOWN = 500
"""How many entries of each list the page shows; the text file has all."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that equal banks make equal archives."""


@dataclass(frozen=True, slots=True)
class LossList:
    """Entries of one sort, for the page."""

    name: str
    title: str
    words: str
    losses: tuple[Loss, ...]


@dataclass(frozen=True, slots=True)
class BankExport:
    """A bank in one dialect, before it is written."""

    bank: Bank
    dialect: Dialect
    lines: tuple[BankLine, ...]
    refusals: tuple[Loss, ...]
    """Why it cannot be written at all; then nothing else is known."""
    losses: tuple[Loss, ...]
    """What the file will lack."""
    warnings: tuple[Loss, ...]
    """What readers of the file will leave out."""

    @property
    def file_name(self) -> str:
        """`<collection>_<bank>_<dialect>.jsonl`, or `.zip` where every topic is a file of its own."""
        ending = "zip" if self.dialect.file_name else "jsonl"
        return joined(self.bank.collection.slug, self.bank.name, self.dialect.name) + f".{ending}"

    @property
    def is_empty(self) -> bool:
        return not any(line.items for line in self.lines)

    def lists(self) -> list[LossList]:
        """Those that have entries."""
        every = (
            LossList(
                "refusals",
                "This format cannot say this bank",
                "Change or retire these items, or choose another format.",
                self.refusals,
            ),
            LossList("losses", "What the file will lack", "The format has no place for these.", self.losses),
            LossList(
                "warnings",
                "What readers will leave out",
                "The file has these, but known tools drop them.",
                self.warnings,
            ),
        )
        return [one for one in every if one.losses]

    def content(self) -> bytes:
        """JSON Lines, or the archive of a file a topic."""
        written = list(documents(self.lines, self.dialect))
        if not self.dialect.file_name:
            return b"".join(row + b"\n" for _, row in written)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, row in written:
                zipped.writestr(zipfile.ZipInfo(name, EARLIEST), row + b"\n")
        return archive.getvalue()

    def report(self) -> list[str]:
        """One sentence an entry."""
        said = {"cannot be written": self.refusals, "lost": self.losses, "warning": self.warnings}
        return [f"{kind}: {loss}" for kind, entries in said.items() for loss in entries]


def bank_export(bank: Bank, dialect: Dialect) -> BankExport:
    read = bank_lines(bank, dialect)
    # the Workbench has a line a subtopic, and ids by subtopic
    kept, twins = (read, []) if dialect.name == "workbench" else without_twins(read)
    lines = tuple(kept)
    if refused := tuple(refusals(lines, dialect)):
        return BankExport(bank, dialect, lines, refused, (), ())
    lost = (*without_text(bank), *_not_written(bank, dialect, lines), *twins, *losses(lines, dialect))
    return BankExport(bank, dialect, lines, (), lost, tuple(warnings(lines, dialect)))


def _not_written(bank: Bank, dialect: Dialect, lines: tuple[BankLine, ...]) -> list[Loss]:
    """Topics without a line, which only files of assignments lack: they need the answers of an import."""
    if dialect.name != "assign":
        return []
    written = {line.query_id for line in lines}
    named = bank.items.active().order_by("topic__position").values_list("topic__query_id", flat=True)
    left_out = [query_id for query_id in dict.fromkeys(named) if query_id not in written]
    return [Loss(query_id, "", "no answer with assignments was imported") for query_id in left_out]


class DialectForm(forms.Form):
    """Which dialect a bank is exported in."""

    dialect = forms.ChoiceField(
        label="Format", choices=[(dialect.name, dialect.label) for dialect in DIALECTS], initial="v3"
    )

    @property
    def chosen(self) -> Dialect:
        return BY_NAME[self.cleaned_data["dialect"]]


@require_safe
def bank_page(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Choose a dialect, and see what it cannot say before downloading."""
    bank = _bank(request, slug, bank_id)
    form = DialectForm(request.GET or {"dialect": "v3"})
    context = {"collection": bank.collection, "bank": bank, "section": "exports", "form": form}
    if not form.is_valid():
        return form_response(request, "exports/bank.html", context, part="bank")
    context |= {"export": bank_export(bank, form.chosen), "shown": SHOWN}
    return page_or_part(request, "exports/bank.html", context, part="bank")


@require_safe
def bank_file(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    bank = _bank(request, slug, bank_id)
    form = DialectForm(request.GET)
    if not form.is_valid():
        return _back(bank, request)
    export = bank_export(bank, form.chosen)
    if export.refusals:
        messages.error(request, f"{export.dialect.label} cannot say this bank: see the list.")
        return _back(bank, request)
    content_type = "application/zip" if export.dialect.file_name else "application/jsonl; charset=utf-8"
    return _download(export.content(), name=export.file_name, content_type=content_type)


@require_safe
def bank_losses(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """The whole list of what the file would lack, as text."""
    bank = _bank(request, slug, bank_id)
    form = DialectForm(request.GET)
    if not form.is_valid():
        return _back(bank, request)
    export = bank_export(bank, form.chosen)
    text = "".join(f"{sentence}\n" for sentence in export.report())
    return _download(
        text.encode(), name=f"{export.file_name}.losses.txt", content_type="text/plain; charset=utf-8"
    )


def _bank(request: HtmxRequest, slug: str, bank_id: int) -> Bank:
    """Foreign parts may hold what assessors shall not read, such as assignments by a model."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    bank: Bank = get_object_or_404(collection.banks.select_related("collection"), pk=bank_id)
    return bank


def _back(bank: Bank, request: HtmxRequest) -> HttpResponse:
    """Redirect to the page, which explains what is wrong with this address."""
    page = reverse("exports:bank", args=[bank.collection.slug, bank.pk])
    return redirect(f"{page}?{request.GET.urlencode()}")


def _download(content: bytes, *, name: str, content_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
