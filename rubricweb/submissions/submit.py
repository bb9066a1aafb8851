"""Submit: a call with its topics and rules, a check that keeps nothing, and what the team sent in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import filesizeformat
from django.views.decorators.http import require_http_methods

from grading.formats.topics import FORMATS
from rubricweb.accounts.models import TEAM_CHARS
from rubricweb.core.forms import offer_choices, too_large
from rubricweb.core.http import HtmxRequest, form_response, parse_id
from rubricweb.corpus.models import Run
from rubricweb.submissions import access, actions, selectors
from rubricweb.submissions.access import Desk
from rubricweb.submissions.actions import Described, NotTaken, Sent
from rubricweb.submissions.models import Call, Submission
from rubricweb.submissions.rules_form import in_words, preset_of
from rubricweb.submissions.selectors import CallCard

PAGE = "submissions/submit.html"


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

    def described(self) -> Described:
        fields = self.cleaned_data
        return Described(fields["type"], fields.get("priority"), fields["description"])


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
        return redirect("submissions:desk", slug) if place.is_organizer else render(request, PAGE, context)
    form = submit_form(card.call, team=place.team, request=request)
    context |= {"call": card.call, "form": form} | _about(card.call)
    context["accepted"] = selectors.accepted_runs(card.call, place.team)
    if "check" in request.POST:
        context["report"] = _dry_report(place, card.call, form)
        status = 200 if context["report"] else 422
        return form_response(request, PAGE, context, part="checked", status=status)
    if not (form.is_bound and form.is_valid()):
        return form_response(request, PAGE, context)
    try:
        return redirect(_receive(request, place, card.call, form))
    except NotTaken as reason:
        messages.error(request, str(reason))
        return redirect(request.get_full_path())


def _about(call: Call) -> dict[str, object]:
    """Return what stands beside the upload: the rules, the track that they come from, and the topics."""
    rules = call.parsed_rules
    return {
        "preset": preset_of(rules, call.takes),
        "rules": in_words(rules, call.takes),
        "formats": FORMATS,
        "n_topics": call.collection.topics.count() if call.has_opened else 0,
    }


def _chosen(cards: Sequence[CallCard], pk: str) -> CallCard | None:
    """Return the card of the call; without a key, of the open one that ends first, else of the last."""
    if pk:
        named = [card for card in cards if card.call.pk == parse_id(pk)]
        if not named:
            raise Http404("No such call.")
        return named[0]
    still_open = [card for card in cards if card.call.is_open]
    return next(iter([*still_open, *cards[::-1]]), None)


def _dry_report(place: Desk, call: Call, form: SubmitForm) -> object | None:
    """Return what the check says of the form's file; None, with the reason in the form, where it is none."""
    from rubricweb.submissions.checking import dry_check  # readers and rules: not for every page

    if not form.is_valid():
        return None
    upload = form.cleaned_data["file"]
    team = place.team or actions.team_named(call, form.cleaned_data["team"])
    try:
        return dry_check(call, upload.name or "run", upload.chunks(), team=team)
    except NotTaken as reason:
        form.add_error("file", str(reason))
        return None


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
