"""Submissions, for organizers: the calls, with the form that opens or changes one, and what came in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms.utils import from_current_timezone
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.submissions import rules_of, track_names
from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, form_response, page_or_part, parse_ids
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Response
from rubricweb.submissions import access, actions, selectors
from rubricweb.submissions.models import Call
from rubricweb.submissions.rules_form import RulesForm, preset_of, rules_form

DESK = "submissions/desk.html"
ANYWHERE = "Etc/GMT+12"
LOCAL = "%Y-%m-%dT%H:%M:%S"
OPEN_FOR = timedelta(days=28)


@lru_cache
def _time_zones() -> list[tuple[str, str]]:
    names = sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))
    first = [("UTC", "UTC"), (ANYWHERE, "Anywhere on Earth (UTC-12)")]
    return [*first, *((name, name.replace("_", " ")) for name in names)]


@lru_cache
def _tracks() -> list[tuple[str, str]]:
    return [(name, rules_of(name).label) for name in track_names()]


def _moment(label: str, help_text: str, *, required: bool = True) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format=LOCAL)
    return forms.DateTimeField(label=label, widget=widget, help_text=help_text, required=required)


class CallForm(forms.Form):
    """A call but for its rules. Times are read in the time zone of the form."""

    task = forms.CharField(
        max_length=100, help_text="The name that participants know, such as generation or retrieval."
    )
    takes = forms.ChoiceField(label="A submission is a file of", choices=Call.Takes.choices)
    track = forms.ChoiceField(label="Rules of", choices=_tracks)
    opens_at = _moment("Opens", "Empty: now.", required=False)
    deadline = _moment("Deadline", "Files are in time until this second.")
    time_zone = forms.ChoiceField(label="Time zone", choices=_time_zones)
    runs_per_team = forms.IntegerField(
        label="Runs per team", required=False, min_value=1, max_value=1_000, help_text="Empty: no limit."
    )
    asks_priority = forms.BooleanField(label="Ask for the priority of each run", required=False)
    shows_scores = forms.BooleanField(
        label="Show each team the scores of its own runs",
        required=False,
        help_text="Under Results, without ranks and without anything of other teams.",
    )
    passages_of = forms.ChoiceField(
        label="A passage of a response is",
        choices=Response.PassagesOf.choices,
        required=False,
        help_text="What is graded. Equal texts are one passage.",
    )
    checks_documents = forms.BooleanField(
        label="Document ids must be passages of this collection",
        required=False,
        help_text="For collections that hold the track's whole corpus. Otherwise a TREC run with other ids "
        "gets a warning, unless the rules turn it off.",
    )
    text = forms.CharField(
        label="For participants",
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Shown beside the upload: the task, where to find its data, whom to ask.",
    )
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    taken: frozenset[str] = frozenset()
    """The tasks of the collection's other calls."""

    def clean_task(self) -> str:
        task: str = " ".join(self.cleaned_data["task"].split())
        if task in self.taken:
            raise ValidationError(f"There is a call for {task} already.")
        return task

    def clean_passages_of(self) -> str:
        return self.cleaned_data["passages_of"] or Response.PassagesOf.SENTENCE.value

    def clean(self) -> None:
        zone = self.cleaned_data.get("time_zone")
        for name in ("opens_at", "deadline"):
            if zone and self.cleaned_data.get(name):
                self._read_in(zone, name)
        if "opens_at" in self.cleaned_data:
            self.cleaned_data["opens_at"] = self.cleaned_data["opens_at"] or timezone.now()
        opens_at, deadline = self.cleaned_data.get("opens_at"), self.cleaned_data.get("deadline")
        if opens_at and deadline and opens_at >= deadline:
            self.add_error("deadline", "The deadline must be after the opening.")

    def _read_in(self, zone: str, name: str) -> None:
        """Replace the field's time by the moment at which clocks of the zone show it."""
        try:
            with timezone.override(ZoneInfo(zone)):
                self.cleaned_data[name] = from_current_timezone(self.cleaned_data[name].replace(tzinfo=None))
        except ValidationError as error:
            self.add_error(name, error)

    def terms(self) -> actions.CallTerms:
        return actions.CallTerms(**{name: self.cleaned_data[name] for name in actions.CallTerms.__slots__})


def new_call_form(collection: Collection, posted: QueryDict | None = None, **initial: str) -> CallForm:
    end = (timezone.now() + OPEN_FOR).replace(hour=23, minute=59, second=59)
    usual = {"seen": 0, "time_zone": "UTC", "deadline": end.strftime(LOCAL), "track": track_names()[0]}
    usual |= {"passages_of": Response.PassagesOf.SENTENCE, "takes": Call.Takes.RESPONSES.value}
    form = CallForm(posted, initial=usual | initial, auto_id="call-%s")
    form.taken = frozenset(collection.calls.values_list("task", flat=True))
    return form


def call_form(
    call: Call,
    posted: QueryDict | None = None,
    *,
    terms: actions.CallTerms | None = None,
    chosen: Mapping[str, str] | None = None,
) -> CallForm:
    """Return the form of the call, or of `terms` over the version that it has now."""
    values: dict[str, Any] = {name: getattr(terms or call, name) for name in actions.CallTerms.__slots__}
    zone = ZoneInfo(values["time_zone"])
    for name in ("opens_at", "deadline"):
        values[name] = values[name].astimezone(zone).strftime(LOCAL)
    values |= {"seen": call.version, "track": preset_of(call.parsed_rules, call.takes).name}
    values |= chosen or {}
    form = CallForm(posted, initial=values, auto_id="call-%s")
    others = call.collection.calls.exclude(pk=call.pk)
    form.taken = frozenset(others.values_list("task", flat=True))
    return form


