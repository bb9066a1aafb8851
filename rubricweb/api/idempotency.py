"""Do once what is sent twice: requests with an `Idempotency-Key`, and forms that have a key of their own.

A script sends a request again after a lost answer. A person sends a form again by a second click: a form that
makes something has `{% once %}`, whose key is kept like an Idempotency-Key, with where the first answer led.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import time
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar, cast

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from rubricweb.accounts.roles import Role
from rubricweb.api import requests, resources
from rubricweb.api.models import KEY_CHARS, KeptAnswer
from rubricweb.core.middleware import Answer
from rubricweb.core.tags import ONCE

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
"""The header in the schema of a write."""

FORM_KEY_CHARS = 64
WAITED = 20.0
"""Seconds that a second click waits for the answer to the first."""
LOOKED_EVERY = 0.1


class Upload:
    """What a write that takes a file has made so far, noted beside its key if it has one."""

    def __init__(self, kept: KeptAnswer | None = None) -> None:
        self.kept = kept

    def begin(self, row: Model) -> None:
        """Note a row that is not whole yet: whoever takes the key over has it removed."""
        self._note(begun=row.pk)

    def make(self, row: Model) -> None:
        """Note, in the transaction that makes the row whole, that it is.

        Raises RequestProblem (409) where the key was taken over meanwhile: then nothing is made.
        """
        self._note(made=row.pk)

    def _note(self, **fields: int) -> None:
        if self.kept is None:
            return
        if not _held(self.kept).update(**fields):
            raise _in_use(self.kept)


class UploadView(Protocol):
    """A view with a write that is `uploaded_once`."""

    upload: Upload

    def answer_made(self, key: int) -> Response:
        """Return the answer to the request that made the row of this key."""

    def remove_begun(self, key: int) -> None:
        """Remove a row that a request left unfinished."""


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
            kept, is_new = kept_for(cast("User", request.user), key, digest)
            if not is_new:
                return _again(view, kept, digest)
            response = write(view, request, *args, **kwargs)
            _keep(view, kept, response)
        return response

    return once


def uploaded_once(write: Write[View, P]) -> Write[View, P]:
    """Do a write that takes a file once a key, like `done_once`, but outside of a transaction.

    A request with the key of one that is being worked on is answered with 409. If the server was stopped
    before it had answered, that ends after `settings.LEASE_SECONDS`: then the answer tells what was made, or
    the write is done.
    """

    @wraps(write)
    def once(view: View, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        uploading, key = cast("UploadView", view), _key(request)
        uploading.upload = Upload()
        if not key:
            return write(view, request, *args, **kwargs)
        digest = _digest(request)
        kept, is_new = kept_for(cast("User", request.user), key, digest)
        if not is_new and not (kept.request_digest == digest and is_taken_over(kept)):
            return _again(view, kept, digest)
        uploading.upload = Upload(kept)
        try:
            response = _made_before(view, kept) or write(view, request, *args, **kwargs)
        except BaseException:
            let_go(kept)
            raise
        _keep(view, kept, response)
        return response

    return once


def let_go(kept: KeptAnswer) -> None:
    """Free the key of a request that made nothing, unless another request has taken it over meanwhile."""
    _held(kept).delete()


def _held(kept: KeptAnswer) -> QuerySet[KeptAnswer]:
    """Return the row while its request is not answered and no other one has taken its key over."""
    return KeptAnswer.objects.filter(pk=kept.pk, status=0, lease_until=kept.lease_until)


def is_over(kept: KeptAnswer) -> bool:
    """Return whether the request of the key will never be answered: its server was stopped."""
    return not kept.status and kept.lease_until is not None and kept.lease_until < timezone.now()


def is_taken_over(kept: KeptAnswer) -> bool:
    """Take the key of a request that will never be answered; of two who try one succeeds."""
    fresh = timezone.now() + _lease()
    if not is_over(kept) or not _held(kept).update(lease_until=fresh):
        return False
    kept.lease_until = fresh
    return True


def _made_before(view: APIView, kept: KeptAnswer) -> Response | None:
    """Return the answer to what the request had made when the server stopped, without what it had begun."""
    uploading = cast("UploadView", view)
    if kept.made is not None:
        _require_role(view, kept)
        return uploading.answer_made(kept.made)
    if kept.begun is not None:
        uploading.remove_begun(kept.begun)
    return None


def _key(request: Request) -> str:
    key = request.headers.get(HEADER, "")
    if len(key) > KEY_CHARS:
        raise requests.RequestProblem(
            HTTPStatus.BAD_REQUEST, f"An {HEADER} has at most {KEY_CHARS} characters."
        )
    return key


def kept_for(person: User, key: str, digest: str) -> tuple[KeptAnswer, bool]:
    """Return the row of this key, and whether it is new; of two at once the second waits for the first."""
    KeptAnswer.objects.filter(user=person, at__lt=timezone.now() - KEPT_FOR).delete()
    fresh = {"request_digest": digest, "lease_until": timezone.now() + _lease()}
    return KeptAnswer.objects.get_or_create(user=person, key=key, defaults=fresh)


def _lease() -> dt.timedelta:
    return dt.timedelta(seconds=settings.LEASE_SECONDS)


def _again(view: APIView, kept: KeptAnswer, digest: str) -> Response:
    if kept.request_digest != digest:
        raise requests.RequestProblem(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"This {HEADER} was sent with another request."
        )
    if not kept.status:
        raise _in_use(kept)
    _require_role(view, kept)
    return Response(kept.body, kept.status, headers={**kept.headers, REPLAYED: "true"})


def _require_role(view: APIView, kept: KeptAnswer) -> None:
    """Raise as the write would for somebody who has lost the role: the right is checked each time."""
    if isinstance(view, resources.Resource) and kept.role:
        view.collection(needed=Role(kept.role))


def _in_use(kept: KeptAnswer) -> requests.RequestProblem:
    left = kept.lease_until - timezone.now() if kept.lease_until else dt.timedelta()
    text = f"A request with this {HEADER} is being worked on."
    return requests.RequestProblem(HTTPStatus.CONFLICT, text, wait=max(1, math.ceil(left.total_seconds())))


def _keep(view: APIView, kept: KeptAnswer, response: Response) -> None:
    plain = None if response.data is None else dict(response.data)
    kept.status, kept.body = response.status_code, plain
    kept.headers = {name: response[name] for name in ("ETag", "Location") if name in response}
    if isinstance(view, resources.Resource):
        kept.role = view.role or ""
    kept.save(update_fields=["status", "body", "headers", "role"])


def _digest(request: Request) -> str:
    parts = (request.method or "", request.get_full_path(), repr(request.data))
    digest = hashlib.sha256("\n".join(parts).encode())
    for _, files in sorted(request.FILES.lists()):
        for file in files:
            for chunk in file.chunks():
                digest.update(chunk)
            file.seek(0)
    return digest.hexdigest()


class FormsOnce:
    """Answer the second of two equal forms as the first was answered."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = _form_key(request)
        if not key:
            return self.get_response(request)
        kept, is_new = kept_for(cast("User", request.user), key, "")
        if not is_new:
            end = time.monotonic() + WAITED
            first: KeptAnswer | None = kept
            while first and not first.status and time.monotonic() < end and not is_over(first):
                time.sleep(LOOKED_EVERY)
                first = KeptAnswer.objects.filter(pk=kept.pk).first()
            if first is None:  # it was refused
                return self(request)
            if first.status or not is_taken_over(first):
                return _form_again(request, first)
            kept = first
        try:
            response = self.get_response(request)
        except BaseException:
            let_go(kept)
            raise
        if response.status_code >= 400:
            let_go(kept)
        else:
            kept.status, kept.headers = response.status_code, {"Location": response.get("Location", "")}
            kept.save(update_fields=["status", "headers"])
        return response


def _form_key(request: HttpRequest) -> str:
    """Return the key of a form; empty for anything else. Other contents are another form."""
    if request.method != "POST" or not request.user.is_authenticated or getattr(request, "htmx", False):
        return ""
    once = request.POST.get(ONCE, "")
    if not 0 < len(once) <= FORM_KEY_CHARS:
        return ""
    fields = sorted((name, values) for name, values in request.POST.lists() if name != "csrfmiddlewaretoken")
    files = sorted(
        (name, [(file.name, file.size) for file in listed]) for name, listed in request.FILES.lists()
    )
    content = repr((request.get_full_path(), fields, files))
    return f"form {once} {hashlib.sha256(content.encode()).hexdigest()}"


def _form_again(request: HttpRequest, kept: KeptAnswer) -> HttpResponse:
    place = kept.headers.get("Location", "")
    if not kept.status:
        messages.warning(request, "This was sent before, and is still being worked on.")
    elif place:
        messages.info(request, "This was sent twice, and done once.")
    else:
        text = (
            "This was sent twice, and done once. What it made was shown in the first answer only: if you did "
            "not see it, revoke it and make another."
        )
        messages.warning(request, text)
    return redirect(place or request.get_full_path())
