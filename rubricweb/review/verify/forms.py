"""The parameters of the queue of cells to check, and a verdict."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import forms
from django.db.models import QuerySet

from grading.types import MAX_RATING, MIN_RATING
from rubricweb.core.compiled import compiled_once
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import MAX_ID
from rubricweb.corpus.models import Topic
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.raters import GraderForm, Rater, covered_from, covering, select_at_once
from rubricweb.review.cells import CellForm
from rubricweb.review.verify.selectors import MIXED, RANDOM, WORST, CheckQuery

NEAR_KEY = "near"
LISTED = "list"
VERDICTS = (("", "any verdict"), (NEAR_KEY, "wrong, but near the key"), ("0", "wrong"), ("1", "right"))
"""The filter of answers that the grader verified."""
VIEWS = (("", "one by one"), (LISTED, "as a list"))
ORDERS = ((MIXED, "worst and random"), (WORST, "worst first"), (RANDOM, "at random"))


class CheckForm(ChipForm, GraderForm):
    """The queue."""

    in_toolbar = ("topic", "order", "rating", "grader", "min_grade", "covers")
    outdated = ("at", "item", "page")

    topic = select_at_once("Topic", ())
    item = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)
    order = select_at_once("Order", ORDERS)
    rating = select_at_once(
        "Rated", [("", "anything"), *((str(n), str(n)) for n in range(MAX_RATING, MIN_RATING - 1, -1))]
    )
    min_grade = covered_from()
    covers = covering()
    view = select_at_once("Show", VIEWS)
    page = forms.IntegerField(min_value=1, required=False)
    at = forms.RegexField(r"^\d{1,18}-\d{1,18}-\d{1,18}$", required=False)

    topic_choices: tuple[tuple[str, str], ...] = ()

    def default_value(self, name: str) -> str:
        named = {"grader": self.data["grader"], "min_grade": str(self.default_min_grade), "order": MIXED}
        return named.get(name, "")

    def offer(self, raters: tuple[Rater, ...]) -> Rater:
        """Offer these raters; of one that verifies answers, verdicts instead of ratings, and the list."""
        chosen = super().offer(raters)
        if chosen.verifies:
            self.fields["rating"].label = "Verdict"
            offer_choices(self, "rating", VERDICTS)
            order = () if self.shows_list else ("order",)
            self.in_toolbar = ("topic", *order, "rating", "view", "grader")
            if self.shows_list:
                offer_choices(self, "topic", [("", "all"), *self.topic_choices])
        return chosen

    @property
    def shows_list(self) -> bool:
        return bool(self.value("view", "") == LISTED)

    def offer_topics(self, collection_id: int) -> None:
        topics = _topics(collection_id)
        self.topic_choices = tuple((str(pk), f"{query_id}: {text}"[:80]) for pk, query_id, text in topics)
        offer_choices(self, "topic", [("", "first unchecked"), *self.topic_choices])

    def query(self) -> CheckQuery:
        at = tuple(int(pk) for pk in self.value("at", "").split("-") if pk)
        rating = self.value("rating", -1)
        return CheckQuery(
            topic=int(self.value("topic", 0)),
            item=self.value("item", 0),
            order=self.value("order", MIXED),
            rating=0 if rating == NEAR_KEY else int(rating),
            is_near=rating == NEAR_KEY,
            min_grade=self.value("min_grade", self.default_min_grade),
            covers=self.value("covers", 0),
            at=(at[0], at[1], at[2]) if at else None,
        )


@compiled_once
def _topics(collection: int) -> QuerySet[Topic, tuple[int, str, str]]:
    return Topic.objects.filter(collection=collection).values_list("pk", "query_id", "text")


class Acceptance(NamedTuple):
    """The values of an AcceptForm."""

    passage: int
    item: int
    seen: int
    answer: str
    verdict: int | None


class AcceptForm(forms.Form):
    """An extracted answer that becomes an accepted one, or was one and no longer is."""

    passage = forms.IntegerField(min_value=1)
    item = forms.IntegerField(min_value=1)
    seen = forms.IntegerField(min_value=0)
    """The version of the item that the page showed."""
    answer = forms.CharField()
    """The answer as the page showed it; for an undo, as the key has it."""
    verdict = forms.IntegerField(required=False)
    """The verdict that came with the acceptance, for an undo."""

    @property
    def acceptance(self) -> Acceptance:
        return Acceptance(*(self.cleaned_data[name] for name in Acceptance._fields))


class VerdictForm(CellForm):
    """Right; or wrong, with the right rating where it is known."""

    topic = forms.IntegerField(min_value=1)
    passage = forms.IntegerField(min_value=1)
    item = forms.IntegerField(min_value=1)
    shown_rating = forms.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING)
    """The grader's rating that the page showed."""
    answer = forms.CharField(required=False)
    """A digest of the answer that the page showed, where its verdict is checked."""
    verdict = forms.ChoiceField(choices=HumanGrade.Verdict.choices, required=False)
    rating = forms.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING, required=False)

    def clean(self) -> dict[str, Any]:
        """Derive the verdict from the rating, if only that is given."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not cleaned.get("verdict") and cleaned.get("rating") is None:
            raise forms.ValidationError("Say right or wrong.")
        if cleaned.get("rating") is not None:
            is_same = cleaned["rating"] == cleaned.get("shown_rating")
            cleaned["verdict"] = HumanGrade.Verdict.RIGHT if is_same else HumanGrade.Verdict.WRONG
        return cleaned

    @property
    def at(self) -> tuple[int, int, int] | None:
        """Return the cell, in the form of CheckQuery.at."""
        topic, passage, item = (self.cleaned_data.get(name) for name in ("topic", "passage", "item"))
        return None if topic is None or passage is None or item is None else (topic, passage, item)


class UndoVerdictForm(forms.Form):
    """The verdict to withdraw; `uid` makes sending it twice harmless."""

    rating_event = forms.IntegerField(min_value=1, max_value=MAX_ID, required=False)
    """A verdict on a rating."""
    verdict = forms.IntegerField(min_value=1, max_value=MAX_ID, required=False)
    """A verdict on an answer."""
    uid = forms.UUIDField(required=False)
