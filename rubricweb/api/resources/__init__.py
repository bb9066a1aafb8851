"""What every resource is made of: its collection, lists in pages of plain rows, writes done once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from itertools import islice
from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.text import compress_sequence
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.throttling import UserRateThrottle
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.api.models import Token
from rubricweb.api.requests import RequestProblem
from rubricweb.api.schema import LINES
from rubricweb.core.http import parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection

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

STREAMED = 2_000
"""Rows read at a time."""
IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    required=True,
    description='The version that you have seen, as its `ETag`: `"3"`. Of another version: 412, with both.',
)


class KeysetPages(BasePagination):
    """`{"items": […], "next_cursor": …}`, with `total` where it is asked for."""

    def paginate_queryset(  # type: ignore[override]  # of rows of the database alone
        self, queryset: QuerySet[Any], request: Request, view: APIView | None = None
    ) -> list[Any]:
        """Return a page of `queryset`, whose rows are tuples that begin with the primary key."""
        limit = limit_of(request)
        rows = list(after_cursor(queryset, request)[: limit + 1])
        is_counted = request.query_params.get("total", "").lower() in ("1", "true")
        self.total = queryset.count() if is_counted else None
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


Row = dict[str, Any]  # a row of a list, by the names of its serializer's fields


class Rate(UserRateThrottle):
    """Requests a minute of one person, counted by each web process for itself."""

    rate = "1200/min"


class AnyMedia(JSONRenderer):
    """For views that send files, whatever media type is asked for. Errors are JSON."""

    media_type = "*/*"


class JsonLines(BaseRenderer):
    """One JSON document a line, for lists as long as they are."""

    media_type = LINES
    format = "jsonl"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """Return an error as one line."""
        return _line(data)


def _line(document: object) -> bytes:
    text: str = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode(document)
    return text.encode() + b"\n"


class Resource(APIView):
    """A resource of a collection. `scopes` names what a token needs by method; reading needs `read`."""

    scopes: ClassVar[Mapping[str, Token.Scope]] = {}
    throttle_classes = (Rate,)
    role: roles.Role | None = None
    """The person's in the collection, once `collection` has returned it."""

    @property
    def person(self) -> User:
        return cast("User", self.request.user)  # HasScope lets nobody else in

    def collection(self, *, needed: roles.Role = roles.TO_VIEW) -> Collection:
        """Return the collection of the address. Outsiders, and tokens of another collection, get 404."""
        collection = collection_for(self.person, self.kwargs["slug"], needed=needed)
        if limited_to(self.request) not in (None, collection.pk):
            raise Http404("This token is for another collection.")
        self.role = roles.role_of(self.person, collection)
        return collection

    def fields(self, serializer: type[Serializer[Any]]) -> Row:
        """Return what the request's body says. Raises ValidationError."""
        given = serializer(data=self.request.data)
        given.is_valid(raise_exception=True)
        fields: Row = given.validated_data
        return fields


@extend_schema(exclude=True)
class NotHere(APIView):
    """Answers addresses below the API's that lead nowhere as the others answer: by a problem document."""

    throttle_classes = (Rate,)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404


def limited_to(request: Request) -> int | None:
    """Return the only collection that the request's token opens, by its primary key; None for all."""
    token = request.auth
    return token.collection_id if isinstance(token, Token) else None


class ListResource(Resource):
    """A list of plain rows, in pages, or as one JSON document a line.

    The serializer only describes a row: each field is a column, which its `source` names with dots.
    """

    renderer_classes = (JSONRenderer, JsonLines)
    pagination_class = KeysetPages
    serializer_class: type[Serializer[Any]]

    def rows(self) -> QuerySet[Any]:
        """Return the rows that the reader may see."""
        raise NotImplementedError

    def adjusted(self, rows: list[Row]) -> list[Row]:
        """Change what columns alone do not say, such as pseudonyms."""
        return rows

    def get(self, request: Request, **_: object) -> HttpResponseBase:
        rows = self.rows().values_list(*columns(self.serializer_class).values())
        if isinstance(request.accepted_renderer, JsonLines):
            return self._lines(after_cursor(rows, request), request)
        pages = self.pagination_class()
        return pages.get_paginated_response(self._named(pages.paginate_queryset(rows, request, self)))

    def _lines(self, rows: QuerySet[Any], request: Request) -> StreamingHttpResponse:
        lines: Iterable[bytes] = (_line(row) for row in self._in_portions(rows))
        headers = {}
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            lines, headers = compress_sequence(lines), {"Content-Encoding": "gzip"}
        response = StreamingHttpResponse(lines, content_type=JsonLines.media_type, headers=headers)
        patch_vary_headers(response, ["Accept", "Accept-Encoding"])
        return response

    def _in_portions(self, rows: QuerySet[Any]) -> Iterator[Row]:
        cursor = rows.iterator(chunk_size=STREAMED)
        while portion := list(islice(cursor, STREAMED)):
            yield from self._named(portion)

    def _named(self, rows: Iterable[tuple[Any, ...]]) -> list[Row]:
        names = [*columns(self.serializer_class)]
        return self.adjusted([dict(zip(names, row, strict=True)) for row in rows])


def columns(serializer: type[Serializer[Any]]) -> dict[str, str]:
    """Return the columns of a row for `QuerySet.values_list`, by the names of its fields; `pk` first."""
    fields = serializer().get_fields()
    return {name: (field.source or name).replace(".", "__") for name, field in fields.items()}


def seen_version(request: Request) -> int:
    """Return the version that the writer has seen. Raises RequestProblem (428) without one."""
    seen = parse_id(request.headers.get("If-Match", "").removeprefix("W/").strip('"'))
    if not seen:
        text = 'Name the version that you have seen, as its ETag: If-Match: "3".'
        raise RequestProblem(HTTPStatus.PRECONDITION_REQUIRED, text)
    return seen


def require_valid(form: BaseForm) -> None:
    """Raise ValidationError with what is wrong, by the names of the form's fields."""
    if not form.is_valid():
        raise ValidationError({name: [*map(str, errors)] for name, errors in form.errors.items()})


def made(document: object, status: HTTPStatus, route: str, *args: object) -> Response:
    """Answer with the document of what a request made, and its address: a route of the API."""
    return Response(document, status, headers={"Location": reverse(f"api:{route}", args=args)})


def documents(serializer: type[Serializer[Any]], rows: Iterable[object]) -> list[Row]:
    """Return each row as the serializer writes it."""
    return [serializer(row).data for row in rows]
