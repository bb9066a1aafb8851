"""How dense a person's screens are."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def test_every_page_has_the_chosen_density(client_of):
    person = UserFactory()
    client = client_of(person)
    home = reverse("home:home")
    assert b"data-density" not in client.get(home).content
    client.post(reverse("accounts:density"), {"density": "roomy"})
    assert b'data-density="roomy"' in client.get(home).content
    assert b"data-density" not in client_of(UserFactory()).get(home).content


def test_an_unknown_density_changes_nothing(client_of):
    person = UserFactory(density="roomy")
    client_of(person).post(reverse("accounts:density"), {"density": "tiny"})
    person.refresh_from_db()
    assert person.density == "roomy"


def test_the_account_opens_at_its_top(client_of):
    """On a phone a field that takes the focus would hide the density behind the keyboard."""
    page = client_of(UserFactory()).get(reverse("accounts:account")).content
    assert b'name="old_password"' in page
    assert b"autofocus" not in page
