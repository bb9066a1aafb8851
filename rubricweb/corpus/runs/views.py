"""Organizers: the runs of a collection, their description, and which of them count."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, after_post, form_response, page_or_part
from rubricweb.core.undo import offer_undo
from rubricweb.corpus import access
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.runs import actions, selectors
from rubricweb.corpus.runs.actions import RunConflict
from rubricweb.corpus.runs.forms import RunForm, again, run_form

PAGE = "corpus/runs.html"


@require_safe
def runs(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    return page_or_part(request, PAGE, _listed(collection), part="runs")


@require_POST
def run_accept(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    run = access.run_for_organizer(request.user, slug, run_id)
    if actions.is_empty(run):
        messages.error(request, gettext("%(run)s was not finished. Make it again.") % {"run": run})
        return redirect("corpus:runs", slug)
    undo = "run-withdraw" if run.state == Run.State.WITHDRAWN else ""
    actions.accept_run(run, by=request.user)
    return _changed(
        request, run, f"{run} is accepted. It now counts on boards, in pools and in files.", undo=undo
    )


@require_POST
def run_withdraw(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    run = access.run_for_organizer(request.user, slug, run_id)
    undo = "" if run.is_unfinished else "run-accept"
    actions.withdraw_run(run, by=request.user)
    return _changed(request, run, f"{run} is withdrawn. Nothing was deleted.", undo=undo)


@require_http_methods(["GET", "HEAD", "POST"])
def run_edit(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """The description of a run."""
    run = access.run_for_organizer(request.user, slug, run_id)
    form = run_form(run, request.POST if request.method == "POST" else None)
    if not (form.is_bound and form.is_valid()):
        return _edit_page(request, run, form)
    try:
        actions.describe_run(run, form.described, seen=form.cleaned_data["seen"], by=request.user)
    except RunConflict as conflict:
        return _edit_page(request, conflict.run, again(conflict.run, form.described), status=409)
    messages.success(request, gettext("%(run)s saved.") % {"run": run})
    return redirect("corpus:runs", slug)


def _edit_page(request: HtmxRequest, run: Run, form: RunForm, *, status: int = 0) -> HttpResponse:
    context = {"collection": run.collection, "section": "runs", "run": run, "form": form}
    context["theirs"] = actions.description_of(run) if status else None
    return form_response(request, "corpus/run_edit.html", context, status=status)


def _changed(request: HtmxRequest, run: Run, words: str, *, undo: str) -> HttpResponse:
    if undo:
        offer_undo(request, words, reverse(f"corpus:{undo}", args=[run.collection.slug, run.pk]))
    else:
        messages.success(request, words)
    to = reverse("corpus:runs", args=[run.collection.slug])
    return after_post(request, f"{PAGE}#runs", _listed(run.collection), to=to)


def _listed(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "section": "runs", "runs": selectors.run_list(collection)}
