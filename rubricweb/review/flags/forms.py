"""Forms for flags, replies and the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from django import forms
from django.db.models import TextChoices
from django.utils.translation import gettext, gettext_lazy

from rubricweb.accounts.models import User
from rubricweb.core.forms import ChipForm, offer_choices, offer_rows
from rubricweb.corpus.models import Topic
from rubricweb.grades.forms import AddressForm
from rubricweb.review.flags.models import Flag
from rubricweb.review.flags.selectors import State, Who
from rubricweb.review.flags.subjects import Kind, Subject

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import QueryDict

MAX_TEXT = 5_000
"""Characters of a comment."""


class ThreadAction(TextChoices):
    """The buttons of a thread."""

    REPLY = "reply"
    RESOLVE = "resolve"
    REOPEN = "reopen"


def _words(label: str) -> forms.CharField:
    too_long = f"Keep it under {MAX_TEXT:,} characters; this has %(show_value)d."
    return forms.CharField(
        label=label,
        required=False,
        max_length=MAX_TEXT,
        error_messages={"max_length": too_long},
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class NewFlagForm(forms.Form):
    """A flag on `subject`; a comment needs text."""

    kind = forms.ChoiceField(label=gettext_lazy("Kind"), error_messages={"required": "Choose what is wrong."})
    text = _words("What do you see?")
    uid = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, subject: Subject, sent: QueryDict | None = None, *, kind: str = "") -> None:
        first = kind if kind in subject.kinds else Kind.COMMENT
        initial = {"kind": first, "uid": uuid4()}
        super().__init__(sent, initial=initial, auto_id=f"new-flag-{subject.key}-%s")
        offer_choices(self, "kind", [(kind.value, kind.label) for kind in subject.kinds])
        self.subject = subject

    def clean_uid(self) -> UUID:
        """Return a new one where the form has none: one button flags again after an undo."""
        return self.cleaned_data["uid"] or uuid4()

    @property
    def chosen(self) -> str:
        return str(self["kind"].value())


class ReplyForm(forms.Form):
    """Text, a decision, or both; `seen` is the version of the flag that the writer saw."""

    verb = forms.ChoiceField(choices=ThreadAction.choices, required=False)
    text = _words("Reply")
    seen = forms.IntegerField(min_value=1)
    uid = forms.UUIDField()

    def clean_verb(self) -> ThreadAction:
        """Default to a reply: a form sent by a key names no button."""
        return ThreadAction(self.cleaned_data["verb"] or ThreadAction.REPLY)


class AssignForm(forms.Form):
    """Who shall answer the flag; empty for nobody."""

    assignee = forms.ModelChoiceField(User.objects.none(), required=False)
    seen = forms.IntegerField(min_value=1)
    uid = forms.UUIDField()

    def __init__(self, sent: QueryDict, members: QuerySet[User]) -> None:
        super().__init__(sent)
        offer_rows(self, "assignee", members)


class InboxForm(ChipForm, AddressForm):
    """Which flags to list."""

    in_toolbar = ("state", "who", "kind", "topic")
    outdated = ("page",)

    state = forms.ChoiceField(
        label=gettext_lazy("State"), choices=State.choices, required=False, initial=State.OPEN
    )
    who = forms.ChoiceField(label=gettext_lazy("Whose"), choices=Who.choices, required=False)
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=[("", gettext_lazy("any")), *Flag.Kind.choices], required=False
    )
    topic = forms.ChoiceField(label=gettext_lazy("Topic"), required=False)
    page = forms.IntegerField(min_value=1, required=False)

    def __init__(self, address: QueryDict, topics: list[Topic]) -> None:
        super().__init__(address)
        named = [(str(topic.pk), str(topic)[:80]) for topic in topics]
        offer_choices(self, "topic", [("", gettext("any")), *named])
