"""A form that is refused is shown again as it was filled in: forms of every page of a collection."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

import pytest
from django.contrib.messages import ERROR, get_messages
from django.test import Client
from django.urls import resolve

from rubricweb.grades.configs import config_for
from tests.factories import grades
from tests.rubricweb.forms import Form, forms_of
from tests.rubricweb.walking import Walk, is_page
from tests.worked import worked

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
REFUSED = "-1"
"""A number that no field takes which has a least one."""


def refusable(form: Form) -> list[str]:
    """Return the fields in which a negative number is refused; none where a refusal loses nothing else."""
    numbers = [field for field in form.controls if field.type == "number"]
    names = [field.name for field in numbers if (field.attributes.get("min") or "-").isdecimal()]
    others = [field for field in form.controls if field.type not in ("hidden", "submit", "button")]
    return names if any(field.name not in names for field in others) else []


def submit(client: Client, address: str, form: Form) -> list[str]:
    """Send the form with every box ticked and numbers that are refused, and return what was lost of it."""
    numbers = refusable(form)
    pairs = [(name, REFUSED if name in numbers else value) for name, value in form.as_shown()]
    to = (form.attributes.get("hx-post") or form.attributes.get("action") or address).partition("#")[0]
    headers = {"HX-Request": "true"} if "hx-post" in form.attributes else {}
    encoded = "application/x-www-form-urlencoded"
    response = client.post(to, urlencode(pairs), content_type=encoded, headers=headers)
    if response.status_code in (302, 303):
        errors = [str(each) for each in get_messages(response.wsgi_request) if each.level == ERROR]
        return [f"{to} forgets the form: {error}" for error in errors]
    if response.status_code != 422:
        return []
    shown = [field for each in forms_of(response) for field in each.controls]
    typed = {field.name for field in shown if field.value == REFUSED}
    ticked = {(field.name, field.value) for field in shown if "checked" in field.attributes}
    boxes = [
        field for field in form.controls if field.type == "checkbox" and "disabled" not in field.attributes
    ]
    return [
        *(f"{to} forgets {name}" for name in numbers if name not in typed),
        *(f"{to} forgets a tick of {box.name}" for box in boxes if (box.name, box.value) not in ticked),
    ]


def test_a_refused_form_keeps_what_was_typed_and_ticked(collection, owner, client_of):
    made = worked(collection)
    second = config_for("openai_compatible", "m", "QuestionSelfRatedUnanswerablePromptWithChoices")
    grades(second, [(made.items["t1"][0], made.passages["d1"], 4)])
    client, lost, tried = client_of(owner), list[str](), set[str]()
    for address, _, response in Walk(client, collection.get_absolute_url()):
        for form in forms_of(response) if is_page(response) else ():
            to = form.attributes.get("hx-post") or form.attributes.get("action") or address
            if form.method == "post" and refusable(form) and to not in tried:
                tried.add(to)
                lost += submit(client, address, form)
    assert "\n".join(lost) == ""
    views = {resolve(urlsplit(to).path).view_name for to in tried}
    assert {"graders:panel-form", "campaigns:campaign-new", "submissions:call-new"} <= views
