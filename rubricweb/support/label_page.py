"""Work > Label: one citation, three keys."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from grading.support import Support
from rubricweb.accounts import roles
from rubricweb.accounts.keys import keys_of
from rubricweb.core.http import Context, HtmxRequest, after_post, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.support import actions, labelling
from rubricweb.support.cited import Citation
from rubricweb.support.forms import LabelForm, RequestForm
from rubricweb.support.labels import citation_of

PAGE = "support/label.html"
MEANINGS = {
    Support.FULL: "everything that the sentence says",
    Support.PARTIAL: "part of it",
    Support.NONE: "no support, or contradicts it",
}


@require_http_methods(["GET", "HEAD", "POST"])
def label(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show what this person has not labelled yet (GET); save a label and show the next (POST)."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    if request.method == "POST":
        _save(request, collection)
        return _answer(request, collection)
    return page_or_part(request, PAGE, _context(request, collection), part="labelling")


@require_POST
def take_back(request: HtmxRequest, slug: str) -> HttpResponse:
    """Withdraw this person's latest label, and show its citation again if somebody still makes it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    form = RequestForm(request.POST)
    uid = form.cleaned_data["uid"] if form.is_valid() else ""
    taken = actions.take_back(collection, by=request.user, uid=uid)
    place = citation_of(taken) if taken else None
    return _answer(request, collection, place if place in labelling.asked(collection) else None)


def _save(request: HtmxRequest, collection: Collection) -> None:
    """404 for what nobody is asked about."""
    form = LabelForm(request.POST)
    if not form.is_valid() or not labelling.is_known(collection, form.citation):
        raise Http404("No such citation.")
    said = form.cleaned_data
    seen = labelling.label_of_judge(collection, form.citation, said["seen"])
    actions.label_citation(form.citation, label=said["label"], by=request.user, seen=seen, uid=said["uid"])


def _answer(request: HtmxRequest, collection: Collection, first: Citation | None = None) -> HttpResponse:
    context = _context(request, collection, first)
    to = reverse("support:label", args=[collection.slug])
    return after_post(request, f"{PAGE}#labelling", context, to=to)


def _context(request: HtmxRequest, collection: Collection, first: Citation | None = None) -> Context:
    keys = {row.action.name: row.sign for row in keys_of(request.user)}
    choices = [(one.value, one.name.lower(), MEANINGS[one], keys[f"rate-{one.value}"]) for one in MEANINGS]
    return {
        "collection": collection,
        "cards": labelling.next_cards(collection, request.user, first=first),
        "progress": labelling.progress(collection, request.user),
        "choices": choices,
        "undo_key": keys["undo"],
    }
