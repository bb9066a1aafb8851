"""The pattern page shows each component in each state, from the templates that the screens use."""

import pytest
from django.urls import reverse

from rubricweb.core import patterns
from tests.rubricweb.markup import markup


@pytest.mark.django_db
def test_states_and_fields(client_of, viewer):
    page = markup(client_of(viewer).get(reverse("core:patterns")))
    for state in filter(None, patterns.STATES):
        assert page.count(f'data-state="{state}"') >= 5
    assert page.count('aria-invalid="true"') >= 3
    assert all(page.count(str(field.label)) >= 2 for field in patterns.filled_form())


@pytest.mark.django_db
def test_only_for_looking(client_of, viewer):
    assert client_of(viewer).post(reverse("core:patterns")).status_code == 405
