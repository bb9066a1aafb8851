"""The filters of pages about the work of a campaign's assessors."""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy

from rubricweb.campaigns.queue.models import Campaign
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.grades.forms import AddressForm


class CampaignFilter(AddressForm):
    """One campaign or all, and whether usernames are shown; each control takes effect at once."""

    campaign = forms.ChoiceField(label=gettext_lazy("Campaign"), required=False)
    names = forms.ChoiceField(
        label=gettext_lazy("Assessors"),
        choices=[("", gettext_lazy("pseudonyms")), ("1", gettext_lazy("names"))],
        required=False,
    )

    all_campaigns: ClassVar[str] = "any"

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        super().__init__(address)
        self.campaigns = {str(campaign.pk): campaign for campaign in collection.campaigns.all()}
        named = [(pk, campaign.name) for pk, campaign in self.campaigns.items()]
        offer_choices(self, "campaign", [("", self.all_campaigns), *named])
        for field in self.fields.values():
            field.widget.attrs["data-submits"] = ""

    @property
    def chosen(self) -> Campaign | None:
        return self.campaigns.get(self.value("campaign", ""))

    @property
    def shows_names(self) -> bool:
        return bool(self.value("names", ""))
