"""What to do with the selected cells."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.db.models import TextChoices
from django.http import QueryDict

from rubricweb.accounts import roles
from rubricweb.accounts.models import Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core.forms import offer_rows
from rubricweb.core.ids import parse_ids
from rubricweb.corpus.models import Collection
from rubricweb.review.bulk.plans import Selection


class Deed(TextChoices):
    GRADE = "grade"
    RIGHT = "right"
    TAKE_BACK = "take-back"
    ASSIGN = "assign"


class BulkForm(forms.Form):
    """`cells` is the number of cells that the plan showed: where it is another by now, it is shown anew."""

    deed = forms.ChoiceField(choices=Deed.choices)
    cells = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    person = forms.ModelChoiceField(User.objects.none(), required=False, empty_label="choose…")

    def offer(self, collection: Collection) -> None:
        """Give cells to those who may rate them."""
        able = [role for role in Role if role.includes(roles.TO_ASSESS)]
        members = Membership.objects.filter(collection=collection, role__in=able)
        people = User.objects.filter(pk__in=members.values("user"), is_active=True).order_by("username")
        offer_rows(self, "person", people)

    @property
    def uid_said(self) -> UUID:
        said: UUID = self.cleaned_data["uid"]
        return said


def selection(said: QueryDict) -> Selection:
    """The ticked heads."""
    return Selection(parse_ids(said.getlist("passage")), parse_ids(said.getlist("item")))
