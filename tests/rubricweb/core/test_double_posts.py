"""Every form of every page is sent twice, as by a second click: what it makes is made once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client
from django.urls import resolve

from rubricweb.accounts.roles import Role
from tests.factories import MembershipFactory, UserFactory
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

NOT_COUNTED = {"core.AuditEntry", "api.KeptAnswer", "axes.AccessLog", "axes.AccessAttempt"}
VALUES = {
    "number": "1",
    "url": "https://hooks.example.org/",
    "email": "ana@example.org",
    "datetime-local": "2026-12-01T10:00",
    "date": "2026-12-01",
}
FILE = "\0"
"""The value of a field for a file."""
LEFT_OUT = {"accounts:logout"}
"""It ends the session of the test."""


@dataclass
class Form:
    page: str
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)
    """Action, name and value."""


class Forms(HTMLParser):
    """The forms of a page that are sent by POST, filled in as somebody would who leaves the defaults."""

    def __init__(self, page: str, *, fills: bool) -> None:
        """With `fills`, fields that may be empty have something in them too."""
        super().__init__()
        self.page, self.fills = page, fills
        self.forms: list[Form] = []
        self.by_id: dict[str, Form] = {}
        self.here: Form | None = None
        self.select = self.area = ""
        self.options: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method", "").lower() == "post":
            self.here = Form(self.page, given.get("action") or self.page)
            self.forms.append(self.here)
            self.by_id[given.get("id", "")] = self.here
        form = self.by_id.get(given["form"]) if "form" in given else self.here
        if form is None:
            return
        if tag == "button" or given.get("type") == "submit":
            address = given.get("formaction") or form.action
            form.buttons.append((address, given.get("name", ""), given.get("value", "")))
        elif name := given.get("name", ""):
            self._field(form, tag, name, given)
        elif tag == "option" and self.select:
            self.options.append((given.get("value", ""), "selected" in given))

    def _field(self, form: Form, tag: str, name: str, given: dict[str, str]) -> None:
        kind = given.get("type", "text")
        if tag == "select":
            self.select, self.options = name, []
        elif tag == "textarea":
            self.area = name
        elif kind in ("checkbox", "radio"):
            if "checked" in given or (self.fills and name not in dict(form.fields)):
                form.fields.append((name, given.get("value", "on")))
        elif kind == "file":
            form.fields.append((name, FILE))
        else:
            filled = VALUES.get(kind, "words") if self.fills or "required" in given else ""
            form.fields.append((name, given.get("value") or filled))

    def handle_data(self, data: str) -> None:
        if self.area and self.here:
            self.here.fields.append((self.area, data.strip() or "Why do leaves turn red?"))
            self.area = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.here = None
        if tag == "select" and self.select and self.here and self.options:
            chosen = [value for value, is_chosen in self.options if is_chosen]
            offered = [value for value, _ in self.options if value]
            self.here.fields.append((self.select, (chosen or offered or [""])[0]))
        if tag == "select":
            self.select = ""


Fields = dict[str, list[str]]


def sendings(client: Client, known: dict[str, object]) -> Iterator[tuple[str, str, Fields]]:
    """Route, address and fields of each way to send a form, one for each route and choice of fields."""
    seen = set()
    for route in readable_routes():
        address = route.address(known)
        response = client.get(address)
        if response.status_code != 200 or not response.get("Content-Type", "").startswith("text/html"):
            continue
        for fills in (False, True):
            page = Forms(address, fills=fills)
            page.feed(response.content.decode())
            for action, fields in (one for form in page.forms for one in ways(form)):
                target = resolve(urlsplit(action).path).view_name
                key = (target, *sorted((name, bool(texts[0])) for name, texts in fields.items()))
                if target not in LEFT_OUT and key not in seen:
                    seen.add(key)
                    yield target, action, fields


def ways(form: Form) -> Iterator[tuple[str, Fields]]:
    """Where each button of a form sends what."""
    for action, name, value in form.buttons or [(form.action, "", "")]:
        fields: Fields = {}
        for one, text in [*form.fields, *([(name, value)] if name else [])]:
            fields.setdefault(one, []).append(text)
        yield action, fields


def filled(fields: Fields) -> dict[str, object]:
    """The fields with files, which are read anew each time."""
    return {
        name: SimpleUploadedFile("t1.tsv", b"t1\twhy do leaves turn red\n") if texts == [FILE] else texts
        for name, texts in fields.items()
    }


def rows() -> dict[str, int]:
    """The number of rows of each table, read by one query."""
    models = [model for model in apps.get_models() if model.__module__.startswith("rubricweb.")]
    counted = [model for model in models if model._meta.label not in NOT_COUNTED]
    numbers = ", ".join(f'(SELECT count(*) FROM "{model._meta.db_table}")' for model in counted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {numbers}")
        return dict(zip((model._meta.label for model in counted), cursor.fetchone(), strict=True))


@pytest.fixture
def known(collection, owner, assessor, settings, tmp_path) -> dict[str, object]:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    second = MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user
    bank = world(collection, owner, second)
    campaign = blind_campaign(bank, by=owner, assignees=(assessor, second))  # the owner may see all grades
    return parameters(bank, assessor, campaign)


MADE = {
    *("api:tokens", "arena:ask", "graders:calibrate", "campaigns:campaign-new", "corpus:invitations"),
    *("corpus:member", "imports:imports", "imports:new-collection", "releases:share", "graders:attempt"),
    *("archives:restore", "submissions:submit"),
    *("review:subject-flags", "submissions:call-new", "webhooks:webhooks"),
}
"""Routes whose forms must have made something, or the walk has not tried them."""


def test_a_form_that_is_sent_twice_makes_what_it_makes_once(known, owner, settings, client_of):
    owner.is_staff = True
    owner.save()
    client, made, twice = client_of(owner), set(), {}
    for route, address, fields in sendings(client, known):
        with transaction.atomic():
            counts = [rows()]
            for _ in range(2):
                client.post(address, filled(fields))
                counts.append(rows())
            transaction.set_rollback(True)
        for folder in settings.DATA_DIR.iterdir():  # of rows whose keys are used again
            shutil.rmtree(folder)
        before, first, second = counts
        if any(first[label] > before[label] for label in first):
            made.add(route)
        if again := {label: second[label] - first[label] for label in first if second[label] > first[label]}:
            twice[route] = again
    assert {route: sorted(labels) for route, labels in twice.items()} == {}
    assert made >= MADE
