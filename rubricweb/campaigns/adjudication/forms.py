"""What counts as a conflict, and a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from grading.types import MAX_RATING, USUAL_MIN_GRADE
from rubricweb.campaigns.adjudication.selectors import Query
from rubricweb.campaigns.queue.filters import CampaignFilter
from rubricweb.campaigns.queue.meanings import Meanings
from rubricweb.core.forms import offer_choices
from rubricweb.grades.forms import select_at_once

if TYPE_CHECKING:
    from django.http import QueryDict


class ConflictsForm(CampaignFilter):
    """What counts as a conflict; it stays in the addresses."""

    in_toolbar = ("campaign", "distance", "min_grade", "names")

    distance = select_at_once(
        "Ratings differ by more than",
        [(str(number), str(number)) for number in range(MAX_RATING)],
        initial="1",
    )
    min_grade = select_at_once(
        "or lie on both sides of",
        [(str(number), str(number)) for number in range(1, MAX_RATING + 1)],
        initial=str(USUAL_MIN_GRADE),
    )

    @property
    def query(self) -> Query:
        return Query(
            campaign=self.chosen,
            distance=int(self.value("distance", "1")),
            min_grade=int(self.value("min_grade", USUAL_MIN_GRADE)),
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
