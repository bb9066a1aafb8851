"""Show one cell, rate it, undo a rating."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.banks.models import Item
from rubricweb.campaigns.queue.actions import undo_in_grid
from rubricweb.core.http import HtmxRequest, after_post, page_or_part
from rubricweb.corpus.models import Passage
from rubricweb.grades import human_ratings
from rubricweb.grades.forms import GraderForm
from rubricweb.grades.human_matrices import Source
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, HumanGradeError, RatedMeanwhile, UnfitRating
from rubricweb.grades.raters import raters
from rubricweb.grades.visibility import hidden_of_cell
from rubricweb.review import access, selectors
from rubricweb.review.cells.forms import CellForm, RatingForm
from rubricweb.review.cells.latest_ratings import NoText, Reworded, Saving, cell_ratings, shown
from rubricweb.review.flags.subjects import Subject
from rubricweb.review.flags.views import subject_context
from rubricweb.review.forms import GridForm, address_kept
from rubricweb.review.views import INSET, inset_frame

Place = tuple[Item, Passage]
STATUS = {type(None): 200, RatedMeanwhile: 409, Reworded: 409, UnfitRating: 422, NoText: 422}


@require_safe
def cell(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int, item_id: int) -> HttpResponse:
    """Show a passage and an item: the answer, the prompt, the reply, other graders, the runs."""
    place = access.cell_for(request.user, (bank_id, topic_id), (passage_id, item_id), request.GET)
    return page_or_part(request, INSET, _context(request, place), part="panel")


@require_POST
def rate(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int, item_id: int) -> HttpResponse:
    """Save the user's rating unless they rated the cell elsewhere since the page was made."""
    place = _to_assess(request, (bank_id, topic_id), (passage_id, item_id))
    form = RatingForm(request.POST)
    if not form.is_valid():
        return _answer(request, place, Saving(None, refusal=UnfitRating(form.why)))
    item, passage = place
    rater = GraderForm(request.GET).offer(raters(item.bank))
    is_blind = hidden_of_cell(request.user, item.topic, item.revision_id, passage.pk).graders
    before = None if is_blind else shown(item, passage, rater, _source(request))
    return _save(request, place, form, partial(human_ratings.rate_cell, shown=before))


@require_POST
def undo(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int, item_id: int) -> HttpResponse:
    """Withdraw the user's latest rating of the cell."""
    place = _to_assess(request, (bank_id, topic_id), (passage_id, item_id))
    form = CellForm(request.POST)
    if not form.is_valid():
        return _answer(request, place, Saving(None, refusal=UnfitRating(form.why)))
    return _save(request, place, form, undo_in_grid)


def _to_assess(request: HtmxRequest, where: tuple[int, int], cell: tuple[int, int]) -> Place:
    return access.cell_for(request.user, where, cell, request.GET, needed=roles.TO_ASSESS)


def _save(request: HtmxRequest, place: Place, form: CellForm, say: Callable[..., HumanGrade]) -> HttpResponse:
    cleaned = dict(form.cleaned_data)
    sent = cleaned.get("rating")
    try:
        if cleaned.pop("revision") != place[0].revision_id:
            raise Reworded
        if not place[0].revision.text:
            raise NoText
        return _answer(request, place, Saving(sent, say(Cell.of(*place), **cleaned, by=request.user)))
    except HumanGradeError as refusal:
        return _answer(request, place, Saving(sent, refusal=refusal))


def _answer(request: HtmxRequest, place: Place, saving: Saving) -> HttpResponse:
    """Render the cell for a grid, the panel for the panel; redirect a plain browser to the cell's page."""
    item, passage = place
    to = reverse("review:cell", args=[item.bank_id, item.topic_id, passage.pk, item.pk])
    if not request.htmx:
        if saving.refusal:
            messages.error(request, str(saving.refusal))
        return after_post(request, "", {}, to=to + address_kept(request)["suffix"])
    context = _context(request, place) | {"saving": saving}
    template = f"{INSET}#panel"
    if request.POST.get("part") == "cell":
        form = GridForm(request.GET)
        rater = form.offer(raters(item.bank))
        form.offer_versions(item.bank)
        query = form.query(at=(passage.pk, item.pk))
        cell = selectors.one_cell(item.bank, item.topic, rater, query, request.user)
        template, context = "review/_saved.html", {**address_kept(request), "saving": saving, "cell": cell}
    return render(request, template, context, status=STATUS[type(saving.refusal)])


def _source(request: HtmxRequest) -> Source:
    source = request.GET.get("source", "")
    return Source(source) if source in set(Source) else Source.GRADER


def _context(request: HtmxRequest, place: Place) -> dict[str, object]:
    item, passage = place
    rater = GraderForm(request.GET).offer(raters(item.bank))
    cell = selectors.cell(item, passage, rater)
    own_and_others = cell_ratings(item, passage, request.user, rater)
    return {
        **inset_frame(request, item.bank, item.topic),
        **subject_context(request, Subject(item.bank, item.topic, item, passage)),
        "inset": passage.doc_id,
        "rater": rater,
        "cell": cell.blinded() if own_and_others.is_blind else cell,
        "ratings": own_and_others,
    }
