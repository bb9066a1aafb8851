"""The screen that says how certain a board is."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading.errors import BadFormat
from grading.formats.tables import PrintedTable, tex_lines, tsv_lines
from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.formatting import counted
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.core.http import HtmxRequest, download, form_response, page_or_part, parse_id
from rubricweb.corpus import access, official
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import NAME_LIMIT, shipped_boards
from rubricweb.corpus.pools import pool_at, stamp_of
from rubricweb.corpus.pseudonyms import hides_names
from rubricweb.graders.calibration import calibrated, opened_card
from rubricweb.grades.configs import WHOLE_SCALE, kinds_of, scale_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import graders_of
from rubricweb.leaderboards.board.columns import changed
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.forms import AnalysisForm
from rubricweb.leaderboards.meta import reference_choices
from rubricweb.leaderboards.sure import Evidence, tables
from rubricweb.leaderboards.sure.assessors import Section, section
from rubricweb.leaderboards.sure.drawn import drawn
from rubricweb.leaderboards.sure.pictures import PICTURES
from rubricweb.leaderboards.sure.tables import TABLES, Choice

DEPTH = 20
MOST_OTHERS = 3
"""Graders that a picture can tell apart beside the board's own."""
UPLOAD_BYTES = 2_000_000
PAGE = "leaderboards/sure.html"
TYPES = {"tsv": "text/tab-separated-values", "tex": "application/x-tex", "svg": "image/svg+xml"}
MAX_NAME_BYTES = 200


class SureForm(AnalysisForm):
    """The board, what it is compared with, and which graders are laid over."""

    own = ("reference",)
    inapplicable = {
        "definition": "the Workbench's definition, which takes all items that the grader rated, in the "
        "rubric or not, so that no item can be left out: scores are as in the papers"
    }
    in_menu = (*AnalysisForm.in_menu, "teams", "depth")

    reference = forms.ChoiceField(label="People", required=False)
    others = forms.BooleanField(required=False, widget=forms.HiddenInput)
    teams = forms.CharField(
        required=False,
        max_length=400,
        label="Runs of one team or model",
        help_text="Patterns such as bm25* GPT4*. Other runs are grouped by the beginning of their tag.",
    )
    depth = forms.IntegerField(min_value=1, max_value=1000, label="Pool depth")

    def __init__(self, parameters: Mapping[str, object], *, collection: Collection) -> None:
        self.references = reference_choices(collection)
        super().__init__(parameters, collection=collection)
        offer_choices(self, "reference", self.references)

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        first = self.references[0][0] if self.references else ""
        return super().default_values(given) | {"depth": DEPTH, "reference": first}

    @property
    def patterns(self) -> list[str]:
        return str(self.cleaned_data["teams"]).split()

    @property
    def offered(self) -> list[GraderConfig]:
        """Return the other graders that rate these items on the whole scale, as the board's does."""
        spec = self.spec
        if spec.bank is None or scale_of(spec.config) != WHOLE_SCALE:
            return []
        fitting = [
            config
            for config in graders_of(spec.bank, (Purpose.RATE,))
            if config != spec.config
            and scale_of(config) == WHOLE_SCALE
            and spec.kinds <= set(kinds_of(config))
        ]
        return fitting[:MOST_OTHERS]

    def evidence(self, query: str) -> Evidence:
        """Return the evidence that a valid form asks for."""
        picked = self.cleaned_data
        others = self.offered if picked["others"] else []
        return Evidence(self.spec, picked["reference"], others, query)


class ShippedForm(forms.Form):
    """An official leaderboard to take from those that come with the product."""

    board = forms.ChoiceField(
        label="Leaderboard of a track",
        help_text="Results of TREC, or computed from labels by NIST. The source stands beside the board.",
    )

    def __init__(self, collection: Collection) -> None:
        super().__init__()
        choice_field(self, "board").choices = partial(_shipped_choices, collection)


