"""The filters of the list of conflicts, and a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext_lazy

from grading.types import MAX_RATING
from rubricweb.campaigns.adjudication.selectors import Query
from rubricweb.campaigns.queue.filters import CampaignFilter
from rubricweb.campaigns.queue.meanings import Meanings
from rubricweb.core.forms import offer_choices
from rubricweb.grades.forms import select_at_once
from rubricweb.grades.scales import PAPERS_MIN_GRADE

if TYPE_CHECKING:
    from django.http import QueryDict


class ConflictsForm(CampaignFilter):
    """The filters of the list; they stay in the address of each case."""

    in_toolbar = ("state", "campaign", "distance", "min_grade", "names")

    distance = select_at_once(
        gettext_lazy("Ratings differ by more than"),
        [(str(number), str(number)) for number in range(MAX_RATING)],
        initial="1",
    )
    min_grade = select_at_once(
        gettext_lazy("or lie on both sides of"),
        [(str(number), str(number)) for number in range(1, MAX_RATING + 1)],
        initial=str(PAPERS_MIN_GRADE),
    )
    state = select_at_once(
        gettext_lazy("State"), [("", gettext_lazy("open")), ("decided", gettext_lazy("decided"))]
    )

    @property
    def query(self) -> Query:
        return Query(
            campaign=self.chosen,
            distance=int(self.value("distance", "1")),
            min_grade=int(self.value("min_grade", PAPERS_MIN_GRADE)),
            is_decided=self.value("state", "") == "decided",
            shows_names=self.shows_names,
        )


class DecideForm(forms.Form):
    """A decision; `seen` is the number of the latest one that the adjudicator saw."""

    rating = forms.TypedChoiceField(coerce=int)
    seen = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    reason = forms.CharField(required=False, max_length=2_000)

    def __init__(self, sent: QueryDict, meanings: Meanings) -> None:
        super().__init__(sent)
        offer_choices(self, "rating", meanings)
