"""The parameters of the agreement page."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy

from rubricweb.campaigns.agreement.latest_ratings import CountedRating
from rubricweb.campaigns.queue.filters import CampaignFilter
from rubricweb.grades.forms import GraderForm


class AssessorAgreementForm(CampaignFilter, GraderForm):
    which = forms.ChoiceField(
        label=gettext_lazy("Ratings"),
        choices=[
            (str(CountedRating.LATEST), gettext_lazy("each person's latest rating")),
            (str(CountedRating.INDEPENDENT), gettext_lazy("before the grader's was seen")),
        ],
        required=False,
        initial=str(CountedRating.LATEST),
    )

    field_order = ("grader", "campaign", "which", "names")
    all_campaigns = "all ratings"

    @property
    def counted(self) -> CountedRating:
        return CountedRating(self.value("which", CountedRating.LATEST))
