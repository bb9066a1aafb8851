"""The page of figures, and a figure as a page of its own to keep."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe
from plotly.offline import get_plotlyjs

from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.scored import ScoredBoard, scored_board
from rubricweb.leaderboards.board.selectors import board
from rubricweb.leaderboards.board.types import BoardError
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.figures import selectors
from rubricweb.leaderboards.figures.forms import FigureForm
from rubricweb.leaderboards.figures.selectors import Drawn

PAGE = "leaderboards/figures.html"
VIEWS = {
    "several": gettext_lazy("Renormalised boards"),
    "scatter": gettext_lazy("Measure against measure"),
    "heat": gettext_lazy("Topics and runs"),
    "strip": gettext_lazy("One run by topic"),
    "intervals": gettext_lazy("Runs with their intervals"),
    "grades": gettext_lazy("Grades"),
}


@require_safe
def figures(request: HtmxRequest, slug: str) -> HttpResponse:
    """One figure of the board in the address, with its table."""
    collection = access.collection_for(request.user, slug)
    view = _view(request)
    form = FigureForm(request.GET, collection=collection, view=view)
    context = {"collection": collection, "section": "leaderboard", "tab": "figures", "form": form}
    context |= {"views": VIEWS.items(), "view": view}
    if not form.graders:
        return page_or_part(request, PAGE, context, part="figures")
    if not form.is_valid():
        return form_response(request, PAGE, context, part="figures")
    try:
        context["drawn"] = _drawn(form, view)
    except BoardError as error:
        form.add_error(None, str(error))
        return form_response(request, PAGE, context, part="figures")
    return page_or_part(request, PAGE, {**context, "spec": form.spec}, part="figures")


@require_safe
def figure_page(request: HtmxRequest, slug: str) -> HttpResponse:
    """The figure with its table and plotly.js in one HTML file, which needs no network."""
    collection = access.collection_for(request.user, slug)
    view = _view(request)
    form = FigureForm(request.GET, collection=collection, view=view)
    back = f"{reverse('leaderboards:figures', args=[slug])}?{request.GET.urlencode()}"
    if not form.is_valid():
        return redirect(back)
    try:
        drawn = _drawn(form, view)
    except BoardError:
        return redirect(back)
    stated = provenance.statements(board(form.spec))
    context = {"drawn": drawn, "title": VIEWS[view], "plotly": get_plotlyjs(), "stated": stated}
    response = HttpResponse(render_to_string("leaderboards/figure_file.html", context))
    response["Content-Disposition"] = f'attachment; filename="{slug}-{view}.html"'
    return response


def _view(request: HtmxRequest) -> str:
    view = request.GET.get("view", "several")
    return view if view in VIEWS else "several"


def _drawn(form: FigureForm, view: str) -> Drawn:
    scored, picked = scored_board(form.spec), form.cleaned_data
    if not scored.run_tags:
        raise BoardError("grader", "This collection has no runs yet.")
    if view == "scatter":
        return selectors.against(scored, picked["against"], _run_links(scored, form))
    if view == "intervals":
        return selectors.intervals(board(form.spec), scored, _run_links(scored, form))
    if view == "heat":
        return selectors.topics_and_runs(scored)
    if view == "strip":
        return selectors.one_run(scored, picked["run"] or scored.run_tags[int(scored.means.argmax())])
    if view == "grades":
        return selectors.grade_counts(scored)
    return selectors.renormalised_boards(scored, picked["others"], picked["reference"])


def _run_links(scored: ScoredBoard, form: FigureForm) -> dict[str, str]:
    slug, query = scored.spec.collection.slug, query_of(form)
    pairs = zip(scored.base.pool.run_tags, scored.base.pool.run_pks, strict=True)
    return {tag: f"{reverse('leaderboards:compare', args=[slug])}?{query}&a={pk}" for tag, pk in pairs}
