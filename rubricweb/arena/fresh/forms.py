"""The question, who answers it, and what that may take; and the id of a topic that it becomes."""

from __future__ import annotations

from django import forms

from grading.formats.ids import is_one_word
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.arena.fresh.actions import Asked
from rubricweb.arena.fresh.systems import DRAWN, offered
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.writers import Writer, writer_of
from rubricweb.jobs.limited import MILLION, Limits, cost

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
        """Only systems that can answer here, and only as much money as the person may spend."""
        self._collection, self._writer = collection, _writer_for(person, collection)
        systems = [(system.name, system.label) for system in offered(self._writer)]
        for name in ("first", "second"):
            offer_choices(self, name, [(DRAWN, "Draw one"), *systems])
        topics = [(str(topic.pk), str(topic)) for topic in collection.topics.all()]
        offer_choices(self, "topic", [("", "None: the question above"), *topics])
        choice_field(self, "topic").required = False
        if self._writer is None:
            del self.fields["most_calls"]
        if self._writer is None or not _cost(self._writer):
            del self.fields["most_dollars"]
        elif roles.role_of(person, collection) == Role.ASSESSOR:
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
        first, second = cleaned.get("first"), cleaned.get("second")
        if first and first == second:
            self.add_error("second", "Choose two different systems.")
        return cleaned

    @property
    def asked(self) -> Asked:
        """What the valid form says."""
        chosen = self.cleaned_data
        topic: Topic | None = self._collection.topics.get(pk=chosen["topic"]) if chosen["topic"] else None
        text = topic.text or topic.query_id if topic else chosen["text"]
        return Asked(text, topic, (chosen["first"], chosen["second"]), self._writer)

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


def _writer_for(person: User, collection: Collection) -> Writer | None:
    """Assessors ask a model where they may start grading, and its price is known."""
    writer = writer_of(collection)
    if writer is None or roles.role_of(person, collection) != Role.ASSESSOR:
        return writer
    return writer if collection.assessors_grade and _cost(writer) is not None else None


def _cost(writer: Writer) -> float | None:
    """Of a million tokens read and as many written, in dollars."""
    return cost(writer.backend, writer.llm, MILLION, MILLION)
