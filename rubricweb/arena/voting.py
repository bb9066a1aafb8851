"""Work > Vote: the next two answers, the vote, what it reveals, and two answers that are chosen by name."""

from __future__ import annotations

import uuid
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.arena import access, actions, files, selectors
from rubricweb.arena.answers import paired_topics, stored_answers
from rubricweb.arena.battles import ArenaError, NothingToDraw
from rubricweb.arena.models import Battle, Reason, Vote
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.raters import raters
from rubricweb.grades.selectors import banks

PAGE = "arena/vote.html"


class EventForm(forms.Form):
    """What every event of a battle sends along."""

    uid = forms.UUIDField(widget=forms.HiddenInput)
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    @property
    def sent_uid(self) -> UUID:
        uid: UUID = self.cleaned_data["uid"]
        return uid


class BallotForm(EventForm):
    answer = forms.ChoiceField(label="Which answer is better?", choices=Vote.Verdict.choices)
    evidence = forms.ChoiceField(label="Whose citations hold?", choices=Vote.Verdict.choices, required=False)

    def require_evidence(self, *, is_asked: bool) -> None:
        """Require the second verdict where an answer cites anything, and drop it elsewhere."""
        self.fields["evidence"].required = is_asked
        if not is_asked:
            del self.fields["evidence"]

    @property
    def ballot(self) -> actions.Ballot:
        evidence_value = self.cleaned_data.get("evidence")
        evidence = Vote.Verdict(evidence_value) if evidence_value else None
        return actions.Ballot(Vote.Verdict(self.cleaned_data["answer"]), evidence, self.sent_uid)


class ReasonForm(forms.Form):
    """Why somebody voted so."""

    uid = forms.UUIDField(widget=forms.HiddenInput)
    tags = forms.MultipleChoiceField(
        label="It is more",
        choices=Reason.Tag.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    text = forms.CharField(
        label="In your words",
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"size": 40}),
    )

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if not self.errors and not (cleaned["tags"] or cleaned["text"]):
            raise forms.ValidationError("Choose a word or write a few.")
        return cleaned


class PairForm(forms.Form):
    """Two answers to a topic, chosen by name."""

    topic = forms.ChoiceField(label="Topic")
    left = forms.ChoiceField(label="Left")
    right = forms.ChoiceField(label="Right")

    def offer(self, collection: Collection) -> None:
        """Offer runs by the names that the reader may see, and topics."""
        runs = [(str(run.pk), run.run_tag) for run in selectors.answering_runs(collection)]
        topics = [(str(topic.pk), str(topic)) for topic in selectors.answered_topics(collection)]
        for name, choices in (("topic", topics), ("left", runs), ("right", runs)):
            offer_choices(self, name, choices)

    def chosen(self, name: str) -> int:
        return int(self.cleaned_data[name])


