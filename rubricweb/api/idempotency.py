"""Writes that are sent twice, as after a lost answer, are done once: the header `Idempotency-Key`."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from django.db import transaction
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from rubricweb.api.models import KEY_CHARS, KeptAnswer
from rubricweb.api.problems import RequestProblem

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

View = TypeVar("View", bound=APIView)
P = ParamSpec("P")
Write = Callable[Concatenate[View, Request, P], Response]
KEPT_FOR = dt.timedelta(days=1)
HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEY = OpenApiParameter(
    HEADER, OpenApiTypes.STR, OpenApiParameter.HEADER, description="Sent again with it, it is done once."
)
"""For the schema of a write."""


def done_once(write: Write[View, P]) -> Write[View, P]:
    """Answer a request whose key was used before as it was answered then.

    The answer is kept in the transaction of the write: both are there, or neither. Errors are not kept.
    """

    @wraps(write)
    def once(view: View, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        key = _key(request)
        if not key:
            return write(view, request, *args, **kwargs)
        digest = _digest(request)
        with transaction.atomic():
            kept, is_new = _kept(request, key, digest)
            if not is_new:
                return _again(kept, digest)
            response = write(view, request, *args, **kwargs)
            _keep(kept, response)
        return response

    return once


def uploaded_once(write: Write[View, P]) -> Write[View, P]:
    """As `done_once`, for writes that take a file: outside of a transaction, so that nobody waits for it.

    A request with the key of one that is still being worked on is answered with 409. If the server stops
    before it has answered, the key stays in use.
    """

    @wraps(write)
    def once(view: View, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        key = _key(request)
        if not key:
            return write(view, request, *args, **kwargs)
        digest = _digest(request)
        kept, is_new = _kept(request, key, digest)
        if not is_new:
            return _again(kept, digest)
        try:
            response = write(view, request, *args, **kwargs)
        except BaseException:
            kept.delete()
            raise
        _keep(kept, response)
        return response

    return once


def _key(request: Request) -> str:
    key = request.headers.get(HEADER, "")
    if len(key) > KEY_CHARS:
        raise RequestProblem(HTTPStatus.BAD_REQUEST, f"An {HEADER} has at most {KEY_CHARS} characters.")
    return key


def _kept(request: Request, key: str, digest: str) -> tuple[KeptAnswer, bool]:
    """Return the row of this key, and whether it is new; of two at once the second waits for the first."""
    person = cast("User", request.user)
    KeptAnswer.objects.filter(user=person, at__lt=timezone.now() - KEPT_FOR).delete()
    return KeptAnswer.objects.get_or_create(user=person, key=key, defaults={"request_digest": digest})


def _again(kept: KeptAnswer, digest: str) -> Response:
    if kept.request_digest != digest:
        raise RequestProblem(HTTPStatus.UNPROCESSABLE_ENTITY, f"This {HEADER} was sent with another request.")
    if not kept.status:
        raise RequestProblem(HTTPStatus.CONFLICT, f"A request with this {HEADER} is being worked on.")
    return Response(kept.body, kept.status, headers={**kept.headers, REPLAYED: "true"})


def _keep(kept: KeptAnswer, response: Response) -> None:
    kept.status, kept.body = response.status_code, _plain(response)
    kept.headers = {name: response[name] for name in ("ETag", "Location") if name in response}
    kept.save(update_fields=["status", "body", "headers"])


def _plain(response: Response) -> Any:
    return None if response.data is None else dict(response.data)


def _digest(request: Request) -> str:
    parts = (request.method or "", request.get_full_path(), repr(request.data))
    digest = hashlib.sha256("\n".join(parts).encode())
    for _, files in sorted(request.FILES.lists()):
        for file in files:
            for chunk in file.chunks():
                digest.update(chunk)
            file.seek(0)
    return digest.hexdigest()
