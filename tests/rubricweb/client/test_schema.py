"""The client and the OpenAPI document say the same: every address has a call, every row its fields."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_type_hints, is_typeddict

import httpx
import pytest
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator

from rubricweb.api.urls import V1, urlpatterns
from rubricweb.client import AsyncClient, Client, ClientError, calls, panel_calls
from rubricweb.client.core import Rows

WITHOUT_CALL_NAMES = {
    "DELETE": "import invitation member release webhook",
    "GET": """
        arena-battles arena-board arena-votes calibration-card calibration-cards calls
        chosen-grader draft-job draft-jobs events flag graded invitations judge-job judge-jobs made-run
        made-runs members rationales step submission-file
        support-answer-labels support-labels support-model-labels support-next webhook
        webhook-messages webhooks
    """,
    "PATCH": "draft-job judge-job webhook",
    "PUT": "chosen-grader",
    "POST": """
        calibration-cards campaign-plan campaign-steer campaigns draft-job-steer draft-jobs
        draft-plan flag-events flags generate invitations judge-job-steer judge-jobs judge-plan
        made-run-plan made-run-steer made-runs
        members releases rerank retrieve step-steer submission-steer versions support-labels webhook-act
        webhook-replay webhook-secret webhooks
    """,
}
WITHOUT_CALL = {(method, name) for method, names in WITHOUT_CALL_NAMES.items() for name in names.split()}
"""(method, name of the route): what scripts reach by `Client.request` alone."""
ITEM = {"id": 4, "version": 1}
EXAMPLES: dict[str, Any] = {
    "slug": "autumn",
    "topic_id": 1,
    "passage_id": 2,
    "bank_id": 3,
    "item_id": 4,
    "job_id": 5,
    "steer": "pause",
    "topic": "t1",
    "kind": "question",
    "text": "Which?",
    "importance": "vital",
    "passage": 2,
    "rating": 3,
    "first": "alpha",
    "second": "beta",
    "import_id": 6,
    "file_id": 11,
    "campaign_id": 7,
    "submission_id": 8,
    "release_id": 9,
    "call_id": 10,
    "path": __file__,
    "members": [1, 2],
    "panel_id": 12,
}
CALLS = {
    name: call
    for module in (calls, panel_calls)
    for name, call in vars(module).items()
    if inspect.isfunction(call) and call.__module__ == module.__name__ and not name.startswith("_")
}


def arguments(name: str) -> dict[str, Any]:
    """An example of each parameter that has to be given."""
    given = {**EXAMPLES, "item": 4 if name == "rate" else ITEM}
    parameters = inspect.signature(CALLS[name]).parameters.values()
    needed = [
        one
        for one in parameters
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    return {one.name: given[one.name] for one in needed}


@pytest.fixture(scope="module")
def sent() -> dict[str, tuple[str, str]]:
    """By call: the method, and the name of the route."""
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(404)

    found = {}
    with Client("http://testserver", "rw_1_2", transport=httpx.MockTransport(reply)) as client:
        for name in CALLS:
            if name == "request":
                continue
            with pytest.raises(ClientError):
                next(getattr(client, name)(**arguments(name)))
            found[name] = (seen[-1].method, resolve(seen[-1].url.path).url_name)
    return found


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    made = SchemaGenerator().get_schema(request=None, public=True)
    assert made is not None
    return made


def operations(schema) -> dict[tuple[str, str], dict[str, Any]]:
    """By method and name of the route."""
    names = {str(route.pattern): route.name for route in urlpatterns}
    by_path = {}
    for path, methods in schema["paths"].items():
        shape = path.removeprefix(f"/{V1}")
        pattern = next(
            name for text, name in names.items() if text.startswith(V1) and _shape(text) == _shape(shape)
        )
        by_path |= {(method.upper(), pattern): operation for method, operation in methods.items()}
    return by_path


def _shape(path: str) -> list[str]:
    parts = path.removeprefix(V1).strip("/").split("/")
    return ["*" if part[:1] in ("<", "{") else part for part in parts]


def test_every_operation_has_a_call_or_is_listed_as_without(sent, schema):
    assert set(operations(schema)) - WITHOUT_CALL == set(sent.values())


def test_rows_have_the_fields_of_the_document(sent, schema):
    by_route, checked = operations(schema), 0
    for name, route in sent.items():
        row = returned(name)
        described = properties(schema, by_route[route])
        if is_typeddict(row) and described:
            assert set(get_type_hints(row)) == described, name
            checked += 1
    assert checked > 20


def returned(name: str) -> Any:
    """The type of a call's result, or of a listing's rows."""
    hint = get_type_hints(CALLS[name])["return"]
    steps, _, result = get_args(hint)
    rows = [get_args(one) for one in get_args(steps) if getattr(one, "__origin__", None) is Rows]
    return rows[0][0] if rows else result


def properties(schema: dict[str, Any], operation: dict[str, Any]) -> set[str]:
    """The names in the document of an answer, of a row where it is a page."""
    answer = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    described = _resolved(schema, answer["content"].get("application/json", {}).get("schema", {}))
    if "items" in described.get("properties", {}) and "next_cursor" in described["properties"]:
        described = _resolved(schema, described["properties"]["items"]["items"])
    return set(described.get("properties", {}))


def _resolved(schema: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    name = described.get("$ref", "").rpartition("/")[2]
    return schema["components"]["schemas"][name] if name else described


def test_both_clients_have_every_call_with_its_parameters():
    for name, made in CALLS.items():
        call = inspect.signature(made)
        for client in (Client, AsyncClient):
            method = inspect.signature(getattr(client, name))
            assert [*method.parameters][1:] == [*call.parameters], name
