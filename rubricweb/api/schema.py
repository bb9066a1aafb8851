"""What the OpenAPI document says that the code does not."""

from __future__ import annotations

import inspect
import re
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from rubricweb.core.errors import PROBLEM

LINES = "application/x-ndjson"


class ProblemSerializer(serializers.Serializer[Any]):
    """An error (RFC 9457). Some have further members."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = serializers.JSONField(  # type: ignore[assignment]  # the metaclass takes fields away
        required=False, help_text="What is wrong, by the names of fields."
    )


class ResourceSchema(AutoSchema):
    """What is described of a resource: a GET of a `ListResource` gives pages of its rows, or lines.

    Whatever else an operation answers, a refusal is a problem document.
    """

    def get_summary(self) -> str:
        """Return the docstring of the method; of a list, what its resource lists."""
        if self._is_list_view():
            first = re.split(r"[.,;:] ?", inspect.cleandoc(type(self.view).__doc__ or ""), maxsplit=1)[0]
            return f"List {first[:1].lower()}{first[1:]}".rstrip(".")
        return inspect.cleandoc(getattr(self.view, self.method.lower()).__doc__ or "").rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]  # as drf-spectacular calls it
        """Return the docstring of the resource, which all its methods share."""
        return inspect.cleandoc(type(self.view).__doc__ or "")

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        refusal = self._get_response_for_code(  # type: ignore[no-untyped-call]
            ProblemSerializer, "4XX", media_types=[PROBLEM], direction=direction
        )
        if direction == "response" and self._is_list_view():
            bodies["200"]["content"][LINES] = {"schema": {"type": "string", "description": "A row a line."}}
        return bodies | {"4XX": refusal}

    def _is_list_view(self, serializer: Any = None) -> bool:
        from rubricweb.api.resources import ListResource

        is_listing = isinstance(self.view, ListResource) and self.method == "GET"
        return is_listing or isinstance(serializer, serializers.ListSerializer)


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How scripts sign in."""

    target_class = "rubricweb.api.tokens.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "rw_<prefix>_<secret>"}


class BrowserScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the pages of the documentation do."""

    target_class = "rubricweb.api.tokens.BrowserAuthentication"
    name = "browser"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
