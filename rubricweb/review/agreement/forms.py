"""Whose agreement to look at."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from rubricweb.corpus.models import Collection
from rubricweb.review.agreement.sayings import Which
from rubricweb.review.forms import GraderForm
from rubricweb.review.queue.models import Campaign


class AgreementForm(GraderForm):
    campaign = forms.ChoiceField(label="Campaign", required=False)
    which = forms.ChoiceField(
        label="Ratings",
        choices=[
            (str(Which.LATEST), "what each says now"),
            (str(Which.INDEPENDENT), "before the grader's was seen"),
        ],
        required=False,
        initial=str(Which.LATEST),
    )
    names = forms.ChoiceField(label="Assessors", choices=[("", "pseudonyms"), ("1", "names")], required=False)

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        super().__init__(address)
        self.campaigns = {str(campaign.pk): campaign for campaign in collection.campaigns.all()}
        choices = [("", "any work"), *((pk, campaign.name) for pk, campaign in self.campaigns.items())]
        self.fields["campaign"].choices = choices
        for field in self.fields.values():
            field.widget.attrs["data-submits"] = ""

    @property
    def chosen(self) -> Campaign | None:
        return self.campaigns.get(self.value("campaign", ""))

    @property
    def counted(self) -> Which:
        return Which(self.value("which", Which.LATEST))

    @property
    def shows_names(self) -> bool:
        return bool(self.value("names", ""))
