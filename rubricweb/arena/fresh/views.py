"""Ask a question, wait for its two answers, adopt the question."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.arena import access
from rubricweb.arena.errors import ArenaError
from rubricweb.arena.fresh import actions, selectors
from rubricweb.arena.fresh.forms import CALLS, DOLLARS, AdoptForm, QuestionForm
from rubricweb.arena.fresh.models import Question
from rubricweb.arena.voting import PAGE, context_of
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """A question of one's own, answered by two systems; POST has it answered."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    form = QuestionForm(request.POST or None)
    form.offer(collection, request.user)
    if form.is_bound and form.is_valid():
        return redirect(actions.ask(collection, form.asked, limits=form.limits, by=request.user))
    context = context_of(request, collection) | {"form": form, "page": "ask"}
    context["may_adopt"] = may_adopt = roles.holds(request.user, collection, roles.TO_EDIT_BANK)
    context["tallies"] = selectors.tallies(collection) if context["may_see_board"] else []
    context["questions"] = selectors.questions(collection) if may_adopt else []
    return form_response(request, PAGE, context, part="battle")


@require_safe
def pending(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """How far the answers of a battle are; says nothing of either."""
    question = _question(request, slug, battle_id)
    context = {"collection": question.collection, "battle": question.battle, "question": question}
    return render(request, "arena/_pending.html", context | selectors.waiting(question))


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


@require_POST
def adopt(request: HtmxRequest, slug: str, question_id: int) -> HttpResponse:
    """Make a question a topic of the collection."""
    question, form = access.question_for(request.user, slug, question_id), AdoptForm(request.POST)
    if not form.is_valid():
        messages.warning(request, str(form.errors["query_id"][0]))
        return redirect("arena:ask", slug)
    try:
        topic = actions.adopt(question, query_id=form.cleaned_data["query_id"], by=request.user)
        messages.success(request, f"Topic {topic.query_id} is in the collection: pool passages for it next.")
    except ArenaError as refusal:
        messages.warning(request, str(refusal))
    return redirect("arena:ask", slug)


def _question(request: HtmxRequest, slug: str, battle_id: int) -> Question:
    battle = access.battle_for(request.user, slug, battle_id)
    if battle.question is None:
        raise Http404("Its answers are stored ones.")
    return battle.question
