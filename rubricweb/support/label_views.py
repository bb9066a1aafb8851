"""The labelling screen: one citation, three keys."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from grading.support.scores import Support
from rubricweb.accounts import roles
from rubricweb.accounts.keys import keys_of
from rubricweb.core.http import Context, HtmxRequest, after_post, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.support import actions, labelling
from rubricweb.support.cited import Citation
from rubricweb.support.forms import LabelForm
from rubricweb.support.labelling import Card, Progress

PAGE = "support/label.html"
MEANINGS = {
    Support.FULL: "all that the sentence says",
    Support.PARTIAL: "some of it, and some not",
    Support.NONE: "nothing of it, or the opposite",
}


@require_http_methods(["GET", "HEAD", "POST"])
def label(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show what this person has not labelled yet (GET); save a label and show the next (POST)."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    if request.method == "POST":
        _save(request, collection)
        return _answer(request, collection, *labelling.next_card(collection, request.user))
    context = _context(request, collection, *labelling.next_card(collection, request.user))
    return page_or_part(request, PAGE, context, part="card")


@require_POST
def take_back(request: HtmxRequest, slug: str) -> HttpResponse:
    """Withdraw this person's latest label, and show its citation again if somebody still makes it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    taken = actions.take_back(collection, by=request.user)
    card, progress = labelling.next_card(collection, request.user)
    place = Citation(taken.topic_id, taken.sentence_md5, taken.doc_id) if taken else None
    if place in labelling.asked(collection):
        card = labelling.card(collection, place, request.user)
    return _answer(request, collection, card, progress)


def _save(request: HtmxRequest, collection: Collection) -> None:
    """404 for what nobody is asked about."""
    form = LabelForm(request.POST)
    if not form.is_valid() or form.citation not in labelling.asked(collection):
        raise Http404("No such citation.")
    seen = labelling.label_of_judge(collection, form.citation, form.cleaned_data["seen"])
    actions.label_citation(form.citation, label=form.cleaned_data["label"], by=request.user, seen=seen)


def _answer(
    request: HtmxRequest, collection: Collection, card: Card | None, progress: Progress
) -> HttpResponse:
    context = _context(request, collection, card, progress)
    return after_post(request, f"{PAGE}#card", context, to=reverse("support:label", args=[collection.slug]))


def _context(request: HtmxRequest, collection: Collection, card: Card | None, progress: Progress) -> Context:
    keys = {row.action.name: row.shown for row in keys_of(request.user)}
    choices = [(one.value, one.name.lower(), MEANINGS[one], keys[f"rate-{one.value}"]) for one in MEANINGS]
    place = {"collection": collection, "section": "leaderboard", "tab": "support"}
    return place | {"card": card, "progress": progress, "choices": choices, "undo_key": keys["undo"]}
