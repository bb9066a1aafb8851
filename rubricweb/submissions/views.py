"""Call for submissions, send runs in, and see what became of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.submissions import rules_of
from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.core.ids import parse_ids
from rubricweb.core.uploads import too_large
from rubricweb.corpus.access import collection_for
from rubricweb.submissions import access, actions, files, selectors
from rubricweb.submissions.access import Desk
from rubricweb.submissions.actions import CallConflict, NotTaken, Sent
from rubricweb.submissions.findings import from_json
from rubricweb.submissions.forms import SubmitForm, again, call_form, new_call_form, reject_form, submit_form
from rubricweb.submissions.models import Call, Submission
from rubricweb.submissions.rules_form import rules_form


@require_safe
def team(request: HtmxRequest, slug: str) -> HttpResponse:
    """The calls of a collection with the submissions of the reader's team."""
    place = access.desk_for(request.user, slug)
    if place.is_organizer:
        return redirect("submissions:desk", slug)
    context = _place(place) | {"calls": selectors.team_calls(place.collection, place.team)}
    return page_or_part(request, "submissions/team.html", context, part="calls")


@require_safe
def desk(request: HtmxRequest, slug: str) -> HttpResponse:
    """Organizers: who has sent in what."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    context = {"collection": collection, "section": "submissions", "desk": selectors.desk(collection)}
    return page_or_part(request, "submissions/desk.html", context, part="desk")


@require_http_methods(["GET", "HEAD", "POST"])
def call_new(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = new_call_form(collection, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        rules = rules_of(form.cleaned_data["track"])
        call = actions.open_call(collection, form.terms(), rules, by=request.user)
        messages.success(request, gettext("The call for %(call)s is open. Check its rules.") % {"call": call})
        return redirect("submissions:call-rules", slug, call.pk)
    context = {"collection": collection, "section": "submissions", "form": form}
    return form_response(request, "submissions/call_new.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def call_edit(request: HtmxRequest, slug: str, call_id: int) -> HttpResponse:
    call = access.call_for_organizer(request.user, slug, call_id)
    form = call_form(call, request.POST if request.method == "POST" else None)
    if not (form.is_bound and form.is_valid()):
        return form_response(request, "submissions/call_edit.html", _of_call(call) | {"form": form})
    try:
        actions.change_call(call, form.terms(), seen=form.cleaned_data["seen"], by=request.user)
    except CallConflict as conflict:
        context = _of_call(conflict.call) | {"form": again(conflict.call, form.terms()), "is_conflict": True}
        return form_response(request, "submissions/call_edit.html", context, status=409)
    messages.success(request, gettext("The call for %(call)s is saved.") % {"call": call})
    return redirect("submissions:desk", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def call_rules(request: HtmxRequest, slug: str, call_id: int) -> HttpResponse:
    """The rules of a call; files that were checked already keep their reports."""
    call = access.call_for_organizer(request.user, slug, call_id)
    form = rules_form(call, request.POST if request.method == "POST" else None)
    if not (form.is_bound and form.is_valid()):
        return form_response(request, "submissions/rules.html", _of_call(call) | {"form": form})
    try:
        actions.change_rules(call, form.rules, seen=form.cleaned_data["seen"], by=request.user)
    except CallConflict as conflict:
        mine = rules_form(conflict.call, rules=form.rules)
        context = _of_call(conflict.call) | {"form": mine, "is_conflict": True}
        return form_response(request, "submissions/rules.html", context, status=409)
    messages.success(
        request,
        gettext("The rules of %(call)s are saved. They apply to files submitted from now on.")
        % {"call": call},
    )
    return redirect("submissions:desk", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HtmxRequest, slug: str, call_id: int) -> HttpResponse:
    """Send a run in."""
    place, call = access.call_to_submit(request.user, slug, call_id)
    form = _submit_form(request, place, call)
    if not (form.is_bound and form.is_valid()):
        context = _place(place) | {"call": call, "form": form}
        context["accepted"] = selectors.accepted_runs(call, place.team)
        return form_response(request, "submissions/submit.html", context)
    try:
        sent = _receive(request, place, call, form)
    except NotTaken as reason:
        messages.error(request, str(reason))
        return redirect("submissions:team", slug)
    return redirect(sent)


@require_safe
def submission(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """The report of a submitted file; live while it is checked."""
    place, row = access.submission_for(request.user, slug, submission_id)
    return page_or_part(request, "submissions/submission.html", _report(place, row), part="submission")


def _report(place: Desk, row: Submission) -> dict[str, Any]:
    said = {name: getattr(row, name) for name in ("type", "priority", "description", "team")}
    may_send = row.call.is_open and row.asks_for_another and not row.is_live
    team = "" if place.is_organizer else place.team
    form = submit_form(row.call, team=team, initial=said | {"replaces": row.pk}) if may_send else None
    return _place(place) | {
        "submission": row,
        "groups": from_json(row.findings),
        "versions": selectors.versions_of(row),
        "form": form,
        "reject_form": reject_form(),
    }


@require_safe
def file(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponseBase:
    """The file, byte for byte as it was sent."""
    _, row = access.submission_for(request.user, slug, submission_id)
    if not row.is_kept or not files.is_here(row):
        raise Http404("The file is no longer stored.")
    name = files.path_of(row).name
    return FileResponse(files.path_of(row).open("rb"), as_attachment=True, filename=name)


@require_POST
def withdraw(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Teams withdraw their runs before the deadline, organizers any run at any time."""
    place, row = access.submission_for(request.user, slug, submission_id)
    do = actions.take_back if place.is_organizer else actions.withdraw
    done = gettext("%(run_tag)s is withdrawn.")
    if not place.is_organizer:
        done = gettext("%(run_tag)s is withdrawn. You can submit it again until the deadline.")
    return _decided(request, row, do, done % {"run_tag": row.run_tag})


