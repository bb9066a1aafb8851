"""The signed-in person's keys, for the sheet and the script of every page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from rubricweb.accounts import keys

if TYPE_CHECKING:
    from rubricweb.accounts.keys import KeyRow
    from rubricweb.accounts.models import User

register = template.Library()


@register.filter
def key_rows(user: User) -> tuple[KeyRow, ...]:
    return keys.keys_of(user)


@register.filter
def keycap(user: User, action: str) -> SafeString:
    """Return the person's key of the action, as it is printed on a button; nothing if they have none."""
    key = next(row.sign for row in keys.keys_of(user) if row.action.name == action)
    return format_html('<kbd aria-hidden="true">{}</kbd>', key) if key else SafeString()


@register.filter
def key_bindings(rows: tuple[KeyRow, ...]) -> str:
    """Return the bindings as JSON."""
    return json.dumps(keys.bindings(rows))