@require_safe
def vote(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the pair of answers that waits for this person; without one, the form that draws it at once."""
    collection = collection_for(request.user, slug, needed=roles.TO_VOTE)
    if waits := actions.waiting_battle(collection, request.user):
        return _battle_page(request, access.battle_for(request.user, slug, waits.pk))
    context = context_of(request, collection)
    context["has_pairs"] = bool(paired_topics(stored_answers(collection)))
    return page_or_part(request, PAGE, context, part="battle")


@require_POST
def next_pair(request: HtmxRequest, slug: str) -> HttpResponse:
    """Draw a pair where none waits, and show it."""
    collection = collection_for(request.user, slug, needed=roles.TO_VOTE)
    try:
        drawn = actions.next_battle(collection, by=request.user)
    except NothingToDraw as refusal:
        messages.info(request, str(refusal))
        return redirect("arena:vote", slug)
    return _after(request, drawn) if request.htmx else redirect("arena:vote", slug)


@require_safe
def battle(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Show two answers side by side; whose they are, and what a rubric sees in them, only after the vote."""
    return _battle_page(request, access.battle_for(request.user, slug, battle_id))


@require_POST
def cast(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Add the vote."""
    voted = access.battle_for(request.user, slug, battle_id)
    view, form = selectors.battle_view(voted), BallotForm(request.POST)
    form.require_evidence(is_asked=view.asks_evidence)
    if not view.sides:
        raise Http404("An answer was replaced since.")
    if not form.is_valid():
        return _battle_page(request, voted, form)
    try:
        actions.vote(voted, form.ballot, by=request.user, seen=form.cleaned_data["seen"])
    except ArenaError as refusal:
        messages.warning(request, str(refusal))
    return _after(request, voted)


@require_POST
def take_back(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Withdraw the vote; the event stays."""
    voted = access.battle_for(request.user, slug, battle_id)
    form = EventForm(request.POST)
    if form.is_valid():
        try:
            actions.take_back(voted, by=request.user, uid=form.sent_uid, seen=form.cleaned_data["seen"])
        except ArenaError as refusal:
            messages.warning(request, str(refusal))
    return _after(request, voted)


@require_POST
def reason(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Save why the person voted so."""
    voted = access.battle_for(request.user, slug, battle_id)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _battle_page(request, voted, reason_form=form)
    try:
        given = form.cleaned_data
        vote_reason = actions.VoteReason(
            frozenset(map(Reason.Tag, given["tags"])), given["text"], given["uid"]
        )
        actions.give_reason(voted, vote_reason, by=request.user)
    except ArenaError as refusal:
        messages.warning(request, str(refusal))
    return _after(request, voted)


@require_POST
def skip(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Give up the battle, and go on to the next one."""
    actions.skip(access.battle_for(request.user, slug, battle_id))
    return next_pair(request, slug)


@require_safe
def battle_json(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Send the battle as JSON, once the names are shown."""
    row = access.battle_for(request.user, slug, battle_id)
    if row.is_blind:
        raise PermissionDenied("The names are part of it: vote first.")
    document = files.battle_document(selectors.battle_view(row))
    return JsonResponse(document, json_dumps_params={"indent": 2, "ensure_ascii": False})


@require_http_methods(["GET", "HEAD", "POST"])
def by_name(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose two runs and a topic; POST opens their answers with the names.

    Apart from the next pair, since the names of all runs are on it.
    """
    collection = collection_for(request.user, slug, needed=roles.TO_VOTE)
    form = PairForm(request.POST or None)
    form.offer(collection)
    if form.is_bound and form.is_valid():
        topic = collection.topics.get(pk=form.chosen("topic"))
        runs = collection.runs.in_bulk([form.chosen("left"), form.chosen("right")])
        left, right = (runs[form.chosen(side)] for side in ("left", "right"))
        try:
            return redirect(actions.choose_battle(topic, left, right, by=request.user))
        except ArenaError as refusal:
            form.add_error(None, str(refusal))
    context = context_of(request, collection) | {"form": form, "page": "by-name"}
    return form_response(request, PAGE, context, part="battle")


def context_of(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return what the page has whatever is compared."""
    arena = access.arena_of(collection)
    return {
        "collection": collection,
        "arena": arena,
        "may_see_board": access.may_see_board(request.user, arena),
        "standing": selectors.standing(collection, request.user),
        "page": "vote",
    }


def _after(request: HtmxRequest, changed: Battle) -> HttpResponse:
    """Show the battle as it is now: in place for scripts."""
    if not request.htmx:
        return redirect(changed)
    return _battle_page(request, access.battle_for(request.user, changed.collection.slug, changed.pk))


def _battle_page(
    request: HtmxRequest,
    row: Battle,
    form: BallotForm | None = None,
    reason_form: ReasonForm | None = None,
) -> HttpResponse:
    view = selectors.battle_view(row)
    is_refused = bool(form or reason_form)
    if form is None:
        form = BallotForm(initial={"uid": uuid.uuid4(), "seen": view.seen})
        form.require_evidence(is_asked=view.asks_evidence)
    context = context_of(request, row.collection)
    context |= {"battle": row, "view": view, "form": form}
    context["reason_form"] = reason_form or ReasonForm(initial={"uid": uuid.uuid4()})
    if row.question:
        context |= selectors.waiting(row.question)
    if not row.is_blind:
        context |= _rubric_context(view)
        context |= selectors.made_of(row.question, request.GET.get("made", ""), request.GET.get("page"))
    response = page_or_part(request, PAGE, context, part="battle")
    response.status_code = 422 if is_refused else 200
    return response


def _rubric_context(view: selectors.BattleView) -> Context:
    """Return what the default bank and grader see in the two answers."""
    bank = next(iter(banks(view.battle.collection)), None)
    if bank is None or view.battle.question or not view.sides:
        return {}
    rater = raters(bank)[0]
    if not rater.grades_items:
        return {}
    rubric = selectors.rubric_view(view.battle, bank, rater, rater.min_grade)
    if isinstance(rubric, str):
        return {"no_rubric": rubric}
    preferences = selectors.preferences(view, rubric)
    return {"rubric": rubric, "rater": rater, "of_bank": bank, "preferences": preferences}