def _shipped_choices(collection: Collection) -> list[tuple[str, str]]:
    """Return the boards that come along, those first that have most of the collection's runs."""
    ours = set(pool_at(collection.pk, stamp_of(collection.pk)).run_tags)
    return [
        (
            slug,
            f"{board.name} ({len(board.run_tags & ours)} of {counted(len(board.run_tags), 'run')} here)",
        )
        for slug, board in sorted(shipped_boards().items(), key=lambda item: -len(item[1].run_tags & ours))
    ]


class OfficialForm(forms.Form):
    """An official leaderboard to take from a file."""

    name = forms.CharField(
        max_length=NAME_LIMIT, help_text="For example: official NDCG@10. A board with this name is replaced."
    )
    file = forms.FileField(
        help_text="JSON or TSV (header run_tag and rank, or run_tag and score), a board exported here as TSV "
        "or JSON, or summaries of trec_eval; .gz too. Tied runs may share a rank."
    )
    measure = forms.CharField(
        required=False,
        max_length=60,
        help_text="For a trec_eval summary. Empty: its ndcg_cut_10, or else map.",
    )

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > UPLOAD_BYTES:
            raise forms.ValidationError(f"Larger than {UPLOAD_BYTES // 1_000_000} MB. Is it a leaderboard?")
        return file


@require_safe
def sure(request: HtmxRequest, slug: str) -> HttpResponseBase:
    """Show a board in five pictures, as the address says; its `form` names a file of the page."""
    collection = access.collection_for(request.user, slug)
    form = SureForm(request.GET, collection=collection)
    if not form.graders:
        context = _context(request, form) | {"assessors": _assessors(request, form)}
        return page_or_part(request, PAGE, context, part="sure")
    if not form.is_valid():
        return form_response(request, PAGE, _context(request, form), part="sure")
    if name := request.GET.get("form"):
        return _file(request, form, name)
    context = _context(request, form) | _pictures(request, form)
    return page_or_part(request, PAGE, context, part="sure")


def _context(request: HtmxRequest, form: SureForm, upload: OfficialForm | None = None) -> dict[str, object]:
    address = request.GET.copy()
    is_official = address.pop("table", [""])[-1] == "official"
    upload = upload or (OfficialForm() if is_official else None)
    return {
        "opened_at": f"?{address.urlencode()}&table=" if address else "?table=",
        "collection": form.collection,
        "form": form,
        "official_form": upload,
        "shipped_form": ShippedForm(form.collection) if upload else None,
        "officials": official.official_boards(form.collection),
        "hides_officials": hides_names(form.collection.pk),
    }


def _pictures(request: HtmxRequest, form: SureForm) -> dict[str, object]:
    query, collection = query_of(form), form.collection
    evidence = form.evidence(query)
    board = drawn(evidence)
    name, card = request.GET.get("table", ""), parse_id(request.GET.get("card", ""))
    others = len(form.offered)
    return {
        "query": query,
        "check_address": evidence.check_address,
        "pictures": board.pictures,
        "summary": board.summary,
        "checked": board.checked,
        "others": others,
        "toggle": changed(query, others="" if evidence.others else "1"),
        "laid_over": evidence.others,
        "cards": calibrated(collection),
        "opened": opened_card(request.user, collection.slug, card) if card else None,
        "assessors": _assessors(request, form),
        "tables": [(key, table.label) for key, table in TABLES.items()],
        "table": TABLES.get(name),
        "table_name": name if name in TABLES else "",
        "sheet": TABLES[name].make(_choice(form, evidence)) if name in TABLES else None,
    }


def _assessors(request: HtmxRequest, form: SureForm) -> Section | None:
    spec = form.spec if form.graders else None
    return section(request.user, form.collection, spec, shows_names="names" in request.GET)


def _choice(form: SureForm, evidence: Evidence) -> Choice:
    return Choice(evidence, form.patterns, form.cleaned_data["depth"])


