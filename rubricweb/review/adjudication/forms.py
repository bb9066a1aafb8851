"""Which conflicts to list, and what adjudicators send."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from grading.types import MAX_RATING, MIN_RATING
from rubricweb.corpus.models import Collection
from rubricweb.review.adjudication.selectors import Query
from rubricweb.review.forms import AddressForm
from rubricweb.review.queue.models import Campaign


class ConflictsForm(AddressForm):
    """The filters of the list; they stay in the address of each case."""

    campaign = forms.ChoiceField(label="Campaign", required=False)
    distance = forms.TypedChoiceField(
        label="Ratings differ by more than",
        coerce=int,
        choices=[(str(number), str(number)) for number in range(MAX_RATING)],
        initial="1",
        required=False,
    )
    min_grade = forms.TypedChoiceField(
        label="or lie on both sides of",
        coerce=int,
        choices=[(str(number), str(number)) for number in range(1, MAX_RATING + 1)],
        initial="4",
        required=False,
    )
    state = forms.ChoiceField(label="State", choices=[("", "open"), ("decided", "decided")], required=False)
    names = forms.ChoiceField(label="Assessors", choices=[("", "pseudonyms"), ("1", "names")], required=False)

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        super().__init__(address)
        self.campaigns = {str(campaign.pk): campaign for campaign in collection.campaigns.all()}
        choices = [("", "any"), *((pk, campaign.name) for pk, campaign in self.campaigns.items())]
        self.fields["campaign"].choices = choices
        for field in self.fields.values():
            field.widget.attrs["data-submits"] = ""

    @property
    def chosen(self) -> Campaign | None:
        return self.campaigns.get(self.value("campaign", ""))

    @property
    def query(self) -> Query:
        return Query(
            campaign=self.chosen,
            distance=int(self.value("distance", 1)),
            min_grade=int(self.value("min_grade", 4)),
            is_decided=self.value("state", "") == "decided",
            shows_names=self.value("names", "") == "1",
        )


class DecideForm(forms.Form):
    """A decision; `seen` is the number of the last one that the adjudicator saw."""

    rating = forms.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING)
    seen = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    reason = forms.CharField(required=False, max_length=2_000)
