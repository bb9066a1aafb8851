"""Compare > In context: what grading in context takes, its start, and what it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from grading.in_context import WORDS
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.http import Context, HtmxRequest
from rubricweb.grades import access, actions
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.price import over_limit, price
from rubricweb.grades.in_context import CannotGradeInContext
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.comparison.in_context import Contexts
from rubricweb.leaderboards.forms import AnalysisForm

MOST_WORDS = 2_000


class ContextForm(AnalysisForm):
    """A board, and how much of an answer a passage is read with."""

    own = ("max_words",)
    max_words = forms.IntegerField(
        min_value=0,
        max_value=MOST_WORDS,
        required=False,
        label="Words before",
    )

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        return super().default_values(given) | {"max_words": WORDS}

    @property
    def chosen_limit(self) -> int:
        limit: int | None = self.cleaned_data["max_words"]
        return WORDS if limit is None else limit


class CostForm(forms.Form):
    """Limits of what a click may cost; an empty one is none."""

    most_calls = forms.IntegerField(min_value=0, required=False, label="Calls, at most")
    most_dollars = forms.FloatField(min_value=0, required=False, label="Dollars, at most")


def context_of(form: ContextForm, request: HtmxRequest) -> Context:
    """Return what the page shows; what grading the missing pairs takes where `price` is in the address.

    To plan them means to look up every passage of every answer, which a page that is only read does without.
    """
    try:
        contexts = Contexts.of(form.spec, form.chosen_limit)
    except CannotGradeInContext as error:
        return {"cannot": f"{form.spec.config} cannot grade in context: {error}."}
    if not contexts.answers.pool.run_pks:
        return {"has_no_answers": True}
    graded, total = contexts.pairs
    context = {
        "contexts": contexts,
        "graded": graded,
        "total": total,
        "sheet": contexts.run_table(),
        "pairs": contexts.pair_table(),
        "n_changed": len(contexts.changed),
        "n_clear": sum(row.is_clear for row in contexts.rows),
    }
    if "price" in request.GET:
        return {**context, **_price(contexts, request)}
    asking = request.GET.copy()
    asking["price"] = "on"
    return context | {"price_address": f"?{asking.urlencode()}"}


def _price(contexts: Contexts, request: HtmxRequest) -> Context:
    """Return what grading the missing pairs takes, and how many are being graded."""
    collection, plan = contexts.spec.collection, contexts.plan
    return {
        "live": sum(part.cells for part in plan.missing) - sum(part.cells for part in plan.at_once),
        "price": price(collection, plan.all, monitor.workers().beats),
        "may_start": roles.holds(request.user, collection, roles.role_to_grade(collection)),
        "cost_form": CostForm(auto_id="cost-%s"),
        "start_query": request.GET.urlencode(),
    }


@require_POST
def start_in_context(request: HtmxRequest, slug: str) -> HttpResponse:
    """Grade what lacks on either side of the board of the address."""
    collection = access.collection_to_grade(request.user, slug)
    form, limits = ContextForm(request.GET, collection=collection), CostForm(request.POST)
    page = f"{reverse('leaderboards:compare', args=[slug])}?{request.GET.urlencode()}"
    if not form.is_valid() or not limits.is_valid():
        messages.error(request, "Not started: correct the limits.")
        return redirect(page)
    try:
        refusal = start_job(form.spec, form.chosen_limit, by=request.user, limits=limits.cleaned_data)
    except CannotGradeInContext as error:
        refusal = str(error)
    if refusal:
        messages.error(request, f"Not started. {refusal}")
    return redirect(page)


def start_job(spec: BoardSpec, max_words: int, *, by: User | None, limits: Mapping[str, Any]) -> str:
    """Start what lacks on either side, or return why it may not start. Raises CannotGradeInContext."""
    contexts = Contexts.of(spec, max_words)
    missing = contexts.plan.all
    if by is not None and (refusal := access.price_refusal(by, spec.collection, lambda: missing)):
        return refusal
    calls, dollars = limits.get("most_calls"), limits.get("most_dollars")
    if refusal := over_limit(spec.collection, missing, calls=calls, dollars=dollars):
        return refusal
    stored = replace(contexts, answers=contexts.answers.store())
    started = actions.start_plan(stored.plan, by=by)
    return "" if started else "Every pair is graded, or being graded."
