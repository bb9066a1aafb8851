"""The form that makes a token."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy

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
        label=gettext_lazy("It may"),
        help_text=gettext_lazy("Never more than your own role in a collection allows."),
    )
    days = forms.IntegerField(
        min_value=1, max_value=LONGEST_DAYS, initial=90, label=gettext_lazy("Days until it expires")
    )
    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        required=False,
        empty_label=gettext_lazy("all of mine"),
        label=gettext_lazy("Collection"),
    )

    class Meta:
        model = Token
        fields = ("name",)

    def __init__(self, user: User, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        offer_rows(self, "collection", Collection.objects.visible_to(user))
        self.fields["name"].help_text = "What it is for, such as “nightly export”."
