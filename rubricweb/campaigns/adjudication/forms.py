"""The filters of the list of conflicts, and a decision."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy

from grading.types import MAX_RATING, MIN_RATING
from rubricweb.campaigns.adjudication.selectors import Query
from rubricweb.campaigns.queue.filters import CampaignFilter
from rubricweb.grades.scales import PAPERS_MIN_GRADE


class ConflictsForm(CampaignFilter):
    """The filters of the list; they stay in the address of each case."""

    distance = forms.TypedChoiceField(
        label=gettext_lazy("Ratings differ by more than"),
        coerce=int,
        choices=[(str(number), str(number)) for number in range(MAX_RATING)],
        initial="1",
        required=False,
    )
    min_grade = forms.TypedChoiceField(
        label=gettext_lazy("or lie on both sides of"),
        coerce=int,
        choices=[(str(number), str(number)) for number in range(1, MAX_RATING + 1)],
        initial=str(PAPERS_MIN_GRADE),
        required=False,
    )
    state = forms.ChoiceField(
        label=gettext_lazy("State"),
        choices=[("", gettext_lazy("open")), ("decided", gettext_lazy("decided"))],
        required=False,
    )

    field_order = ("campaign", "distance", "min_grade", "state", "names")

    @property
    def query(self) -> Query:
        return Query(
            campaign=self.chosen,
            distance=int(self.value("distance", 1)),
            min_grade=int(self.value("min_grade", PAPERS_MIN_GRADE)),
            is_decided=self.value("state", "") == "decided",
            shows_names=self.shows_names,
        )


class DecideForm(forms.Form):
    """A decision; `seen` is the number of the latest one that the adjudicator saw."""

    rating = forms.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING)
    seen = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    reason = forms.CharField(required=False, max_length=2_000)
