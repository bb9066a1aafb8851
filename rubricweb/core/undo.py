"""The Undo button of a toast: a form that sends the inverse action, with the version that the person saw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from django.contrib import messages
from django.contrib.messages.storage.base import Message

from rubricweb.core.http import HtmxRequest


@dataclass(frozen=True, slots=True)
class Undo:
    """A POST to `address` with `fields`; `target`, an id with #, is what its answer replaces under htmx."""

    address: str
    fields: Mapping[str, str]
    target: str = ""


def offer_undo(request: HtmxRequest, words: str, address: str, **fields: object) -> None:
    """Say `words` in a toast with an Undo button.

    The button asks the view at `address` as its own form would: where the request came from a part of a
    page, the answer replaces that part, else it is a page. What the view refuses, it says there.
    """
    target = f"#{request.htmx.target}" if request.htmx.target else ""
    _offer(request, words, Undo(address, _sent(fields), target))


def offer_undo_on_page(request: HtmxRequest, words: str, address: str, **fields: object) -> None:
    """Likewise, where the part that the request came from leaves the page: the answer is a page."""
    _offer(request, words, Undo(address, _sent(fields)))


def _sent(fields: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items()}


def _offer(request: HtmxRequest, words: str, undo: Undo) -> None:
    messages.success(request, words, extra_tags=json.dumps(asdict(undo)))


def undo_of(message: Message) -> Undo | None:
    """Return the action that the message offers to undo its own."""
    return Undo(**json.loads(message.extra_tags)) if message.extra_tags else None
