"""The part of the address that the screens of spurious items and uncovered passages share."""

from __future__ import annotations

from collections.abc import Iterable

from django import forms
from django.utils.translation import gettext_lazy

from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Topic
from rubricweb.grades.forms import AT_ONCE, GraderForm, covered_from
from rubricweb.review.evidence import EvidenceQuery, RelevanceSource, default_source

SOURCES = {RelevanceSource.JUDGMENTS: "the judgments", RelevanceSource.PEOPLE: "people's own ratings"}


class EvidenceForm(GraderForm):
    """The topic, and from where on a passage is relevant or covered."""

    topic = forms.ChoiceField(required=False, widget=forms.Select(attrs=AT_ONCE))
    min_grade = covered_from()
    source = forms.ChoiceField(
        label=gettext_lazy("Relevance by"),
        required=False,
        choices=[(str(source), label) for source, label in SOURCES.items()],
        widget=forms.Select(attrs=AT_ONCE),
    )
    min_relevant = forms.IntegerField(
        label=gettext_lazy("Relevant from judgment"),
        min_value=-10,
        max_value=10,
        required=False,
        widget=forms.NumberInput(attrs=AT_ONCE),
    )
    page = forms.IntegerField(min_value=1, required=False)

    def offer_bank(self, bank: Bank, topics: Iterable[Topic]) -> None:
        """Offer the bank's topics; the default of `min_relevant` is the collection's."""
        choices = [("", "all topics"), *((str(topic.pk), _named(topic)) for topic in topics)]
        offer_choices(self, "topic", choices)
        self.data.setdefault("min_relevant", str(bank.collection.min_relevant))
        self.data.setdefault("source", str(default_source(bank.collection)))
        self.bank = bank

    @property
    def query(self) -> EvidenceQuery:
        return EvidenceQuery(
            RelevanceSource(self.value("source", default_source(self.bank.collection))),
            self.value("min_relevant", self.bank.collection.min_relevant),
            self.value("min_grade", self.default_min_grade),
        )

    @property
    def topic_id(self) -> int | None:
        return int(self.value("topic", 0)) or None


def _named(topic: Topic) -> str:
    words = topic.text if len(topic.text) <= 60 else f"{topic.text[:57]}…"
    return f"{topic.query_id}: {words}" if words else topic.query_id