def _file(request: HtmxRequest, form: SureForm, name: str) -> HttpResponseBase:
    """Return a picture or a table as a file: NAME.tsv, .tex, .svg or .json, or all.zip."""
    evidence, (stem, _, kind) = form.evidence(query_of(form)), name.partition(".")
    if name == "all.zip":
        content, content_type = _all_pictures(evidence), "application/zip"
    elif kind == "svg" and stem in PICTURES and (plot := PICTURES[stem](evidence).plot):
        content, content_type = plot.file.encode(), TYPES[kind]
    elif kind == "json" and (document := tables.document(_choice(form, evidence), stem)):
        text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
        content, content_type = text.encode(), "application/json"
    elif kind in ("tsv", "tex") and (sheet := _sheet(request, form, evidence, stem)):
        lines = tsv_lines(sheet.data) if kind == "tsv" else tex_lines(sheet)
        content, content_type = "\n".join([*lines, ""]).encode(), f"{TYPES[kind]}; charset=utf-8"
    else:
        raise Http404(f"no file {name} of this page")
    return download(content, name=f"{form.collection.slug}-{stem}.{kind}", content_type=content_type)


def _sheet(request: HtmxRequest, form: SureForm, evidence: Evidence, name: str) -> PrintedTable | None:
    if name in PICTURES:
        return PICTURES[name](evidence).sheet
    if name in TABLES:
        return TABLES[name].make(_choice(form, evidence))
    of_people = _assessors(request, form)
    return of_people.sheets.get(name) if of_people else None


def _all_pictures(evidence: Evidence) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, draw in PICTURES.items():
            picture = draw(evidence)
            if picture.plot:
                archive.writestr(f"{name}.svg", picture.plot.file)
            if picture.sheet:
                archive.writestr(f"{name}.tsv", "\n".join([*tsv_lines(picture.sheet.data), ""]))
    return file.getvalue()


@require_POST
def official_add(request: HtmxRequest, slug: str) -> HttpResponse:
    """Take an official leaderboard; what is wrong with the file is said beside it, with its line."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    if "board" in request.POST:
        return _added(request, _taken_of_ours(collection, request.POST["board"], by=request.user), slug)
    upload = OfficialForm(request.POST, request.FILES)
    if upload.is_valid():
        try:
            return _added(request, _taken(collection, upload, by=request.user), slug)
        except BadFormat as error:
            upload.add_error("file", str(error))
    form = SureForm(request.GET, collection=collection)
    context = _context(request, form, upload)
    if form.graders and form.is_valid():
        context |= _pictures(request, form)
    return form_response(request, PAGE, context, part="sure", status=422)


def _added(request: HtmxRequest, board: official.Official, slug: str) -> HttpResponse:
    measure = f" ({board.measure})" if board.measure else ""
    messages.success(request, f"{board.name}{measure} has {counted(len(board.values), 'run')}.")
    return redirect(f"{reverse('leaderboards:sure', args=[slug])}?{request.GET.urlencode()}")


def _taken_of_ours(collection: Collection, name: str, *, by: User) -> official.Official:
    """Store the board of that slug that comes with the product. Raises Http404 for none."""
    board = shipped_boards().get(name)
    if board is None:
        raise Http404(f"no board {name} comes with RubricWeb")
    return official.put_official_board(collection, board.path, name=board.name, by=by)


def _taken(collection: Collection, upload: OfficialForm, *, by: User) -> official.Official:
    """Store the uploaded board. Raises BadFormat, which names the line."""
    picked = upload.cleaned_data
    with _stored(picked["file"]) as path:
        return official.put_official_board(
            collection, path, name=picked["name"], by=by, measure=picked["measure"]
        )


@require_POST
def official_remove(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    name = request.POST.get("name", "")
    if official.remove_official_board(collection, name=name, by=request.user):
        messages.success(request, f"{name} is removed.")
    return redirect("leaderboards:sure", slug)


@contextmanager
def _stored(file: UploadedFile[bytes]) -> Iterator[Path]:
    """Return the file under its own name, for as long as the block runs."""
    with TemporaryDirectory(prefix="rubricweb-") as folder:
        path = Path(folder) / _file_name(file.name or "")
        path.write_bytes(file.read())
        yield path


def _file_name(stated: str) -> str:
    """Return the name of an upload, no longer than our file system allows; only errors show it."""
    return Path(stated).name.encode()[:MAX_NAME_BYTES].decode(errors="ignore") or "leaderboard"
