"""A board on the slices of its topics."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from grading.topic_attributes import TopicSlice
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus import access
from rubricweb.leaderboards.board.scored import scored_board
from rubricweb.leaderboards.board_page import query_of
from rubricweb.leaderboards.by_attribute.forms import AttributeForm
from rubricweb.leaderboards.by_attribute.selectors import board_by_attribute
from rubricweb.leaderboards.by_attribute.sheets import Link, score_sheet, slice_sheet
from rubricweb.leaderboards.sorting import changed

PAGE = "leaderboards/by_attribute.html"


@require_safe
def by_attribute(request: HtmxRequest, slug: str) -> HttpResponse:
    """How the runs do on topics of each kind. The board and the attribute are in the address."""
    collection = access.collection_for(request.user, slug)
    form = AttributeForm(request.GET, collection=collection)
    context = {"collection": collection, "section": "leaderboard", "tab": "by_attribute", "form": form}
    if not form.graders or not form.slices:
        return page_or_part(request, PAGE, context, part="by-attribute")
    if not form.is_valid():
        return form_response(request, PAGE, context, part="by-attribute")
    return page_or_part(request, PAGE, {**context, **_sheets(form)}, part="by-attribute")


def _sheets(form: AttributeForm) -> Context:
    scored = scored_board(form.spec)
    board = board_by_attribute(scored, form.cleaned_data["attribute"])
    return {
        "board": board,
        "slices": slice_sheet(board, _link(form)),
        "scores": score_sheet(board, scored),
        "stated": form.spec.topic_slice.stated if form.spec.topic_slice else "",
    }


def _link(form: AttributeForm) -> Link:
    """Return the address of the board on a slice."""
    path, query = reverse("leaderboards:board", args=[form.collection.slug]), query_of(form)

    def address(topics: TopicSlice | None) -> str:
        token = topics.token if topics else ""
        return f"{path}?{changed(query, topics=token, attribute='', topic='', facet='')}"

    return address
