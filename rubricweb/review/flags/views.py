"""The inbox of flags, and the threads of one subject."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import TextChoices
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.forms import ChipForm, offer_choices, offer_rows
from rubricweb.core.http import (
    Context,
    HtmxRequest,
    Undo,
    form_response,
    offer_undo,
    page_or_part,
    part_or_redirect,
)
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.raters import AddressForm
from rubricweb.review import access, flags
from rubricweb.review.flags import InboxQuery, State, Who, actions
from rubricweb.review.models import Flag, Kind, Subject

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import QueryDict


PAGE = "review/flags/inbox.html"
PAGE_FLAGS = 50
OWN = "own-flags"
"""The element of a page that has what the reader flagged."""
QUERY = ("state", "who", "kind", "topic")
MAX_TEXT = 5_000
"""Characters of a comment."""


class ThreadAction(TextChoices):
    """The buttons of a thread."""

    REPLY = "reply"
    RESOLVE = "resolve"
    REOPEN = "reopen"


def _text_field(label: str) -> forms.CharField:
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

    kind = forms.ChoiceField(label="Kind", error_messages={"required": "Choose what is wrong."})
    text = _text_field("What do you see?")
    uid = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, subject: Subject, data: QueryDict | None = None, *, kind: str = "") -> None:
        first = kind if kind in subject.kinds else Kind.COMMENT
        initial = {"kind": first, "uid": uuid4()}
        super().__init__(data, initial=initial, auto_id=f"new-flag-{subject.key}-%s")
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
    text = _text_field("Reply")
    seen = forms.IntegerField(min_value=1)
    uid = forms.UUIDField()

    def clean_verb(self) -> ThreadAction:
        """Return the verb, by default a reply: a form sent by a key names no button."""
        return ThreadAction(self.cleaned_data["verb"] or ThreadAction.REPLY)


class AssignForm(forms.Form):
    """Who shall answer the flag; empty for nobody."""

    assignee = forms.ModelChoiceField(User.objects.none(), required=False)
    seen = forms.IntegerField(min_value=1)
    uid = forms.UUIDField()

    def __init__(self, data: QueryDict, members: QuerySet[User]) -> None:
        super().__init__(data)
        offer_rows(self, "assignee", members)


class InboxForm(ChipForm, AddressForm):
    """The filters of the list of flags."""

    in_toolbar = ("state", "who", "kind", "topic")
    outdated = ("page",)

    state = forms.ChoiceField(label="State", choices=State.choices, required=False, initial=State.OPEN)
    who = forms.ChoiceField(label="Whose", choices=Who.choices, required=False)
    kind = forms.ChoiceField(label="Kind", choices=[("", "any"), *Flag.Kind.choices], required=False)
    topic = forms.ChoiceField(label="Topic", required=False)
    page = forms.IntegerField(min_value=1, required=False)

    def __init__(self, address: QueryDict, topics: list[Topic]) -> None:
        super().__init__(address)
        named = [(str(topic.pk), str(topic)[:80]) for topic in topics]
        offer_choices(self, "topic", [("", "any"), *named])


DONE = {
    ThreadAction.REPLY: "Reply saved.",
    ThreadAction.RESOLVE: "Flag resolved.",
    ThreadAction.REOPEN: "Flag opened again.",
}


@require_safe
def inbox(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the collection's flags, filtered by the address."""
    collection = collection_for(request.user, slug)
    listing = partial(_listing, request, collection)
    return page_or_part(request, PAGE, {"collection": collection, "listing": listing}, part="inbox")


