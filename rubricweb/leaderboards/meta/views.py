"""The page of meta-evaluation, and its official leaderboards."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from grading.errors import BadFormat
from grading.statistics.rank_correlation import Coefficient
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access, official
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.meta import files, selectors, sheets
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
            board = _taken(collection, form, by=request.user)
        except BadFormat as error:
            form.add_error("file", str(error))
        else:
            of = f" ({board.measure})" if board.measure else ""
            names = {"board": board.name, "of": of, "n": len(board.values)}
            messages.success(request, gettext("%(board)s%(of)s has %(n)s runs.") % names)
            return redirect(f"{reverse('leaderboards:meta', args=[slug])}?{request.GET.urlencode()}")
    shown = MetaForm(request.GET, collection=collection)
    context = _context(collection, shown, form)
    if shown.graders and shown.references and shown.is_valid():
        context |= _tables(shown)
    return form_response(request, PAGE, context, part="official", status=422)


def _taken(collection: Collection, form: OfficialForm, *, by: User) -> official.Official:
    """Raises BadFormat, which names the line."""
    picked = form.cleaned_data
    with stored(picked["file"]) as path:
        return official.put_official_board(
            collection, path, name=picked["name"], by=by, measure=picked["measure"]
        )


@require_POST
def official_remove(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    name = request.POST.get("name", "")
    if official.remove_official_board(collection, name=name, by=request.user):
        messages.success(request, gettext("%(name)s is removed.") % {"name": name})
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
    rows = selectors.meta_rows(form.rows, form.spec, form.shown)
    against = dict(form.references)[form.spec.reference]
    one = replace(form.spec, measures=(form.detailed,))
    in_detail = selectors.compared(selectors.meta_rows(form.rows, one), one, Coefficient)
    return {
        "sheet": sheets.comparison(selectors.compared(rows, form.spec, form.shown), against),
        "void": sheets.void(rows),
        "as_good": files.as_good(form.spec),
        "detail": sheets.detail(in_detail, form.detailed),
        "measures": form.spec.measures,
        "detailed": form.detailed,
    }
