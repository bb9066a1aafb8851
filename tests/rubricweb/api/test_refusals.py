"""Who is refused, on every operation of the OpenAPI document: one walk for tokens, one for roles."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from rubricweb.accounts.roles import Role
from rubricweb.api.models import Token
from rubricweb.api.resources import Rate
from rubricweb.api.tokens import make_token
from tests.factories import CollectionFactory, MembershipFactory
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
ALL = "/api/v1/collections/"
ONE = f"{ALL}{{slug}}/"
STEERED = {"banks/": "pause", "campaigns/": "close", "submissions/": "withdraw"} | dict.fromkeys(
    ("jobs/", "made-runs/", "steps/", "arena/judging/"), "pause"
)


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    """As the document has it."""

    def address(self, known: dict[str, Any]) -> str:
        place = self.path.removeprefix(ONE)
        steer = next((word for start, word in STEERED.items() if place.startswith(start)), "")
        return self.path.format(**{**known, "steer": steer})

    def ask(self, client: APIClient, known: dict[str, Any], **headers: str) -> int:
        """Ask without a body, and undo what it did."""
        with transaction.atomic():
            sent = getattr(client, self.method)(self.address(known), format="json", headers=headers)
            transaction.set_rollback(True)
        return sent.status_code


@pytest.fixture(scope="module")
def operations() -> list[Operation]:
    document = SchemaGenerator().get_schema(request=None, public=True)
    return [Operation(method, path) for path, methods in document["paths"].items() for method in methods]


@pytest.fixture
def known(collection, owner, assessor, settings, tmp_path, monkeypatch) -> dict[str, Any]:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(Rate, "rate", None)
    second = MembershipFactory(collection=collection, role=Role.ASSESSOR).user
    bank = world(collection, owner, second)
    return parameters(bank, assessor, blind_campaign(bank, by=owner, assignees=[assessor]))


def script(text: str) -> APIClient:
    return APIClient(headers={"Authorization": f"Bearer {text}"})


@pytest.mark.parametrize("spoilt", ["expired", "revoked", "scopeless", "of another collection"])
def test_a_token_that_is_not_good_for_it_is_refused_everywhere(spoilt, operations, known, owner):
    elsewhere = CollectionFactory(slug="spring")
    MembershipFactory(user=owner, collection=elsewhere, role=Role.ORGANIZER)
    scopes = [] if spoilt == "scopeless" else [*Token.Scope]
    token, text = make_token(
        owner, name=spoilt, scopes=scopes, days=1, collection=elsewhere if "another" in spoilt else None
    )
    now = timezone.now()
    changes = {"expired": {"expires_at": now - dt.timedelta(seconds=1)}, "revoked": {"revoked_at": now}}
    Token.objects.filter(pk=token.pk).update(**changes.get(spoilt, {"last_used_at": now}))
    status = {"scopeless": 403, "of another collection": 404}.get(spoilt, 401)
    asked = [one for one in operations if status != 404 or one.path != ALL]
    assert len(asked) > 60
    answers = {one: one.ask(script(text), known) for one in asked}
    assert {one: seen for one, seen in answers.items() if seen != status} == {}


ORDER = [Role.PARTICIPANT, Role.VIEWER, Role.ASSESSOR, Role.DEVELOPER, Role.ORGANIZER]
NEEDED = {
    Role.VIEWER: {"get *", "post jobs/plan/"},
    Role.ASSESSOR: {
        "post banks/*", "patch banks/*", "get banks/{bank_id}/items/{item_id}/what-if/", "post jobs/",
        "post ratings/", "post flags/*", "get support/next/", "post support/labels/", "post answers/",
    },
    Role.DEVELOPER: {
        "post jobs/{job_id}/{steer}/", "get arena/*", "get graded/", "post calibration/",
        "post banks/{bank_id}/versions/", "get made-runs/*", "* banks/{bank_id}/drafting/*",
    },
    Role.ORGANIZER: {
        "get campaigns/{campaign_id}/", "* campaigns/*", "* releases/*", "* imports/*", "* members/*",
        "* invitations/*", "* webhooks/*", "* calls/*", "* submissions/*", "get arena/battles/",
        "post retrieve/", "post generate/", "post rerank/", "* steps/*", "post made-runs/*",
        "get graders/rationales/", "* graders/panels/*", "* graders/chosen/", "* arena/judging/*",
    },
}  # fmt: skip
"""By the least role that may: methods and places. The last role with a pattern that fits is it."""
OPEN = {"get campaigns/"}
"""For viewers, too, whatever a wider pattern says."""
TEAMS = ("calls/", "submissions/")


def least(operation: Operation) -> Role:
    name = f"{operation.method} {operation.path.removeprefix(ONE)}"
    fitting = [role for role, patterns in NEEDED.items() if any(fnmatchcase(name, one) for one in patterns)]
    return Role.VIEWER if name in OPEN else fitting[-1]


def expected(operation: Operation, role: Role) -> str:
    """What a member of this role is told, without a body and with a version that may be outdated."""
    if role is Role.PARTICIPANT:
        return "anything" if operation.path.removeprefix(ONE).startswith(TEAMS) else "nothing there"
    return "let in" if role.includes(least(operation)) else "forbidden"


def told(operation: Operation, status: int, wanted: str) -> str:
    """What the answer says; of a file or panel that the world has not, what was to be said of it."""
    if status == 404 and wanted == "let in" and operation.path.endswith(("/file/", "/combine/")):
        return wanted
    return {403: "forbidden", 404: "nothing there"}.get(status, "let in")


@pytest.mark.parametrize("role", ORDER)
def test_each_role_reaches_what_its_pages_let_it_do(role, operations, known, collection):
    team = "maple" if role is Role.PARTICIPANT else ""
    person = MembershipFactory(collection=collection, role=role, team=team).user
    client = script(make_token(person, name="role", scopes=Token.Scope, days=1)[1])
    wrong = {}
    for one in operations:
        if one.path in (ALL, f"{ONE}events/"):
            continue
        wanted = expected(one, role)
        seen = told(one, one.ask(client, known, **{"If-Match": '"1"'}), wanted)
        if wanted not in ("anything", seen):
            wrong[one.method, one.path] = seen
    assert wrong == {}


LIMIT = 1_000
BODIES = {
    "large JSON": ("application/json", b'{"text": "' + b"x" * LIMIT + b'"}'),
    "broken JSON": ("application/json", b'{"text": '),
    "large form": ("application/x-www-form-urlencoded", b"text=" + b"x" * LIMIT),
    "large multipart": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + b"x" * 2 * LIMIT + b"\r\n--b--\r\n",
    ),
    "another type": ("application/x-unknown", b"x"),
}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("by_token", [True, False])
def test_every_refusal_of_a_body_is_a_problem_document(
    kind, by_token, operations, known, owner, settings, client_of
):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = LIMIT
    content_type, body = BODIES[kind]
    _, text = make_token(owner, name="script", scopes=Token.Scope, days=1)
    client = script(text) if by_token else client_of(owner)
    statuses = set()
    for operation in operations:
        if operation.method == "get":
            continue
        with transaction.atomic():
            answer = client.generic(
                operation.method.upper(),
                operation.address(known),
                body,
                content_type,
                headers={"If-Match": '"1"'},
            )
            transaction.set_rollback(True)
        if answer.status_code >= 400:
            assert answer["Content-Type"] == "application/problem+json", (operation, answer.status_code)
            assert answer.json()["status"] == answer.status_code
            statuses.add(answer.status_code)
    expected_status = {"broken JSON": 400, "another type": 415, "large form": 415}.get(kind, 413)
    assert expected_status in statuses


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("get", "/api/v2/", 404), ("get", f"{ALL}nowhere/", 404), ("get", "/api/v1/nowhere/", 404),
     ("put", ALL, 405), ("delete", "/api/v1/openapi.json", 405)],
)  # fmt: skip
def test_refusal_of_an_address_is_a_problem_document(method, path, status, owner):
    _, text = make_token(owner, name="script", scopes=Token.Scope, days=1)
    answer = getattr(script(text), method)(path)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")


def test_browser_without_its_token_is_told_so_by_a_problem_document(owner, collection):
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    answer = browser.post(f"{ALL}{collection.slug}/flags/", {}, format="json")
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")


def test_fault_of_ours_is_a_problem_document_with_its_reference(owner, collection, monkeypatch):
    def broken(*args: object) -> None:
        raise KeyError("a topic that is gone")

    monkeypatch.setattr("rubricweb.api.resources.collection_for", broken)
    _, text = make_token(owner, name="script", scopes=Token.Scope, days=1)
    client = script(text)
    client.raise_request_exception = False
    answer = client.get(f"{ALL}{collection.slug}/topics/")
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert answer["X-Request-Reference"] in answer.json()["detail"]


@pytest.mark.parametrize("depth", [101, 900, 50_000])
def test_a_body_that_is_nested_without_end_is_refused(operations, collection, owner, known, depth):
    """By every operation that takes JSON, before anything looks into it."""
    client, answers = APIClient(raise_request_exception=False), {}
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    taking = [one for one in operations if one.method != "get"]
    for body in ('{"a":' * depth + "1" + "}" * depth, "[" * depth + "]" * depth):
        for one in taking:
            with transaction.atomic():
                sent = client.generic(one.method.upper(), one.address(known), body, "application/json")
                transaction.set_rollback(True)
            answers[one.method, one.path] = sent.status_code
    assert {place: status for place, status in answers.items() if status >= 500} == {}
    assert list(answers.values()).count(400) > 20