@require_POST
def accept(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    row = access.submission_for_organizer(request.user, slug, submission_id)
    done = gettext("%(run_tag)s is accepted. It now counts on boards, in pools and in files.")
    return _decided(request, row, actions.accept, done % {"run_tag": row.run_tag})


@require_POST
def reject(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Keep a run or a late file out, and say why. Without a reason the page asks for one."""
    row = access.submission_for_organizer(request.user, slug, submission_id)
    form = reject_form(request.POST)
    if not form.is_valid():
        place, row = access.submission_for(request.user, slug, submission_id)
        context = _report(place, row) | {"reject_form": form}
        return form_response(request, "submissions/submission.html", context, part="submission", status=422)
    done = gettext("The submission of %(team)s is rejected. The team reads your reason.")
    do = partial(actions.reject, reason=form.cleaned_data["reason"])
    return _decided(request, row, do, done % {"team": row.team})


@require_POST
def undo_rejection(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    row = access.submission_for_organizer(request.user, slug, submission_id)
    done = gettext("The rejection is undone. The submission waits for you again.")
    return _decided(request, row, actions.undo_rejection, done)


def _decided(request: HtmxRequest, row: Submission, do: Callable[..., Submission], done: str) -> HttpResponse:
    """Say that it is `done`, or why not."""
    try:
        do(row, by=request.user)
    except NotTaken as reason:
        messages.error(request, str(reason))
    else:
        messages.success(request, done)
    return redirect(row)


@require_POST
def accept_all(request: HtmxRequest, slug: str) -> HttpResponse:
    """Accept the runs that the desk listed when the button was pressed."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    listed = parse_ids(request.POST.getlist("submission"))
    accepted = actions.accept_all(collection, listed, by=request.user)
    messages.success(
        request,
        ngettext("%(count)s run accepted.", "%(count)s runs accepted.", accepted) % {"count": accepted},
    )
    return redirect("submissions:desk", slug)


@require_POST
def let_in(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Let a late file in: it is checked as if it had come in time."""
    row = access.submission_for_organizer(request.user, slug, submission_id)
    if row.outcome != Submission.Outcome.LATE:
        raise PermissionDenied("This file is not late.")
    actions.let_in(row, by=request.user)
    messages.success(
        request, gettext("The late file of %(team)s is let in and checked.") % {"team": row.team}
    )
    return redirect(row)


def _submit_form(request: HtmxRequest, place: Desk, call: Call) -> SubmitForm:
    if request.method != "POST":
        return submit_form(call, team=place.team)
    form = submit_form(call, team=place.team, sent=request.POST, uploaded=request.FILES)
    if too_large(request):
        form.errors.pop("file", None)  # it is not there, since it was left out
        most = filesizeformat(settings.UPLOAD_BYTES)
        form.add_error(
            "file", gettext("The file is too large: it may have at most %(most)s.") % {"most": most}
        )
    return form


def _receive(request: HtmxRequest, place: Desk, call: Call, form: SubmitForm) -> Submission:
    """Keep the file of the valid form. A draft that it replaces is one of the same team and call."""
    upload, replaces = form.cleaned_data["file"], form.cleaned_data["replaces"]
    team = place.team or actions.team_named(call, form.cleaned_data["team"])
    drafts = call.submissions.filter(team=team)
    return actions.receive(
        call,
        Sent(upload.name or "run", upload.chunks()),
        team=team,
        by=request.user,
        described=form.described(),
        replaces=get_object_or_404(drafts, pk=replaces) if replaces else None,
    )


def _place(place: Desk) -> dict[str, object]:
    return {"collection": place.collection, "section": "submissions", "place": place}


def _of_call(call: Call) -> dict[str, object]:
    return {"collection": call.collection, "section": "submissions", "call": call, "is_conflict": False}
