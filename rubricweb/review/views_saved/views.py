"""Name a view of a grid, and forget it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.review.views_saved import actions
from rubricweb.review.views_saved.forms import SavedViewForm
from rubricweb.review.views_saved.models import SavedView


@require_POST
def save(request: HtmxRequest, slug: str) -> HttpResponse:
    """Keep the view that the grid shows."""
    collection = collection_for(request.user, slug)
    form = SavedViewForm(request.POST)
    if form.is_valid():
        view = actions.save_view(collection, **form.cleaned_data, by=request.user)
        messages.success(request, f"View \u201c{view.name}\u201d saved.")
    else:
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    return _back(request, collection)


@require_POST
def drop(request: HtmxRequest, slug: str, view_id: int) -> HttpResponse:
    """Forget one of my views."""
    collection = collection_for(request.user, slug)
    mine = SavedView.objects.filter(user=request.user, collection=collection)
    actions.drop_view(get_object_or_404(mine, pk=view_id), by=request.user)
    messages.success(request, "View dropped.")
    return _back(request, collection)


def _back(request: HtmxRequest, collection: Collection) -> HttpResponse:
    """To the grid where the form stood."""
    to = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=request.is_secure()):
        return redirect("home:collection", collection.slug)
    return redirect(to)
