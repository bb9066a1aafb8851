"""The part of the address that the screens of spurious items and uncovered passages share."""

from __future__ import annotations

from collections.abc import Iterable

from django import forms
from django.utils.translation import gettext, gettext_lazy

from rubricweb.banks.models import Bank
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.corpus.models import Topic
from rubricweb.grades.forms import GraderForm, covered_from, select_at_once
from rubricweb.review.evidence import EvidenceQuery, RelevanceSource, default_source

SOURCES = (
    (str(RelevanceSource.JUDGMENTS), gettext_lazy("the judgments")),
    (str(RelevanceSource.PEOPLE), gettext_lazy("people's own ratings")),
)


class EvidenceForm(ChipForm, GraderForm):
    """The topic, and from where on a passage is relevant or covered."""

    in_toolbar: tuple[str, ...] = ("topic", "grader", "min_grade", "source", "min_relevant")
    outdated: tuple[str, ...] = ("page",)

    topic = select_at_once(gettext_lazy("Topic"), ())
    min_grade = covered_from()
    source = select_at_once(gettext_lazy("Relevance by"), SOURCES)
    min_relevant = forms.IntegerField(
        label=gettext_lazy("Relevant from judgment"),
        min_value=-10,
        max_value=10,
        required=False,
    )
    page = forms.IntegerField(min_value=1, required=False)

    def default_value(self, name: str) -> str:
        collection = self.of_bank.collection
        return {
            "grader": self.data["grader"],
            "min_grade": str(self.default_min_grade),
            "source": str(default_source(collection)),
            "min_relevant": str(collection.min_relevant),
        }.get(name, "")

    def offer_bank(self, bank: Bank, topics: Iterable[Topic]) -> None:
        """Offer the bank's topics; judgments count where relevance goes by them."""
        choices = [("", gettext("all")), *((str(topic.pk), _named(topic)) for topic in topics)]
        offer_choices(self, "topic", choices)
        self.data.setdefault("min_relevant", str(bank.collection.min_relevant))
        self.data.setdefault("source", str(default_source(bank.collection)))
        self.of_bank = bank
        if self.query.source is RelevanceSource.PEOPLE:
            self.in_toolbar = tuple(name for name in self.in_toolbar if name != "min_relevant")

    @property
    def query(self) -> EvidenceQuery:
        return EvidenceQuery(
            RelevanceSource(self.value("source", default_source(self.of_bank.collection))),
            self.value("min_relevant", self.of_bank.collection.min_relevant),
            self.value("min_grade", self.default_min_grade),
        )

    @property
    def topic_id(self) -> int | None:
        return int(self.value("topic", 0)) or None


def _named(topic: Topic) -> str:
    words = topic.text if len(topic.text) <= 60 else f"{topic.text[:57]}…"
    return f"{topic.query_id}: {words}" if words else topic.query_id
