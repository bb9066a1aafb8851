"""The parameters of the agreement page."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from rubricweb.campaigns.agreement.latest_ratings import CountedRating
from rubricweb.campaigns.queue.filters import CampaignFilter
from rubricweb.grades.forms import GraderForm, select_at_once


class AssessorAgreementForm(CampaignFilter, GraderForm):
    """Whose ratings are compared with whose."""

    in_toolbar = ("grader", "campaign", "which", "names")

    which = select_at_once(
        gettext_lazy("Ratings"),
        [
            (str(CountedRating.LATEST), gettext_lazy("each person's latest rating")),
            (str(CountedRating.INDEPENDENT), gettext_lazy("before the grader's was seen")),
        ],
        initial=str(CountedRating.LATEST),
    )

    def default_value(self, name: str) -> object:
        return self.data.get(name) if name == "grader" else super().default_value(name)

    @property
    def counted(self) -> CountedRating:
        return CountedRating(self.value("which", CountedRating.LATEST))
