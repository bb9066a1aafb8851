"""The signed-in person's keys, for the sheet and the script of every page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django import template

from rubricweb.accounts import keys

if TYPE_CHECKING:
    from rubricweb.accounts.keys import KeyRow
    from rubricweb.accounts.models import User

register = template.Library()


@register.filter
def key_rows(user: User) -> tuple[KeyRow, ...]:
    return keys.keys_of(user)


@register.filter
def key_bindings(rows: tuple[KeyRow, ...]) -> str:
    """As JSON."""
    return json.dumps(keys.bindings(rows))
