"""Every operation, asked by schemathesis with whatever its OpenAPI description allows.

No answer is an error of the server, and each is as the document says: its status, headers, media type and
body. Each example is undone, and the examples are the same every time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, checks

from rubricweb.accounts.roles import Role
from rubricweb.api.models import Token
from rubricweb.api.resources import Rate
from rubricweb.api.tokens import make_token
from tests.factories import MembershipFactory
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
UNENDING = "/api/v1/collections/{slug}/events/"
STEADY = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def known(collection, owner, assessor, settings, tmp_path) -> dict[str, Any]:
    """Values of the parameters and fields of the API, by their names, of rows that there are."""
    settings.DATA_DIR = tmp_path
    second = MembershipFactory(collection=collection, role=Role.ASSESSOR).user
    bank = world(collection, owner, second)
    there = parameters(bank, assessor, blind_campaign(bank, by=owner))
    topic = collection.topics.get(pk=there["topic_id"])
    named = {"topic": topic.query_id, "bank": bank.pk, "item": there["item_id"], "text": "Which?", "wait": 0}
    grader = there["grade_id"] and bank.collection.jobs.first().config_id
    return {**there, **named, "passage": there["passage_id"], "grader": grader, "If-Match": '"1"'}


def hinted(document: dict[str, Any], known: Mapping[str, Any], *, in_bodies: bool) -> dict[str, Any]:
    """The document, with the values that there are for addresses, and for bodies where that is asked for."""
    made = deepcopy(document)
    operations = [one for methods in made["paths"].values() for one in methods.values()]
    for part in (part for one in operations for part in one.get("parameters", ())):
        if part["name"] in known and part["in"] in ("path", "header"):
            part["schema"] = _just(known[part["name"]], part["schema"])
    bodies = " ".join(str(one.get("requestBody", "")) for one in operations)
    for name, component in made["components"]["schemas"].items() if in_bodies else ():
        if f"schemas/{name}'" in bodies:
            properties = component["properties"]
            properties |= {
                field: _just(known[field], described)
                for field, described in properties.items()
                if field in known
            }
    return made


def _just(value: object, described: dict[str, Any]) -> dict[str, Any]:
    return {"enum": [str(value) if described.get("type") == "string" else value]}


@pytest.fixture
def asked(known) -> Callable[..., dict[str, set[int]]]:
    """`asked(headers, 5, in_bodies=True)`: ask each operation so often; the statuses that came back."""
    document = SchemaGenerator().get_schema(request=None, public=True)

    def ask(headers: Mapping[str, str], examples: int, *, in_bodies: bool) -> dict[str, set[int]]:
        fuzzed = schemathesis.openapi.from_dict(hinted(document, known, in_bodies=in_bodies))
        fuzzed.app = get_wsgi_application()
        fuzzed.config.update(base_url="http://testserver")
        statuses: dict[str, set[int]] = {}
        for result in fuzzed.get_all_operations():
            operation = result.ok()
            if operation.path != UNENDING:
                statuses[operation.label] = _ask(operation, headers, examples)
        return statuses

    return ask


def _ask(operation: Any, headers: Mapping[str, str], examples: int) -> set[int]:
    statuses = set()

    @settings(STEADY, max_examples=examples)
    @given(case=operation.as_strategy())
    def once(case: Case) -> None:
        with transaction.atomic():
            response = case.call(headers=dict(headers))
            transaction.set_rollback(True)
        case.validate_response(response, checks=CHECKS)
        statuses.add(response.status_code)

    once()
    return statuses


@pytest.fixture(autouse=True)
def in_this_transaction(monkeypatch):
    """Requests share the test's connection, and nobody counts them."""
    monkeypatch.setattr(Rate, "rate", None)
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def token(owner) -> dict[str, str]:
    _, text = make_token(owner, name="fuzzed", scopes=Token.Scope, days=1)
    return {"Authorization": f"Bearer {text}", "Accept-Encoding": "identity"}


def test_an_organizer_finds_no_error_with_rows_that_there_are(asked, token):
    statuses = asked(token, 4, in_bodies=True)
    assert len(statuses) > 60
    reached = {label for label, seen in statuses.items() if seen & {200, 201, 202, 204}}
    assert len(reached) > 50


def test_an_organizer_finds_no_error_with_any_body(asked, token):
    asked(token, 3, in_bodies=False)


def test_nobody_without_a_token_is_let_in(asked):
    assert {status for seen in asked({}, 1, in_bodies=True).values() for status in seen} <= {401, 400}
