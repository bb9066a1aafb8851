"""The Undo button of the toast of an answer, pressed."""

from __future__ import annotations

import re
from html import unescape

from django.http import HttpResponse
from django.test import Client

HTMX = {"HX-Request": "true"}
_FORM = re.compile(r'<div class="toast".*?<form(.*?)>(.*?)</form>', re.DOTALL)
_FIELD = re.compile(r'<input\s+type="hidden"\s+name="(\w+)"\s+value="([^"]*)"')


def undo_form(answer: HttpResponse) -> tuple[dict[str, str], dict[str, str]]:
    """Return the attributes of the toast's form, and its fields without the CSRF token."""
    form = _FORM.search(answer.content.decode())
    assert form, "no toast with an Undo button"
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', unescape(form[1])))
    fields = {name: unescape(value) for name, value in _FIELD.findall(form[2])}
    fields.pop("csrfmiddlewaretoken")
    return attributes, fields


def press_undo(client: Client, answer: HttpResponse) -> HttpResponse:
    """Send the form of the toast as the page would: by htmx if it has a target, else as a plain form."""
    attributes, fields = undo_form(answer)
    if "hx-post" not in attributes:
        return client.post(attributes["action"], fields, follow=True)
    headers = HTMX | {"HX-Target": attributes["hx-target"].removeprefix("#")}
    return client.post(attributes["hx-post"], fields, headers=headers)