def _listing(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return what the list shows; the template calls it, so that a thread alone costs nothing."""
    inbox = InboxForm(request.GET, flags.flagged_topics(collection))
    query = InboxQuery(**{name: inbox.value(name, getattr(InboxQuery(), name)) for name in QUERY})
    listed = flags.listed(collection, query, request.user)
    page = Paginator(listed, PAGE_FLAGS).get_page(inbox.value("page", 1))
    return {
        "form": inbox,
        "address": f"?{request.GET.urlencode()}" if request.GET else "",
        "query": query,
        "page": page,
        "rows": [flags.thread(flag, request.user) for flag in page],
        "counts": flags.inbox_counts(collection, request.user),
    }


@require_http_methods(["GET", "HEAD", "POST"])
def subject_flags(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show the threads of an item, passage or cell; POST opens another."""
    needed = roles.TO_COMMENT if request.method == "POST" else roles.TO_VIEW
    named = {name: request.GET.get(name, "") for name in ("item", "passage")}
    subject = access.subject_for(request.user, (bank_id, topic_id), needed=needed, **named)
    data = request.POST if request.method == "POST" else None
    form = NewFlagForm(subject, data, kind=request.GET.get("kind", ""))
    flag = _opened(form, request) if form.is_valid() else None
    if flag is None:
        context = subject_context(request, subject) | {"form": form}
        return form_response(request, PAGE, context, part="opened" if "panel" in request.GET else "threads")
    _report_opened(request, flag, form)
    context = subject_context(request, subject) | {"fresh": flag.pk}
    to = f"{subject.address}#flag-{flag.pk}"
    return part_or_redirect(request, f"{PAGE}#threads", context, to=to)


def subject_context(request: HtmxRequest, subject: Subject) -> dict[str, object]:
    """Return the context of `review/flags/_threads.html` with an empty form; a cell's panel shows it too."""
    threads = flags.threads(subject, request.user)
    return {
        "collection": subject.bank.collection,
        "bank": subject.bank,
        "topic": subject.topic,
        "subject": subject,
        "about": subject,
        "form": NewFlagForm(subject),
        "threads": threads,
        "own_kinds": flags.own_kinds(threads, request.user),
        "nearby": flags.nearby(subject),
        "members": flags.members_who_answer(subject.bank.collection),
    }


def _opened(form: NewFlagForm, request: HtmxRequest) -> Flag | None:
    """Open the flag; None if it is refused, and the form then says why."""
    cleaned = form.cleaned_data
    try:
        return actions.open_flag(
            form.subject,
            kind=Kind(cleaned["kind"]),
            text=cleaned["text"],
            by=request.user,
            uid=cleaned["uid"],
        )
    except actions.FlagError as refusal:
        form.add_error("text", str(refusal))
        return None


def _report_opened(request: HtmxRequest, flag: Flag, form: NewFlagForm) -> None:
    """Say that it is saved, or that the person had flagged this before."""
    named = {"what": form.subject.what, "kind": flag.get_kind_display()}
    if flag.events.filter(number=1, uid=form.cleaned_data["uid"]).exists():
        is_comment = flag.kind == Kind.COMMENT
        message = "Comment saved." if is_comment else "Flagged this {what} as {kind}.".format(**named)
        fields = {"verb": ThreadAction.RESOLVE.value, "seen": str(flag.version), "uid": str(uuid4())}
        undo = Undo(flag.get_absolute_url(), fields, f"#{OWN}")
        is_by_key = request.htmx and not request.htmx.target  # in the queue, whose page stays
        messages.success(request, message, extra_tags=json.dumps(asdict(undo)) if is_by_key else "")
        return
    messages.info(request, "You have already flagged this {what} as {kind}.".format(**named))


@require_http_methods(["GET", "HEAD", "POST"])
def flag(request: HtmxRequest, slug: str, flag_id: int) -> HttpResponse:
    """Show one thread; POST replies, resolves or reopens it."""
    needed = roles.TO_COMMENT if request.method == "POST" else roles.TO_VIEW
    flag = access.flag_for(request.user, slug, flag_id, needed=needed)
    if request.method != "POST":
        return _thread_page(request, flag, {})
    form = ReplyForm(request.POST)
    if not form.is_valid():
        return _thread_page(request, flag, _refused(form), status=422)
    try:
        now = _carry_out(flag, form, request)
    except actions.MovedMeanwhile as moved:
        return _thread_page(request, _again(request, flag), _refused(form, moved), status=409)
    except actions.FlagError as refusal:
        form.add_error("text", str(refusal))
        return _thread_page(request, flag, _refused(form), status=422)
    _report(request, now, ThreadAction(form.cleaned_data["verb"]))
    return _after(request, flag)


def _report(request: HtmxRequest, flag: Flag, done: ThreadAction) -> None:
    if done == ThreadAction.REPLY:
        messages.success(request, DONE[done])
        return
    inverse = ThreadAction.REOPEN if done == ThreadAction.RESOLVE else ThreadAction.RESOLVE
    fields = {"verb": inverse, "seen": flag.version, "uid": uuid4()}
    offer_undo(request, DONE[done], flag.get_absolute_url(), **fields)


def _carry_out(flag: Flag, form: ReplyForm, request: HtmxRequest) -> Flag:
    cleaned = form.cleaned_data
    values = {"text": cleaned["text"], "by": request.user, "uid": cleaned["uid"]}
    if cleaned["verb"] == ThreadAction.REPLY:
        return actions.reply(flag, **values)
    access.require_decider(request.user, flag)
    decide = actions.resolve if cleaned["verb"] == ThreadAction.RESOLVE else actions.reopen
    return decide(flag, seen=cleaned["seen"], **values)


@require_POST
def flag_assign(request: HtmxRequest, slug: str, flag_id: int) -> HttpResponse:
    """Assign the flag to somebody, or to nobody."""
    flag = access.flag_for(request.user, slug, flag_id, needed=roles.TO_COMMENT)
    access.require_decider(request.user, flag)
    form = AssignForm(request.POST, flags.members_who_answer(flag.bank.collection))
    if not form.is_valid():
        messages.error(request, "Choose a member who may answer flags.")
        return _after(request, flag)
    cleaned = form.cleaned_data
    try:
        actions.assign(
            flag, to=cleaned["assignee"], seen=cleaned["seen"], by=request.user, uid=cleaned["uid"]
        )
    except actions.MovedMeanwhile as moved:
        mine = {"moved": moved, "mine": f"Assign to {cleaned['assignee'] or 'nobody'}"}
        return _thread_page(request, _again(request, flag), mine, status=409)
    messages.success(request, f"Assigned to {cleaned['assignee'] or 'nobody'}.")
    return _after(request, flag)


def _refused(form: ReplyForm, moved: actions.MovedMeanwhile | None = None) -> dict[str, object]:
    """Render the text as sent, and why it was not saved."""
    text, verb = form.data.get("text", ""), form.data.get("verb", "")
    mine = verb.capitalize() if verb in ThreadAction.values else ""
    return {"written": text, "errors": form.errors.get("text", []), "moved": moved, "mine": mine}


def _again(request: HtmxRequest, flag: Flag) -> Flag:
    return access.flag_for(request.user, flag.bank.collection.slug, flag.pk)


def _thread_page(request: HtmxRequest, flag: Flag, more: Context, *, status: int = 200) -> HttpResponse:
    thread = flags.thread(flag, request.user)
    context = {
        "collection": flag.bank.collection,
        "bank": flag.bank,
        "topic": flag.topic,
        "members": flags.members_who_answer(flag.bank.collection),
        "thread": thread,
        "threads": [thread],
        "opened": flag.pk,
        "about": thread.subject,
        "listing": partial(_listing, request, flag.bank.collection),
        **more,
    }
    part = "thread" if request.method == "POST" else "threads"
    response = page_or_part(request, PAGE, context, part=part)
    response.status_code = status
    return response


def _after(request: HtmxRequest, flag: Flag) -> HttpResponse:
    """Render the thread as it is now; after an undo in the queue, what the reader has flagged."""
    if request.htmx.target == OWN:
        return render(request, "review/flags/_own.html", {"bank": flag.bank})
    if request.htmx:
        return _thread_page(request, _again(request, flag), {})
    return part_or_redirect(request, "", {}, to=f"{flag.get_absolute_url()}#flag-{flag.pk}")
