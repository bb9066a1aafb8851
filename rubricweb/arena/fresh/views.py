"""Ask a question, wait for its two answers, see how they were made, adopt the question."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.arena import access
from rubricweb.arena.errors import ArenaError
from rubricweb.arena.fresh import actions, selectors
from rubricweb.arena.fresh.forms import CALLS, DOLLARS, AdoptForm, QuestionForm
from rubricweb.arena.fresh.models import SIDES, Question
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.systems.selectors import steps_of

PLACE = {"section": "review", "tab": "arena", "page": "ask"}
STEPS_A_PAGE = 20


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """A question of one's own, answered by two systems; POST has it answered."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    form = QuestionForm(request.POST or None)
    form.offer(collection, request.user)
    if form.is_bound and form.is_valid():
        return redirect(actions.ask(collection, form.asked, limits=form.limits, by=request.user))
    arena = access.arena_of(collection)
    may_see_board = access.may_see_board(request.user, arena)
    may_adopt = roles.holds(request.user, collection, roles.TO_EDIT_BANK)
    context = PLACE | {"collection": collection, "arena": arena, "form": form}
    context |= {"may_see_board": may_see_board, "may_adopt": may_adopt}
    context["tallies"] = selectors.tallies(collection) if may_see_board else []
    context["questions"] = selectors.questions(collection) if may_adopt else []
    return form_response(request, "arena/ask.html", context)


@require_safe
def pending(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """How far the answers of a battle are; says nothing of either."""
    question = _question(request, slug, battle_id)
    context = {"collection": question.collection, "battle": question.battle, "question": question}
    return render(request, "arena/_pending.html", context | waiting(question))


@require_POST
def cancel(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Stop the answering."""
    question = actions.cancel(_question(request, slug, battle_id), by=request.user)
    return redirect("arena:battle", slug, question.battle.pk)


@require_POST
def go_on(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Answer on, where it paused with as much again as a question is given."""
    question = _question(request, slug, battle_id)
    form = QuestionForm()
    form.offer(question.collection, request.user)
    if question.pause_reason and not form.has_model:
        raise PermissionDenied("A topic developer may let it ask more.")
    if question.pause_reason:
        actions.go_on(question, more_calls=CALLS, more_dollars=DOLLARS)
    else:
        actions.go_on(question)
    return redirect("arena:battle", slug, battle_id)


@require_safe
def how_made(request: HtmxRequest, slug: str, battle_id: int, side: str) -> HttpResponse:
    """Every step behind one of the two answers, once the names are shown."""
    shown = access.battle_for(request.user, slug, battle_id)
    if shown.question is None or side not in SIDES:
        raise Http404("No answer was made for it.")
    if shown.is_blind:
        raise PermissionDenied("It says whose answer it is: vote first.")
    chunk = get_object_or_404(shown.question.chunks, number=SIDES.index(side))
    steps = steps_of(shown.collection, chunk.result) if chunk.result else None
    made = steps.made.steps if steps else ()
    page = Paginator(made, STEPS_A_PAGE).get_page(request.GET.get("page"))
    context = {"collection": shown.collection, "battle": shown, "chunk": chunk, "steps": steps}
    return render(request, "arena/how_made.html", PLACE | context | {"page": page})


@require_POST
def adopt(request: HtmxRequest, slug: str, question_id: int) -> HttpResponse:
    """Make a question a topic of the collection."""
    question, form = access.question_for(request.user, slug, question_id), AdoptForm(request.POST)
    if not form.is_valid():
        messages.warning(request, str(form.errors["query_id"][0]))
        return redirect("arena:ask", slug)
    try:
        topic = actions.adopt(question, query_id=form.cleaned_data["query_id"], by=request.user)
        messages.success(
            request,
            gettext("Topic %(query_id)s is in the collection: pool passages for it next.")
            % {"query_id": topic.query_id},
        )
    except ArenaError as refusal:
        messages.warning(request, str(refusal))
    return redirect("arena:ask", slug)


def waiting(question: Question | None) -> dict[str, object]:
    """What the page of a battle shows while its answers are made; nothing of a battle of other answers."""
    if question is None or question.is_ready:
        return {}
    done = question.chunks.filter(state="done").count()
    return {"question": question, "ready": done}


def _question(request: HtmxRequest, slug: str, battle_id: int) -> Question:
    battle = access.battle_for(request.user, slug, battle_id)
    if battle.question is None:
        raise Http404("Its answers are stored ones.")
    return battle.question
