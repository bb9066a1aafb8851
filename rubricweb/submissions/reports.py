"""One submission: its report, the file that mends it, and what organizers decide."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.submissions import access, actions, files, selectors
from rubricweb.submissions.access import Desk
from rubricweb.submissions.actions import NotTaken
from rubricweb.submissions.findings import from_json
from rubricweb.submissions.models import Submission
from rubricweb.submissions.submit import submit_form

PAGE = "submissions/submission.html"
REASON_CHARS = 1_000


class RejectForm(forms.Form):
    """Why organizers reject a run or a late file."""

    reason = forms.CharField(
        max_length=REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The team reads it with the submission.",
    )


@require_safe
def submission(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """The report of a submitted file; live while it is checked."""
    place, row = access.submission_for(request.user, slug, submission_id)
    return page_or_part(request, PAGE, _report(place, row), part="submission")


def _report(place: Desk, row: Submission, reject_form: RejectForm | None = None) -> Context:
    described = {name: getattr(row, name) for name in ("type", "priority", "description", "team")}
    may_submit = row.call.is_open and row.asks_for_another and not row.is_live
    initial = described | {"replaces": row.pk}
    return {
        "collection": place.collection,
        "place": place,
        "submission": row,
        "groups": from_json(row.findings),
        "versions": selectors.versions_of(row),
        "form": submit_form(row.call, team=place.team, initial=initial) if may_submit else None,
        "reject_form": reject_form or RejectForm(auto_id="reject-%s"),
    }


@require_safe
def file(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponseBase:
    """The file, byte for byte as it was sent."""
    _, row = access.submission_for(request.user, slug, submission_id)
    if not row.is_kept or not files.is_here(row):
        raise Http404("The file is no longer stored.")
    path = files.path_of(row)
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


@require_POST
def withdraw(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Teams withdraw their runs before the deadline, organizers any run at any time."""
    place, row = access.submission_for(request.user, slug, submission_id)
    if place.is_organizer:
        return _decided(request, row, actions.take_back, f"{row.run_tag} is withdrawn.")
    done = f"{row.run_tag} is withdrawn. You can submit it again until the deadline."
    return _decided(request, row, actions.withdraw, done)


@require_POST
def accept(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    row = access.submission_for_organizer(request.user, slug, submission_id)
    done = f"{row.run_tag} is accepted. It now counts on boards, in pools and in files."
    return _decided(request, row, actions.accept, done)


@require_POST
def reject(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Keep a run or a late file out, and say why. Without a reason the page asks for one."""
    row = access.submission_for_organizer(request.user, slug, submission_id)
    form = RejectForm(request.POST, auto_id="reject-%s")
    if not form.is_valid():
        place, row = access.submission_for(request.user, slug, submission_id)
        return form_response(request, PAGE, _report(place, row, form), part="submission", status=422)
    do = partial(actions.reject, reason=form.cleaned_data["reason"])
    return _decided(
        request, row, do, f"The submission of {row.team} is rejected. The team reads your reason."
    )


@require_POST
def undo_rejection(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    row = access.submission_for_organizer(request.user, slug, submission_id)
    done = "The rejection is undone. The submission waits for you again."
    return _decided(request, row, actions.undo_rejection, done)


@require_POST
def let_in(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Let a late file in: it is checked as if it had come in time."""
    row = access.submission_for_organizer(request.user, slug, submission_id)
    if row.outcome != Submission.Outcome.LATE:
        raise PermissionDenied("This file is not late.")
    return _decided(request, row, actions.let_in, f"The late file of {row.team} is let in and checked.")


def _decided(request: HtmxRequest, row: Submission, do: Callable[..., Submission], done: str) -> HttpResponse:
    """Tell that it is `done`, or why not."""
    try:
        do(row, by=request.user)
    except NotTaken as reason:
        messages.error(request, str(reason))
    else:
        messages.success(request, done)
    return redirect(row)
