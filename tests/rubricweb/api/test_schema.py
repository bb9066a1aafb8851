"""The OpenAPI document: valid, complete, and the same as what is sent."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.urls import reverse
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from rubricweb.api.resources import ListResource, columns
from rubricweb.api.urls import V1, urlpatterns


@pytest.fixture(scope="module")
def schema():
    GENERATOR_STATS.reset()
    made = SchemaGenerator().get_schema(request=None, public=True)
    warnings = [
        text for stats in (GENERATOR_STATS._warn_cache, GENERATOR_STATS._error_cache) for text in stats
    ]
    assert warnings == []
    return made


def test_it_is_valid_and_names_every_address(schema):
    validate_schema(schema)
    routes = {str(route.pattern) for route in urlpatterns if str(route.pattern).startswith(V1)}
    assert len(schema["paths"]) == len(routes) - 1, "all but the document itself"


def test_the_help_names_every_address(schema):
    text = (settings.BASE_DIR / "docs/help/programs.md").read_text()
    of_collection = f"/{V1}collections/{{slug}}/"
    named = {path.removeprefix(of_collection) or of_collection for path in schema["paths"]}
    missing = {path for path in named if f"`{path}`" not in text} - {of_collection}
    assert missing == set()


def test_every_operation_says_who_may_and_what_comes_back(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], (path, method)
            assert 5 < len(operation["summary"]) < 64, (path, method)
            assert {"token": []} in operation["security"]
            assert operation["responses"]


def test_summaries_tell_operations_apart_and_answers_have_types(schema):
    operations = [one for path in schema["paths"].values() for one in path.values()]
    summaries = [one["summary"] for one in operations]
    assert sorted(set(summaries)) == sorted(summaries)
    untyped = {"type": "object", "additionalProperties": {}}
    answers = [answer for one in operations for answer in one["responses"].values()]
    kinds = [kind["schema"] for one in answers for kind in one.get("content", {}).values()]
    assert untyped not in kinds


@pytest.mark.django_db
def test_every_list_names_columns(schema):
    views = [route.callback.view_class for route in urlpatterns if hasattr(route.callback, "view_class")]
    lists = [view for view in views if issubclass(view, ListResource)]
    assert len(lists) > 8
    for view in lists:
        assert columns(view.serializer_class)


@pytest.mark.django_db
def test_the_documentation_has_nothing_that_the_content_policy_refuses(client_of, viewer):
    page = client_of(viewer).get(reverse("api:docs")).content.decode()
    assert '<div id="swagger-ui">' in page
    assert "<style" not in page
    assert re.search(r"<script(?! id=\"texts\" type=\"application/json\")[^>]*>[^<]", page) is None
