"""A team's screens: submit to a call, check a file without keeping it, and read a submission's report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import filesizeformat
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.formats.topics import FORMATS
from rubricweb.accounts.models import TEAM_CHARS
from rubricweb.core.forms import offer_choices, too_large
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part, parse_id
from rubricweb.corpus.models import Run
from rubricweb.submissions import access, actions, files, rules_form, selectors
from rubricweb.submissions.models import Call, Submission

SUBMIT_PAGE = "submissions/submit.html"

REPORT_PAGE = "submissions/submission.html"
REASON_CHARS = 1_000


class SubmitForm(forms.Form):
    """A file with what the team says of its run."""

    team = forms.CharField(max_length=TEAM_CHARS, help_text="You act for this team.")
    file = forms.FileField(
        label="File", allow_empty_file=True, max_length=None, help_text="One run: plain, gzip or zip."
    )
    type = forms.ChoiceField(label="Type", choices=Run.Type.choices, required=False)
    priority = forms.IntegerField(
        min_value=1, max_value=1_000, required=False, help_text="1 is your team's most important run."
    )
    description = forms.CharField(
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="How the run was made: models, data, anything special.",
    )
    replaces = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def clean(self) -> None:
        if self.errors and "file" in self.cleaned_data:
            self.add_error("file", "Choose the file again: it was not kept.")

    def described(self) -> actions.Described:
        fields = self.cleaned_data
        return actions.Described(fields["type"], fields.get("priority"), fields["description"])


def submit_form(
    call: Call, *, team: str, request: HtmxRequest | None = None, initial: dict[str, object] | None = None
) -> SubmitForm:
    """Return the form of a team; without one, of an organizer who names the team.

    A file that is only checked needs no priority.
    """
    posted = request.POST if request and request.method == "POST" else None
    uploaded = request.FILES if request and request.method == "POST" else None
    form = SubmitForm(posted, uploaded, initial=initial, auto_id="submit-%s")
    offer_choices(form, "type", Run.Type.choices)
    if team:
        del form.fields["team"]
    if call.asks_priority:
        form.fields["priority"].required = "check" not in (posted or ())
    else:
        del form.fields["priority"]
    if request and too_large(request):
        form.errors.pop("file", None)  # it is not there, since it was left out
        most = filesizeformat(settings.UPLOAD_BYTES)
        form.add_error("file", f"The file is too large: it may have at most {most}.")
    return form


@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show a call and what the team submitted for it; POST checks a file, or submits it."""
    place = access.desk_for(request.user, slug)
    cards = selectors.team_calls(place.collection, place.team)
    card = _chosen(cards, request.GET.get("call", ""))
    context: dict[str, Any] = {"collection": place.collection, "place": place, "cards": cards, "card": card}
    if card is None:
        return (
            redirect("submissions:desk", slug)
            if place.is_organizer
            else render(request, SUBMIT_PAGE, context)
        )
    form = submit_form(card.call, team=place.team, request=request)
    context |= {"call": card.call, "form": form} | _about(card.call)
    context["accepted"] = selectors.accepted_runs(card.call, place.team)
    if "check" in request.POST:
        context["report"] = _dry_report(place, card.call, form)
        status = 200 if context["report"] else 422
        return form_response(request, SUBMIT_PAGE, context, part="checked", status=status)
    if not (form.is_bound and form.is_valid()):
        return form_response(request, SUBMIT_PAGE, context)
    try:
        return redirect(_receive(request, place, card.call, form))
    except actions.NotTaken as reason:
        messages.error(request, str(reason))
        return redirect(request.get_full_path())


def _about(call: Call) -> dict[str, object]:
    """Return what stands beside the upload: the rules, the track that they come from, and the topics."""
    rules = call.parsed_rules
    return {
        "preset": rules_form.preset_of(rules, call.takes),
        "rules": rules_form.in_words(rules, call.takes),
        "formats": FORMATS,
        "n_topics": call.collection.topics.count() if call.has_opened else 0,
    }


def _chosen(cards: Sequence[selectors.CallCard], pk: str) -> selectors.CallCard | None:
    """Return the card of the call; without a key, of the open one that ends first, else of the last."""
    if pk:
        named = [card for card in cards if card.call.pk == parse_id(pk)]
        if not named:
            raise Http404("No such call.")
        return named[0]
    still_open = [card for card in cards if card.call.is_open]
    return next(iter([*still_open, *cards[::-1]]), None)


def _dry_report(place: access.Desk, call: Call, form: SubmitForm) -> object | None:
    """Return what the check says of the form's file; None, with the reason in the form, where it is none."""
    from rubricweb.submissions.checking import dry_check  # readers and rules: not for every page

    if not form.is_valid():
        return None
    upload = form.cleaned_data["file"]
    team = place.team or actions.team_named(call, form.cleaned_data["team"])
    try:
        return dry_check(call, upload.name or "run", upload.chunks(), team=team)
    except actions.NotTaken as reason:
        form.add_error("file", str(reason))
        return None


def _receive(request: HtmxRequest, place: access.Desk, call: Call, form: SubmitForm) -> Submission:
    """Keep the file of the valid form. A draft that it replaces is one of the same team and call."""
    upload, replaces = form.cleaned_data["file"], form.cleaned_data["replaces"]
    team = place.team or actions.team_named(call, form.cleaned_data["team"])
    drafts = call.submissions.filter(team=team)
    return actions.receive(
        call,
        actions.Sent(upload.name or "run", upload.chunks()),
        team=team,
        by=request.user,
        described=form.described(),
        replaces=get_object_or_404(drafts, pk=replaces) if replaces else None,
    )


class RejectForm(forms.Form):
    """Why organizers reject a run or a late file."""

    reason = forms.CharField(
        max_length=REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The team reads it with the submission.",
    )


@require_safe
def submission(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Show the report of a submitted file; it is live while the file is checked."""
    place, row = access.submission_for(request.user, slug, submission_id)
    return page_or_part(request, REPORT_PAGE, _report(place, row), part="submission")


def _report(place: access.Desk, row: Submission, reject_form: RejectForm | None = None) -> Context:
    described = {name: getattr(row, name) for name in ("type", "priority", "description", "team")}
    may_submit = row.call.is_open and row.asks_for_another and not row.is_live
    initial = described | {"replaces": row.pk}
    return {
        "collection": place.collection,
        "place": place,
        "submission": row,
        "groups": files.findings_from_json(row.findings),
        "versions": selectors.versions_of(row),
        "form": submit_form(row.call, team=place.team, initial=initial) if may_submit else None,
        "reject_form": reject_form or RejectForm(auto_id="reject-%s"),
    }


@require_safe
def file(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponseBase:
    """Download the file, byte for byte as it was sent."""
    _, row = access.submission_for(request.user, slug, submission_id)
    if not row.has_file:
        raise Http404("The file is no longer stored.")
    return FileResponse(row.path.open("rb"), as_attachment=True, filename=row.path.name)


@require_POST
def withdraw(request: HtmxRequest, slug: str, submission_id: int) -> HttpResponse:
    """Withdraw a run: a team its own before the deadline, an organizer any run at any time."""
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
        return form_response(request, REPORT_PAGE, _report(place, row, form), part="submission", status=422)
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
    except actions.NotTaken as reason:
        messages.error(request, str(reason))
    else:
        messages.success(request, done)
    return redirect(row)
