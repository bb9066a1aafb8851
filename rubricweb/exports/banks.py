"""A bank as a file of any dialect, with what that dialect cannot say of it."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from grading.formats.banks import (
    BY_NAME,
    DIALECTS,
    OF_ANSWERS,
    Loss,
    documents,
    losses,
    refusals,
    warnings,
    without_twins,
)
from grading.formats.banks.records import BankLine, Dialect
from rubricweb.accounts import roles
from rubricweb.banks.convert import BankScope, bank_lines, secret_losses, without_text
from rubricweb.banks.models import Bank
from rubricweb.core.formatting import counted
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus.access import collection_for
from rubricweb.exports.assignments import assignment_lines, authors, contradiction_losses
from rubricweb.exports.files import file_page, joined
from rubricweb.grades.models import GraderConfig

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that equal banks make equal archives."""


@dataclass(frozen=True, slots=True)
class LossList:
    """Entries of one sort, for the page."""

    name: str
    title: str
    note: str
    losses: tuple[Loss, ...]

    @property
    def by_reason(self) -> list[tuple[str, str]]:
        """Return each reason with what it is true of: "495 items"."""
        reasons = Counter((loss.what, "item" if loss.text else "topic") for loss in self.losses)
        return [(what, counted(n, thing)) for (what, thing), n in reasons.items()]


@dataclass(frozen=True, slots=True)
class BankExport:
    """A bank in one dialect, before it is written."""

    scope: BankScope
    dialect: Dialect
    lines: tuple[BankLine, ...]
    refusals: tuple[Loss, ...]
    """Why it cannot be written at all; then nothing else is known."""
    losses: tuple[Loss, ...]
    """What the file will not contain."""
    warnings: tuple[Loss, ...]
    """What readers of the file will leave out."""

    @property
    def file_name(self) -> str:
        """Return `<collection>_<bank>[_v<version>][_secret]_<dialect>.jsonl`; `.zip` for a file a topic."""
        scope, ending = self.scope, "zip" if self.dialect.file_name else "jsonl"
        version = f"v{scope.version.number}" if scope.version else ""
        secret = "secret" if scope.has_secrets else ""
        parts = (scope.bank.collection.slug, scope.bank.name, version, secret, self.dialect.name)
        return joined(*filter(None, parts)) + f".{ending}"

    @property
    def is_empty(self) -> bool:
        return not any(line.items for line in self.lines)

    def lists(self) -> list[LossList]:
        """Return the lists of losses that have entries."""
        every = (
            LossList(
                "refusals",
                "This format cannot hold this rubric",
                "Change or retire these questions, or choose another format.",
                self.refusals,
            ),
            LossList(
                "losses", "What the file will not contain", "The format has no place for these.", self.losses
            ),
            LossList(
                "warnings",
                "What other tools will ignore",
                "The file contains these, but known tools ignore them.",
                self.warnings,
            ),
        )
        return [loss_list for loss_list in every if loss_list.losses]

    def content(self) -> bytes:
        """Return JSON Lines, or the archive of a file a topic."""
        written = list(documents(self.lines, self.dialect))
        if not self.dialect.file_name:
            return b"".join(row + b"\n" for _, row in written)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, row in written:
                zipped.writestr(zipfile.ZipInfo(name, EARLIEST), row + b"\n")
        return archive.getvalue()

    def report(self) -> list[str]:
        """Return a line for each refusal, loss and warning."""
        remarks = {"cannot be written": self.refusals, "lost": self.losses, "warning": self.warnings}
        return [f"{kind}: {loss}" for kind, entries in remarks.items() for loss in entries]


def bank_export(scope: BankScope, dialect: Dialect, *, by: GraderConfig | None = None) -> BankExport:
    """Return the bank in the dialect; `by` is whose assignments the file of assignments has.

    Without, it has those that came with a bank file.
    """
    read = assignment_lines(scope, by, dialect) if by else bank_lines(scope, dialect)
    # these have items by subtopic, and ids too
    kept, twins = (read, []) if dialect.name in ("workbench", "genq", "dragun") else without_twins(read)
    lines = tuple(kept)
    if refused := tuple(refusals(lines, dialect)):
        return BankExport(scope, dialect, lines, refused, (), ())
    left_out = (*secret_losses(scope), *without_text(scope), *_not_written(scope, dialect, lines))
    contradicted = contradiction_losses(scope, by, dialect) if by else []
    lost = (*left_out, *twins, *contradicted, *losses(lines, dialect))
    return BankExport(scope, dialect, lines, (), lost, tuple(warnings(lines, dialect)))


