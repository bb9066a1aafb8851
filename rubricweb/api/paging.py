"""Lists in pages by keyset: a page begins after a row, so that it costs the same however far along it is."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from rubricweb.core.http import parse_id

Schema = dict[str, Any]  # a part of an OpenAPI document
DEFAULT_LIMIT = 100
MOST = 10_000
PARAMETERS: list[Schema] = [
    {
        "name": "limit",
        "in": "query",
        "description": f"Rows a page, up to {MOST:,}.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT},
    },
    {
        "name": "cursor",
        "in": "query",
        "description": "`next_cursor` of the page before.",
        "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    },
    {
        "name": "total",
        "in": "query",
        "description": "Count all rows, too; a large list takes its time.",
        "schema": {"type": "boolean", "default": False},
    },
]


class KeysetPages(BasePagination):
    """`{"items": […], "next_cursor": …}`, with `total` where it is asked for."""

    def paginate_queryset(  # type: ignore[override]  # of rows of the database alone
        self, queryset: QuerySet[Any], request: Request, view: APIView | None = None
    ) -> list[Any]:
        """Return a page of `queryset`, whose rows are tuples that begin with the primary key."""
        limit = limit_of(request)
        rows = list(after_cursor(queryset, request)[: limit + 1])
        self.total = queryset.count() if _is_asked(request, "total") else None
        self.next_cursor = str(rows[limit - 1][0]) if len(rows) > limit else None
        return rows[:limit]

    def get_paginated_response(self, data: Any) -> Response:
        counted = {} if self.total is None else {"total": self.total}
        return Response({"items": data, "next_cursor": self.next_cursor, **counted})

    def get_paginated_response_schema(self, schema: Schema) -> Schema:
        return {
            "type": "object",
            "required": ["items", "next_cursor"],
            "properties": {
                "items": schema,
                "next_cursor": {"type": "string", "nullable": True},
                "total": {"type": "integer"},
            },
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[Schema]:
        return PARAMETERS


def after_cursor(rows: QuerySet[Any], request: Request) -> QuerySet[Any]:
    """Return the rows after the request's cursor, in the order of their ids."""
    cursor = request.query_params.get("cursor", "")
    ordered = rows.order_by("pk")
    if not cursor:
        return ordered
    after = parse_id(cursor)
    if not after:
        raise ValidationError({"cursor": ["A cursor is a `next_cursor` of an earlier page."]})
    return ordered.filter(pk__gt=after)


def limit_of(request: Request) -> int:
    text = request.query_params.get("limit", str(DEFAULT_LIMIT))
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= MOST):
        raise ValidationError({"limit": [f"A number from 1 to {MOST:,}."]})
    return int(text)


def _is_asked(request: Request, name: str) -> bool:
    return request.query_params.get(name, "").lower() in ("1", "true")
