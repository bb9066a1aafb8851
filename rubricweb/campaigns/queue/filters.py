"""The filters of pages about the work of a campaign's assessors."""

from __future__ import annotations

from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from rubricweb.campaigns.queue.models import Campaign
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.grades.forms import AddressForm, select_at_once


class CampaignFilter(ChipForm, AddressForm):
    """One campaign or all, and whether usernames are shown."""

    outdated = ("page",)

    campaign = select_at_once(gettext_lazy("Campaign"), ())
    names = select_at_once(
        gettext_lazy("Assessors"), [("", gettext_lazy("pseudonyms")), ("1", gettext_lazy("names"))]
    )

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        super().__init__(address)
        self.campaigns = {str(campaign.pk): campaign for campaign in collection.campaigns.all()}
        named = [(pk, campaign.name) for pk, campaign in self.campaigns.items()]
        offer_choices(self, "campaign", [("", gettext("any")), *named])

    @property
    def chosen(self) -> Campaign | None:
        return self.campaigns.get(self.value("campaign", ""))

    @property
    def shows_names(self) -> bool:
        return bool(self.value("names", ""))