def _not_written(scope: BankScope, dialect: Dialect, lines: tuple[BankLine, ...]) -> list[Loss]:
    """Return topics without a line, which only files of assignments lack: they need an import's answers."""
    if dialect.name not in OF_ANSWERS:
        return []
    written = {line.query_id for line in lines}
    topics = sorted({item.topic for item in scope.items()}, key=lambda topic: topic.position)
    left_out = [topic.query_id for topic in topics if topic.query_id not in written]
    return [Loss(query_id, "", "no whole answer has assignments") for query_id in left_out]


class BankExportForm(forms.Form):
    """Which state of a bank is exported, in which dialect; only organizers are offered its secret items."""

    dialect = forms.ChoiceField(
        label="Format", choices=[(dialect.name, dialect.label) for dialect in DIALECTS], initial="v3"
    )
    version = forms.ChoiceField(label="Version", required=False)
    by = forms.ChoiceField(
        label="Assignments by",
        required=False,
        help_text="For nuggetizer assign and RAGDoll graded rubric: whose ratings of whole answers.",
    )
    secret = forms.ChoiceField(
        label="Secret questions",
        choices=[("", "left out"), ("1", "in the file")],
        required=False,
        help_text="Share such a file with organizers only.",
    )

    def __init__(self, address: QueryDict | dict[str, str], bank: Bank, held: roles.Role) -> None:
        super().__init__(address)
        self.bank, self.versions = bank, {str(version.number): version for version in bank.versions.all()}
        names = [(number, f"version {number}: {version.name}") for number, version in self.versions.items()]
        offer_choices(self, "version", [("", "as it is now"), *names])
        self.authors = {str(config.pk): config for config in authors(bank)}
        graders = [(pk, str(config)) for pk, config in self.authors.items()]
        offer_choices(self, "by", [("", "those of the rubric's file"), *graders])
        if not held.includes(roles.TO_ORGANIZE):
            del self.fields["secret"]

    @property
    def query(self) -> str:
        """Return the choices as an address has them."""
        return urlencode({name: self[name].value() or "" for name in self.fields})

    @property
    def export(self) -> BankExport:
        chosen = self.cleaned_data
        version = self.versions.get(chosen["version"])
        scope = BankScope(self.bank, version, has_secrets=bool(chosen.get("secret")))
        dialect = BY_NAME[chosen["dialect"]]
        by = self.authors.get(chosen["by"]) if dialect.name in OF_ANSWERS else None
        return bank_export(scope, dialect, by=by)


@require_safe
def bank_page(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponse:
    """Choose a dialect, and see what it cannot say before downloading."""
    bank, form = _form(request, slug, bank_id)
    file_address = reverse("exports:bank-file", args=[slug, bank.pk])
    return file_page(
        request,
        bank.collection,
        form,
        form.export if form.is_valid() else None,
        title=f"Rubric {bank}",
        intro="Its questions and nuggets, now or at a version, with importance and accepted answers.",
        file_address=f"{file_address}?{form.query}",
        bank=bank,
        query=form.query,
    )


@require_safe
def bank_file(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponseBase:
    bank, form = _form(request, slug, bank_id)
    if not form.is_valid():
        return _back(bank, request)
    export = form.export
    if export.refusals:
        messages.error(request, f"{export.dialect.label} cannot hold this rubric. See the list.")
        return _back(bank, request)
    content_type = "application/zip" if export.dialect.file_name else "application/jsonl; charset=utf-8"
    return download(export.content(), name=export.file_name, content_type=content_type)


@require_safe
def bank_losses(request: HtmxRequest, slug: str, bank_id: int) -> HttpResponseBase:
    """Download the whole list of what the file would lack, as text."""
    bank, form = _form(request, slug, bank_id)
    if not form.is_valid():
        return _back(bank, request)
    export = form.export
    text = "".join(f"{sentence}\n" for sentence in export.report())
    return download(text, name=f"{export.file_name}.losses.txt", content_type="text/plain; charset=utf-8")


def _form(request: HtmxRequest, slug: str, bank_id: int) -> tuple[Bank, BankExportForm]:
    """Return a bank and its form of exports, for people who may edit it.

    Foreign parts may hold what assessors shall not read, such as assignments by a model.
    """
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    bank: Bank = get_object_or_404(collection.banks.select_related("collection"), pk=bank_id)
    held = roles.require(request.user, collection, roles.TO_EDIT_BANK)
    return bank, BankExportForm(request.GET or {"dialect": "v3"}, bank, held)


def _back(bank: Bank, request: HtmxRequest) -> HttpResponse:
    """Redirect to the page, which explains what is wrong with this address."""
    page = reverse("exports:bank", args=[bank.collection.slug, bank.pk])
    return redirect(f"{page}?{request.GET.urlencode()}")
