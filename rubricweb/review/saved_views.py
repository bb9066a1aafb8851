"""Views of the grid that a person saves by name, to come back to them in any topic of the collection."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.review.forms import GridForm
from rubricweb.review.models import SavedView

OF_ONE_TOPIC = {"page", "columns", "at"}
"""Fields of the grid's address that mean nothing in another topic."""


class SavedViewForm(forms.Form):
    name = forms.CharField(
        max_length=SavedView._meta.get_field("name").max_length,
        error_messages={"required": "Give the view a name."},
    )
    address = forms.CharField(max_length=2_000, required=False)


def saved_views(person: User, collection: Collection) -> list[SavedView]:
    """Return the person's views of this collection, by name."""
    return list(SavedView.objects.filter(user=person, collection=collection))


@transaction.atomic
def save_view(collection: Collection, *, name: str, address: str, by: User) -> SavedView:
    """Save the choices in `address`, the query part of a grid's; a view of the same name is replaced."""
    query, kept = QueryDict(address), QueryDict(mutable=True)
    for field in GridForm.base_fields:
        if field not in OF_ONE_TOPIC and query.get(field):
            kept[field] = query[field]
    view, _ = SavedView.objects.update_or_create(
        user=by, collection=collection, name=name, defaults={"address": kept.urlencode()}
    )
    audit.record("view saved", view, by=by, detail=name)
    return view


@transaction.atomic
def drop_view(view: SavedView, *, by: User) -> None:
    audit.record("view dropped", view, by=by, detail=view.name)
    view.delete()


@require_POST
def view_save(request: HtmxRequest, slug: str) -> HttpResponse:
    """Save the view that the grid shows."""
    collection = collection_for(request.user, slug)
    form = SavedViewForm(request.POST)
    if form.is_valid():
        view = save_view(collection, **form.cleaned_data, by=request.user)
        messages.success(request, f"View “{view.name}” saved.")
    else:
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    return _back(request, collection)


@require_POST
def view_drop(request: HtmxRequest, slug: str, view_id: int) -> HttpResponse:
    """Delete one of the person's own views."""
    collection = collection_for(request.user, slug)
    mine = SavedView.objects.filter(user=request.user, collection=collection)
    drop_view(get_object_or_404(mine, pk=view_id), by=request.user)
    messages.success(request, "View deleted.")
    return _back(request, collection)


def _back(request: HtmxRequest, collection: Collection) -> HttpResponse:
    """Redirect to the grid that the form was on."""
    to = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=request.is_secure()):
        return redirect("home:collection", collection.slug)
    return redirect(to)
