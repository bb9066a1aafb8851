"""Requests of htmx and their responses: a page or its part, a file, ids in addresses, Undo in a toast."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.http import content_disposition_header
from django_htmx.middleware import HtmxDetails

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


P = ParamSpec("P")
Context = Mapping[str, Any]  # what a template takes: rows of any type


class HtmxRequest(HttpRequest):
    htmx: HtmxDetails
    user: User  # LoginRequiredMiddleware lets nobody else in

    if TYPE_CHECKING:

        async def auser(self) -> User: ...


def shows_a_secret(view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Mark a view whose page shows a secret other than the CSRF token, to send it uncompressed (BREACH)."""

    @wraps(view)
    def uncompressed(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        response = view(*args, **kwargs)
        response.shows_a_secret = True  # type: ignore[attr-defined]
        return response

    return uncompressed


def _vary(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request"])
    return response


def page_or_part(request: HtmxRequest, template: str, context: Context, *, part: str) -> HttpResponse:
    """Render the page, or its fragment `part` for htmx; htmx restoring history gets the page."""
    asks_part = request.htmx and not request.htmx.boosted and not request.htmx.history_restore_request
    name = f"{template}#{part}" if asks_part else template
    return _vary(render(request, name, dict(context)))


def page_address(request: HtmxRequest) -> str:
    """Return the address by which the reader's page is fetched anew, or "" where none is known.

    The address of a POST may take no GET: htmx names the page that it was sent from, a plain form does not.
    """
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    return (request.htmx.current_url_abs_path or "").partition("#")[0]


def form_response(
    request: HtmxRequest, template: str, context: Context, *, part: str = "form", status: int = 0
) -> HttpResponse:
    """Render a form, or with status 422 (409 on a conflict) an invalid one."""
    bound = getattr(context["form"], "is_bound", False)
    response = page_or_part(request, template, context, part=part)
    response.status_code = status or (422 if bound else 200)
    return response


def part_or_redirect(request: HtmxRequest, template: str, context: Context, *, to: str) -> HttpResponse:
    """Render the fragment `template` for htmx, else redirect to the page `to`."""
    if not request.htmx:
        return redirect(to)
    return _vary(render(request, template, dict(context)))


def download(
    content: str | bytes | Iterable[str | bytes], *, name: str, content_type: str
) -> HttpResponseBase:
    """Return a file for the browser to save: whole content at once, else its parts as they come."""
    response = HttpResponse if isinstance(content, str | bytes) else StreamingHttpResponse
    disposition = content_disposition_header(as_attachment=True, filename=name)
    return response(content, content_type=content_type, headers={"Content-Disposition": disposition})


MAX_ID = 2**63 - 1
"""Largest number that a database column holds."""
MAX_DIGITS = len(str(MAX_ID))


def parse_id(text: object) -> int:
    """Return the number, or 0, which no row has, for other text. BadRequest (400) beyond `MAX_ID`.

    >>> parse_id("17"), parse_id(""), parse_id("-3"), parse_id("seven")
    (17, 0, 0, 0)
    """
    digits = str(text).strip()
    if not (digits.isascii() and digits.isdecimal()):
        return 0
    digits = digits.lstrip("0") or "0"
    if len(digits) > MAX_DIGITS or int(digits) > MAX_ID:
        raise BadRequest(f"No id is larger than {MAX_ID}; one of this address has {len(digits)} digits.")
    return int(digits)


def parse_ids(texts: Iterable[object]) -> frozenset[int]:
    """Return the numbers among the texts; BadRequest as in `parse_id`."""
    return frozenset(number for number in map(parse_id, texts) if number)


@dataclass(frozen=True, slots=True)
class Undo:
    """A POST to `address` with `fields`; under htmx its answer replaces `target`, an id with #."""

    address: str
    fields: Mapping[str, str]
    target: str = ""


def offer_undo(request: HtmxRequest, message: str, address: str, **fields: object) -> None:
    """Say `message` in a toast with an Undo button.

    The button asks the view at `address` as its own form would: where the request came from a part of a
    page, the answer replaces that part, else it is a page. What the view refuses, it says there.
    """
    target = f"#{request.htmx.target}" if request.htmx.target else ""
    _offer(request, message, Undo(address, _fields_of(fields), target))


def offer_undo_on_page(request: HtmxRequest, message: str, address: str, **fields: object) -> None:
    """Offer Undo where the requesting part leaves the page: the answer is a whole page."""
    _offer(request, message, Undo(address, _fields_of(fields)))


def _fields_of(fields: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items()}


def _offer(request: HtmxRequest, message: str, undo: Undo) -> None:
    messages.success(request, message, extra_tags=json.dumps(asdict(undo)))


def undo_of(message: Message) -> Undo | None:
    """Return the message's Undo."""
    return Undo(**json.loads(message.extra_tags)) if message.extra_tags else None
