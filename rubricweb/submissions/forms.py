"""What organizers write of a call, and what teams send in."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.forms.utils import from_current_timezone
from django.http import QueryDict
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext, gettext_lazy

from grading.submissions import rules_of, tracks
from rubricweb.accounts.models import TEAM_CHARS
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection, Response, Run
from rubricweb.submissions.actions import CallTerms, Described
from rubricweb.submissions.models import Call

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

ANYWHERE = "Etc/GMT+12"
LOCAL = "%Y-%m-%dT%H:%M:%S"
OPEN_FOR = timedelta(days=28)
REASON_CHARS = 1_000


@lru_cache
def _time_zones() -> list[tuple[str, str]]:
    named = sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))
    first = [("UTC", "UTC"), (ANYWHERE, "Anywhere on Earth (UTC-12)")]
    return [*first, *((name, name.replace("_", " ")) for name in named)]


@lru_cache
def _tracks() -> list[tuple[str, str]]:
    return [(name, rules_of(name).label) for name in tracks()]


def _moment(label: StrOrPromise, help_text: StrOrPromise, *, required: bool = True) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format=LOCAL)
    return forms.DateTimeField(label=label, widget=widget, help_text=help_text, required=required)


class CallForm(forms.Form):
    """A call without its rules. Times are read in the time zone of the form."""

    task = forms.CharField(
        label=gettext_lazy("Task"),
        max_length=100,
        help_text=gettext_lazy("The name that participants know, such as generation or retrieval."),
    )
    takes = forms.ChoiceField(label=gettext_lazy("A submission is a file of"), choices=Call.Takes.choices)
    opens_at = _moment(gettext_lazy("Opens"), gettext_lazy("Empty: now."), required=False)
    deadline = _moment(gettext_lazy("Deadline"), gettext_lazy("Files are in time until this second."))
    time_zone = forms.ChoiceField(label=gettext_lazy("Time zone"), choices=_time_zones)
    runs_per_team = forms.IntegerField(
        label=gettext_lazy("Runs per team"),
        required=False,
        min_value=1,
        max_value=1_000,
        help_text=gettext_lazy("Empty: no limit."),
    )
    asks_priority = forms.BooleanField(label=gettext_lazy("Ask for the priority of each run"), required=False)
    passages_of = forms.ChoiceField(
        label=gettext_lazy("A passage of a response is"),
        choices=Response.PassagesOf.choices,
        required=False,
        help_text=gettext_lazy("What is graded. Equal texts are one passage."),
    )
    checks_documents = forms.BooleanField(
        label=gettext_lazy("Document ids must be passages of this collection"),
        required=False,
        help_text=gettext_lazy(
            "Tick this if the collection holds the track's whole corpus. Otherwise a TREC run with other ids "
            "gets a warning, unless the rules turn it off."
        ),
    )
    text = forms.CharField(
        label=gettext_lazy("For participants"),
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=gettext_lazy("Shown above the upload: the task, where to find its data, whom to ask."),
    )
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    taken: frozenset[str] = frozenset()
    """The tasks of the collection's other calls."""

    def clean_task(self) -> str:
        task: str = " ".join(self.cleaned_data["task"].split())
        if task in self.taken:
            raise ValidationError(gettext("There is a call for %(task)s already.") % {"task": task})
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
            self.add_error("deadline", gettext("The deadline must be after the opening."))

    def _read_in(self, zone: str, name: str) -> None:
        """Replace the field's time by the moment at which clocks of the zone show it."""
        try:
            with timezone.override(ZoneInfo(zone)):
                self.cleaned_data[name] = from_current_timezone(self.cleaned_data[name].replace(tzinfo=None))
        except ValidationError as error:
            self.add_error(name, error)

    def terms(self) -> CallTerms:
        fields = {name: self.cleaned_data[name] for name in CallTerms.__slots__}
        return CallTerms(**fields)


class NewCallForm(CallForm):
    track = forms.ChoiceField(
        label=gettext_lazy("Rules of the track"),
        choices=_tracks,
        help_text=gettext_lazy("What files are checked for. You can change the rules on the next page."),
    )

    field_order = ("task", "takes", "track")


def new_call_form(collection: Collection, sent: QueryDict | None = None) -> NewCallForm:
    now = timezone.now()
    initial = {
        "seen": 0,
        "time_zone": "UTC",
        "deadline": (now + OPEN_FOR).replace(hour=23, minute=59, second=59).strftime(LOCAL),
        "passages_of": Response.PassagesOf.SENTENCE,
    }
    form = NewCallForm(sent, initial=initial, auto_id="call-%s")
    form.taken = frozenset(collection.calls.values_list("task", flat=True))
    return form


def call_form(call: Call, sent: QueryDict | None = None) -> CallForm:
    terms = {name: getattr(call, name) for name in CallTerms.__slots__}
    return _filled(call, terms, sent)


def again(call: Call, terms: CallTerms) -> CallForm:
    """The writer's own words once more, over the version of the call that they see now."""
    return _filled(call, asdict(terms), None)


def _filled(call: Call, terms: dict[str, Any], sent: QueryDict | None) -> CallForm:
    zone = ZoneInfo(terms["time_zone"])
    local = {
        name: value.astimezone(zone).strftime(LOCAL)
        for name, value in terms.items()
        if isinstance(value, datetime)
    }
    form = CallForm(sent, initial=terms | local | {"seen": call.version}, auto_id="call-%s")
    others = call.collection.calls.exclude(pk=call.pk)
    form.taken = frozenset(others.values_list("task", flat=True))
    return form


class RejectForm(forms.Form):
    """Why organizers reject a run or a late file."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("The team reads it with the submission."),
    )


class SubmitForm(forms.Form):
    """A file with what the team says of its run."""

    team = forms.CharField(
        label=gettext_lazy("Team"),
        max_length=TEAM_CHARS,
        help_text=gettext_lazy("You act for this team."),
    )
    file = forms.FileField(
        label=gettext_lazy("File"),
        allow_empty_file=True,
        max_length=None,
        help_text=gettext_lazy("One run: plain, gzip or zip."),
    )
    type = forms.ChoiceField(label=gettext_lazy("Type"), choices=Run.Type.choices, required=False)
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"),
        min_value=1,
        max_value=1_000,
        required=False,
        help_text=gettext_lazy("1 is your team's most important run."),
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("How the run was made: models, data, anything special."),
    )
    replaces = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def clean(self) -> None:
        if self.errors and "file" in self.cleaned_data:
            self.add_error("file", gettext("Choose the file again: it was not kept."))

    def described(self) -> Described:
        sent = self.cleaned_data
        return Described(sent["type"], sent.get("priority"), sent["description"])


def reject_form(sent: QueryDict | None = None) -> RejectForm:
    return RejectForm(sent, auto_id="reject-%s")


def submit_form(
    call: Call,
    *,
    team: str,
    sent: QueryDict | None = None,
    uploaded: MultiValueDict[str, Any] | None = None,  # Any: as Django has it
    initial: dict[str, object] | None = None,
) -> SubmitForm:
    """The form of a team; without one, of an organizer who names the team."""
    form = SubmitForm(sent, uploaded, initial=initial, auto_id="submit-%s")
    offer_choices(form, "type", Run.Type.choices)
    if team:
        del form.fields["team"]
    if call.asks_priority:
        form.fields["priority"].required = True
    else:
        del form.fields["priority"]
    return form
