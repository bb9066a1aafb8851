"""The parameters of the agreement page."""

from __future__ import annotations

from django import forms

from rubricweb.campaigns.agreement.latest_ratings import Which
from rubricweb.campaigns.queue.filters import CampaignFilter
from rubricweb.grades.forms import GraderForm


class AssessorAgreementForm(CampaignFilter, GraderForm):
    which = forms.ChoiceField(
        label="Ratings",
        choices=[
            (str(Which.LATEST), "what each says now"),
            (str(Which.INDEPENDENT), "before the grader's was seen"),
        ],
        required=False,
        initial=str(Which.LATEST),
    )

    field_order = ("grader", "campaign", "which", "names")
    all_campaigns = "any work"

    @property
    def counted(self) -> Which:
        return Which(self.value("which", Which.LATEST))
