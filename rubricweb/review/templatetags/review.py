"""Heads of sortable columns."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

FALLING_FIRST = "num"
"""The class of number columns: their first click shows the highest value on top."""


@register.simple_tag(takes_context=True)
def sort_head(context: dict[str, Any], label: str, name: str, sort: str, kind: str = "") -> SafeString:
    """A column head that sorts by `name`, and turns around where it does already."""
    request: HttpRequest = context["request"]
    is_sorted, falls = sort.removeprefix("-") == name, sort.startswith("-")
    first = f"-{name}" if kind == FALLING_FIRST or name == "flags" else name
    turned = name if falls else f"-{name}"
    address = request.GET.copy()
    address["sort"] = turned if is_sorted else first
    address.pop("page", None)
    state = ("descending" if falls else "ascending") if is_sorted else ""
    return format_html(
        '<th scope="col" class="{}"{}><a href="?{}">{}{}</a></th>',
        kind,
        format_html(' aria-sort="{}"', state) if state else "",
        address.urlencode(),
        label,
        {"": "", "ascending": " ↑", "descending": " ↓"}[state],
    )