@require_safe
def desk(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the calls, and who has submitted what."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    context = {"collection": collection, "desk": selectors.desk(collection)}
    return page_or_part(request, DESK, context, part="desk")


@require_http_methods(["GET", "HEAD", "POST"])
def call_new(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose the rules, read them, and open the call: a form on top of the desk."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    posted = request.POST if request.method == "POST" else None
    form = new_call_form(collection, posted, **_chosen(request))
    rules = _rules_for(form, None, posted)
    if not (posted and form.is_valid() and rules.is_valid()):
        return _call_page(request, collection, None, form, rules)
    call = actions.open_call(collection, form.terms(), rules.rules, by=request.user)
    messages.success(request, f"The call for {call} is {call.phase.label}.")
    return redirect("submissions:desk", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def call(request: HtmxRequest, slug: str, call_id: int) -> HttpResponse:
    """Change a call and its rules, at its place on the desk; files checked before keep their reports."""
    row = access.call_for_organizer(request.user, slug, call_id)
    posted = request.POST if request.method == "POST" else None
    form = call_form(row, posted, chosen=_chosen(request))
    rules = _rules_for(form, row, posted)
    if not (posted and form.is_valid() and rules.is_valid()):
        return _call_page(request, row.collection, row, form, rules)
    try:
        actions.change_call(row, form.terms(), rules.rules, seen=form.cleaned_data["seen"], by=request.user)
    except actions.CallConflict as conflict:
        form = call_form(conflict.call, terms=form.terms(), chosen={"track": form.cleaned_data["track"]})
        rules = rules_form(rules.rules, form["takes"].initial)
        return _call_page(request, row.collection, conflict.call, form, rules, is_conflict=True)
    messages.success(request, f"The call for {row} is saved. Its rules apply to files submitted from now on.")
    return redirect("submissions:desk", slug)


def _chosen(request: HtmxRequest) -> dict[str, str]:
    """Return the track and the kind of files whose rules are to be shown."""
    offered = {"track": dict(_tracks()), "takes": dict(Call.Takes.choices)}
    given = {name: request.GET.get(name, "") for name in offered}
    return {name: value for name, value in given.items() if value in offered[name]}


def _rules_for(form: CallForm, call: Call | None, posted: QueryDict | None) -> RulesForm:
    """Return the rules of the track that the form names, or the call's own while it names theirs.

    Rules that the page has not shown are not taken from what it sent: it shows them first.
    """
    track, takes = form["track"].value(), form["takes"].value()
    is_own = call is not None and track == preset_of(call.parsed_rules, call.takes).name
    listed = track_names()
    base = call.parsed_rules if call and is_own else rules_of(track if track in listed else listed[0])
    takes = takes if takes in Call.Takes.values else Call.Takes.RESPONSES.value
    is_seen = posted is not None and posted.get("rules_shown") == f"{track} {takes}"
    if posted is not None and not is_seen and form.is_valid():
        form.add_error("track", "These are the rules of your choice. Read them, then save.")
    return rules_form(base, takes, posted if is_seen else None)


def _call_page(
    request: HtmxRequest,
    collection: Collection,
    row: Call | None,
    form: CallForm,
    rules: RulesForm,
    *,
    is_conflict: bool = False,
) -> HttpResponse:
    takes = "run" if form["takes"].value() == Call.Takes.RUN else "responses"
    active = rules.rules if rules.is_bound and rules.is_valid() else rules.base
    context = {
        "collection": collection,
        "desk": selectors.desk(collection),
        "opened": row,
        "form": form,
        "rules": rules,
        "rules_shown": f"{form['track'].value()} {takes}",
        "preset": preset_of(active, takes),
        "is_conflict": is_conflict,
    }
    return form_response(request, DESK, context, part="rules", status=409 if is_conflict else 0)


@require_POST
def deadline(request: HtmxRequest, slug: str, call_id: int) -> HttpResponse:
    """Extend the call, or close it now."""
    row = access.call_for_organizer(request.user, slug, call_id)
    just_over = timezone.now().replace(microsecond=0) - timedelta(seconds=1)
    is_closed = "close" in request.POST
    moment = just_over if is_closed else _moment_in(row.zone, request.POST.get("deadline", ""))
    if moment is None or moment <= row.opens_at:
        messages.error(request, "The deadline must be a time after the opening. Nothing was changed.")
    else:
        actions.move_deadline(row, moment, by=request.user)
        messages.success(request, f"The call for {row} is {row.phase.label}. Its deadline has moved.")
    return redirect("submissions:desk", slug)


def _moment_in(zone: ZoneInfo, text: str) -> datetime | None:
    """Return the moment at which clocks of the zone show the text; None for no time."""
    try:
        with timezone.override(zone):
            return forms.DateTimeField().clean(text)  # type: ignore[no-any-return]
    except ValidationError:
        return None


@require_POST
def accept_all(request: HtmxRequest, slug: str) -> HttpResponse:
    """Accept the runs that the desk listed when the button was pressed."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    listed = parse_ids(request.POST.getlist("submission"))
    accepted = actions.accept_all(collection, listed, by=request.user)
    messages.success(request, f"{accepted} run{pluralize(accepted)} accepted.")
    return redirect("submissions:desk", slug)
