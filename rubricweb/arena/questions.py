"""Ask a question, wait for its two answers, adopt the question as a topic."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.types import is_one_word
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.arena import access, asking, selectors
from rubricweb.arena.asking import (
    MODULES,
    SIDES,
    BadPipeline,
    Pipeline,
    add_fields,
    chosen,
    price_of,
    writers,
)
from rubricweb.arena.battles import DRAWN, ArenaError, offered
from rubricweb.arena.models import Question
from rubricweb.arena.voting import PAGE, context_of
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.jobs.limits import Limits
from rubricweb.jobs.steering import steer

MOST_CALLS, CALLS, DOLLARS = 1_000, 150, 1.0


class QuestionForm(forms.Form):
    """A question, or a topic of the collection, and two systems."""

    text = forms.CharField(
        label="Question",
        max_length=1_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    topic = forms.ChoiceField(label="Or a topic", required=False)
    first = forms.ChoiceField(label="One system", required=False)
    second = forms.ChoiceField(label="The other", required=False)
    most_calls = forms.IntegerField(
        label="Maximum number of model calls", min_value=1, max_value=MOST_CALLS, initial=CALLS
    )
    most_dollars = forms.FloatField(
        label="Maximum cost, in US dollars", min_value=0, max_value=1e4, initial=DOLLARS
    )

    def offer(self, collection: Collection, person: User) -> None:
        """Offer only systems that can answer here, and only as much money as the person may spend."""
        self._collection, self._models = collection, writers(collection, person)
        self._writer = next(iter(self._models), None)
        systems = [(system.name, system.label) for system in offered(self._writer)]
        for name in ("first", "second"):
            offer_choices(self, name, [(DRAWN, "Drawn at random"), *systems])
        add_fields(self, collection, person, self._models)
        topics = [(str(topic.pk), str(topic)) for topic in collection.topics.all()]
        offer_choices(self, "topic", [("", "None, the question above"), *topics])
        choice_field(self, "topic").required = False
        if self._writer is None:
            del self.fields["most_calls"]
        if not any(map(price_of, self._models)):
            del self.fields["most_dollars"]
        elif not roles.holds(person, collection, roles.TO_GRADE):
            most = float(collection.assessors_grade_up_to)
            self.fields["most_dollars"] = forms.FloatField(
                label="Maximum cost, in US dollars",
                min_value=0,
                max_value=most,
                initial=min(most, DOLLARS),
            )

    @property
    def has_model(self) -> bool:
        return self._writer is not None

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if bool(cleaned.get("text")) == bool(cleaned.get("topic")) and "text" not in self.errors:
            self.add_error("text", "Write a question, or choose a topic.")
        if not self.errors:
            self._read_systems(cleaned)
        return cleaned

    def _read_systems(self, cleaned: dict[str, Any]) -> None:
        self._topic = self._collection.topics.get(pk=cleaned["topic"]) if cleaned["topic"] else None
        self._systems: list[str | Pipeline] = []
        for side in SIDES:
            try:
                self._systems.append(chosen(self._collection, side, cleaned, self._models, self._topic))
            except BadPipeline as problem:
                self.add_error(side, str(problem))
        first, second = (*self._systems, DRAWN, DRAWN)[:2]
        if first != DRAWN and first == second:
            self.add_error("second", "Choose two different systems.")

    @property
    def sides(self) -> list[list[forms.BoundField]]:
        """Return the fields of each side: how it answers, and its modules."""
        names = [[side, *(f"{side}_{module}" for module in MODULES)] for side in SIDES]
        return [[self[name] for name in of_side if name in self.fields] for of_side in names]

    @property
    def new_question(self) -> asking.NewQuestion:
        """Return what the valid form says."""
        topic = self._topic
        text = topic.text or topic.query_id if topic else self.cleaned_data["text"]
        return asking.NewQuestion(text, topic, self._systems, self._writer)

    @property
    def limits(self) -> Limits:
        return Limits(self.cleaned_data.get("most_calls") or 1, self.cleaned_data.get("most_dollars"))


class AdoptForm(forms.Form):
    query_id = forms.CharField(label="Id of the topic", max_length=200)

    def clean_query_id(self) -> str:
        query_id = str(self.cleaned_data["query_id"])
        if not is_one_word(query_id):
            raise forms.ValidationError("An id is one word.")
        return query_id


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the form of a question of one's own; POST has two systems answer it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASK)
    form = QuestionForm(request.POST or None)
    form.offer(collection, request.user)
    if form.is_bound and form.is_valid():
        return redirect(asking.ask(collection, form.new_question, limits=form.limits, by=request.user))
    context = context_of(request, collection) | {"form": form, "page": "ask"}
    context["may_adopt"] = may_adopt = roles.holds(request.user, collection, roles.TO_EDIT_BANK)
    context["tallies"] = selectors.tallies(collection) if context["may_see_board"] else []
    context["questions"] = selectors.questions(collection) if may_adopt else []
    return form_response(request, PAGE, context, part="battle")


@require_safe
def pending(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Show how far the answers of a battle are, and nothing of either."""
    question = _question(request, slug, battle_id)
    context = {"collection": question.collection, "battle": question.battle, "question": question}
    return render(request, "arena/_pending.html", context | selectors.waiting(question))


@require_POST
def cancel(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Stop the answering."""
    question = steer(_question(request, slug, battle_id), "cancel", by=request.user)
    return redirect("arena:battle", slug, question.battle.pk)


@require_POST
def go_on(request: HtmxRequest, slug: str, battle_id: int) -> HttpResponse:
    """Answer on, where it paused with as much again as a question is given."""
    question = _question(request, slug, battle_id)
    form = QuestionForm()
    form.offer(question.collection, request.user)
    if question.pause_reason and not form.has_model:
        raise PermissionDenied("A topic developer may let it ask more.")
    if question.pause_reason:
        asking.go_on(question, more_calls=CALLS, more_dollars=DOLLARS)
    else:
        asking.go_on(question)
    return redirect("arena:battle", slug, battle_id)


@require_POST
def adopt(request: HtmxRequest, slug: str, question_id: int) -> HttpResponse:
    """Make a question a topic of the collection."""
    question, form = access.question_for(request.user, slug, question_id), AdoptForm(request.POST)
    if not form.is_valid():
        messages.warning(request, str(form.errors["query_id"][0]))
        return redirect("arena:ask", slug)
    try:
        topic = asking.adopt(question, query_id=form.cleaned_data["query_id"], by=request.user)
        messages.success(request, f"Topic {topic.query_id} is in the collection: pool passages for it next.")
    except ArenaError as refusal:
        messages.warning(request, str(refusal))
    return redirect("arena:ask", slug)


def _question(request: HtmxRequest, slug: str, battle_id: int) -> Question:
    battle = access.battle_for(request.user, slug, battle_id)
    if battle.question is None:
        raise Http404("Its answers are stored ones.")
    return battle.question
