"""A walk leaves out no query that a view could have looked at."""

from __future__ import annotations

import pytest
from django import forms
from django.test import RequestFactory

from tests.rubricweb.looked_up import looking_up


class OrderForm(forms.Form):
    order = forms.ChoiceField(choices=[("a", "a")], required=False)
    latest = forms.BooleanField(required=False)
    kinds = forms.MultipleChoiceField(choices=[("a", "a")], required=False)


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        (lambda given: None, set()),
        (lambda given: given.get("order"), {"order"}),
        (lambda given: given.getlist("order"), {"order"}),
        (lambda given: "order" in given, {"order"}),
        (lambda given: OrderForm(given).is_valid(), {"order", "latest", "kinds"}),
        (bool, {"order", "latest", "kinds", "page"}),
        (dict, {"order", "latest", "kinds", "page"}),
        (list, {"order", "latest", "kinds", "page"}),
        (lambda given: {**given}, {"order", "latest", "kinds", "page"}),
        (lambda given: {} | given, {"order", "latest", "kinds", "page"}),
        (lambda given: given.urlencode(), {"order", "latest", "kinds", "page"}),
        (lambda given: given.copy(), {"order", "latest", "kinds", "page"}),
        (lambda given: given == {}, {"order", "latest", "kinds", "page"}),
    ],
)
def test_what_is_looked_up_may_change_the_answer(look, expected):
    with looking_up() as may_change:
        look(RequestFactory().get("/").GET)
    assert {name for name in ("order", "latest", "kinds", "page") if may_change(f"x=1&{name}=")} == expected
