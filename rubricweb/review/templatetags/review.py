"""Heads of sortable columns, and the cells of the grid."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from rubricweb.review.selectors.window import Row

register = template.Library()

MARK = mark_safe(" data-mark")
FLAGS = mark_safe(" data-flags")
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


@register.simple_tag
def grid_cells(row: Row, first_column: int, suffix: str) -> SafeString:
    """The cells of one row. Not a loop in the template: a window has up to 1,500 of them."""
    return format_html_join(
        "",
        '<td data-grade="{}" aria-colindex="{}"><a id="{}" href="{}{}" aria-label="{}"{}{}>{}</a></td>',
        (
            (
                cell.state,
                column,
                cell.id,
                cell.href,
                suffix,
                cell.name,
                MARK if cell.mark else "",
                FLAGS if cell.flags else "",
                cell.text,
            )
            for column, cell in enumerate(row.cells, first_column + 1)
        ),
    )
