"""What to do with the selected cells."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.db.models import TextChoices
from django.http import QueryDict
from django.utils.translation import gettext_lazy

from rubricweb.accounts import roles
from rubricweb.accounts.models import Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core.forms import offer_rows
from rubricweb.core.http import parse_ids
from rubricweb.corpus.models import Collection
from rubricweb.review.bulk.plans import Selection


class BulkAction(TextChoices):
    GRADE = "grade"
    RIGHT = "right"
    TAKE_BACK = "take-back"
    ASSIGN = "assign"


class BulkForm(forms.Form):
    """`cells` counts the cells of the plan that was shown; if it has changed, the plan is shown again."""

    deed = forms.ChoiceField(choices=BulkAction.choices)
    cells = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    person = forms.ModelChoiceField(User.objects.none(), required=False, empty_label=gettext_lazy("choose…"))

    def offer(self, collection: Collection) -> None:
        """Offer the people who may rate these cells."""
        able = [role for role in Role if role.includes(roles.TO_ASSESS)]
        members = Membership.objects.filter(collection=collection, role__in=able)
        people = User.objects.filter(pk__in=members.values("user"), is_active=True).order_by("username")
        offer_rows(self, "person", people)

    @property
    def chosen_uid(self) -> UUID:
        uid: UUID = self.cleaned_data["uid"]
        return uid


def selection(sent: QueryDict) -> Selection:
    """Parse the ticked rows and columns."""
    return Selection(parse_ids(sent.getlist("passage")), parse_ids(sent.getlist("item")))
