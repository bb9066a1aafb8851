"""The form that makes a token."""

from __future__ import annotations

from django import forms

from rubricweb.accounts.models import User
from rubricweb.api.models import Token
from rubricweb.core.forms import offer_rows
from rubricweb.corpus.models import Collection

LONGEST_DAYS = 366


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    scopes = forms.MultipleChoiceField(
        choices=Token.Scope.choices,
        initial=[Token.Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        label="It may",
        help_text="Never more than your own role in a collection allows.",
    )
    days = forms.IntegerField(min_value=1, max_value=LONGEST_DAYS, initial=90, label="Days until it expires")
    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        required=False,
        empty_label="all of mine",
        label="Collection",
    )

    class Meta:
        model = Token
        fields = ("name",)

    def __init__(self, user: User, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        offer_rows(self, "collection", Collection.objects.visible_to(user))
        self.fields["name"].help_text = "What it is for, such as “nightly export”."
