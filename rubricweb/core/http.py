"""`HtmxRequest`, and the three ways to answer a request with or without htmx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
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
    """Mark a view whose page shows a secret other than the CSRF token: it is sent uncompressed (BREACH)."""

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


def after_post(request: HtmxRequest, template: str, context: Context, *, to: str) -> HttpResponse:
    """After a change: render the fragment `template` for htmx, else redirect to `to`."""
    if not request.htmx:
        return redirect(to)
    return _vary(render(request, template, dict(context)))
