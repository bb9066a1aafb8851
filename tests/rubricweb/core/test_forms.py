"""Fields that are told what they offer when a form is made."""

import pytest
from django import forms

from rubricweb.accounts.models import User
from rubricweb.core.forms import offer_choices, offer_rows
from tests import factories


class Wanted(forms.Form):
    colour = forms.ChoiceField(required=False)
    person = forms.ModelChoiceField(User.objects.none(), required=False)
    words = forms.CharField(required=False)


def test_choices_are_those_of_this_form_only():
    form = Wanted({"colour": "red"})
    offer_choices(form, "colour", [("red", "Red")])
    assert form.is_valid()
    assert not Wanted({"colour": "red"}).is_valid()


@pytest.mark.django_db
def test_rows_are_those_that_are_offered():
    ada, bob = factories.UserFactory(), factories.UserFactory()
    form, other = (Wanted({"person": str(person.pk)}) for person in (ada, bob))
    for each_form in (form, other):
        offer_rows(each_form, "person", User.objects.filter(pk=ada.pk))
    assert form.is_valid()
    assert form.cleaned_data["person"] == ada
    assert not other.is_valid()


@pytest.mark.parametrize(("offer", "offered"), [(offer_choices, [("a", "A")]), (offer_rows, User.objects)])
def test_a_field_of_words_offers_nothing(offer, offered):
    with pytest.raises(TypeError, match=r"Wanted\.words offers no"):
        offer(Wanted(), "words", offered)
