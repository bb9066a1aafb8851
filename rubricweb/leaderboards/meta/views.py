"""The page of meta-evaluation, and its official leaderboards."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from grading.errors import BadFormat
from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access, official
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.meta import selectors, sheets
from rubricweb.leaderboards.meta.forms import MetaForm, OfficialForm
from rubricweb.leaderboards.meta.upload import stored

PAGE = "leaderboards/meta.html"


@require_safe
def meta(request: HtmxRequest, slug: str) -> HttpResponse:
    """Many boards against one other; everything that is chosen is in the address."""
    collection = access.collection_for(request.user, slug)
    form = MetaForm(request.GET, collection=collection)
    context = _context(collection, form, OfficialForm())
    if not form.graders or not form.references:
        return page_or_part(request, PAGE, context, part="meta")
    if not form.is_valid():
        return form_response(request, PAGE, context, part="meta")
    return page_or_part(request, PAGE, {**context, **_tables(form)}, part="meta")


@require_POST
def official_add(request: HtmxRequest, slug: str) -> HttpResponse:
    """Take an official leaderboard; what is wrong with the file is said beside it, with its line."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = OfficialForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            with stored(form.cleaned_data["file"]) as path:
                board = official.put_official_board(
                    collection, path, name=form.cleaned_data["name"], by=request.user
                )
        except BadFormat as error:
            form.add_error("file", str(error))
        else:
            messages.success(request, f"{board.name} has {len(board.values)} runs.")
            return redirect("leaderboards:meta", slug)
    context = _context(collection, MetaForm(request.GET, collection=collection), form)
    return form_response(request, PAGE, context, part="official", status=422)


@require_POST
def official_remove(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    name = request.POST.get("name", "")
    if official.remove_official_board(collection, name=name, by=request.user):
        messages.success(request, f"{name} is removed.")
    return redirect("leaderboards:meta", slug)


def _context(collection: Collection, form: MetaForm, upload: OfficialForm) -> dict[str, object]:
    return {
        "collection": collection,
        "section": "leaderboard",
        "tab": "meta",
        "form": form,
        "official_form": upload,
        "officials": official.official_boards(collection),
    }


def _tables(form: MetaForm) -> Context:
    rows = selectors.meta_rows(form.rows, form.wanted)
    against = dict(form.references)[form.wanted.reference]
    details = selectors.detail_rows(form.rows, form.detailed, form.wanted)
    return {
        "sheet": sheets.comparison(rows, form.wanted, against, form.shown),
        "void": sheets.void(rows),
        "detail": sheets.detail(details, form.detailed, form.wanted),
        "measures": form.wanted.measures,
        "detailed": form.detailed,
    }
