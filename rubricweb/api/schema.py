"""What the OpenAPI document says that the code does not."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class ResourceSchema(AutoSchema):
    """What is described of a resource: a GET of a `ListResource` gives pages of its rows."""

    def _is_list_view(self, serializer: Any = None) -> bool:
        from rubricweb.api.base import ListResource

        return isinstance(self.view, ListResource) and self.method == "GET"


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How scripts sign in."""

    target_class = "rubricweb.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "rw_<prefix>_<secret>"}


class BrowserScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the pages of the documentation do."""

    target_class = "rubricweb.api.authentication.BrowserAuthentication"
    name = "browser"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
