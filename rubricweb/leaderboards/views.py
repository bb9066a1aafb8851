"""One run's topics."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.corpus.official import scores_of_run
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.leaderboards import board_page
from rubricweb.leaderboards.board import provenance, selectors
from rubricweb.leaderboards.forms import BoardForm


@require_safe
def run(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """One run's score on every topic, beside the mean and the best of all runs."""
    collection = access.collection_for(request.user, slug)
    of_run = get_object_or_404(collection.runs.accepted(), pk=run_id)
    official = scores_of_run(of_run)
    (of_run.run_tag,) = shown_names(collection.pk, (of_run.run_tag,))
    form = BoardForm(request.GET, collection=collection)
    context = {"collection": collection, "section": "leaderboard", "run": of_run, "form": form}
    if not form.is_valid():
        return form_response(request, "leaderboards/run.html", context, part="topics")
    sort = request.GET.get("sort", "topic")
    rows = board_page.sorted_topics(selectors.run_topics(form.spec, of_run, official), sort)
    columns = board_page.topic_columns(of_run.run_tag, sort, official)
    context |= {"spec": form.spec, "rows": rows, "columns": columns, "official": official}
    context |= {"query": board_page.query_of(form), "measure_name": provenance.measure_name(form.spec)}
    return page_or_part(request, "leaderboards/run.html", context, part="topics")
