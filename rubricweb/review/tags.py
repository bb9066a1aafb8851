"""Heads of sortable columns, the grid's cells, and flags where other rooms show an item."""

from __future__ import annotations

import html
from typing import Any

from django import template
from django.core.paginator import Page
from django.http import HttpRequest
from django.utils.html import conditional_escape, escape, format_html
from django.utils.safestring import SafeString, mark_safe

from rubricweb.banks.models import Item
from rubricweb.core.tags import grade_chip, icon, percent
from rubricweb.grades.raters import Rater
from rubricweb.review import flags, verify
from rubricweb.review.selectors.window import (
    ANSWER_SHADES,
    ANSWER_SIGNS,
    ANSWER_WORDS,
    GridCell,
    GridColumn,
    Row,
)

register = template.Library()

DASH = "\N{EN DASH}"
FALLING_FIRST = "num"
"""The class of number columns: the first click sorts the highest value to the top."""


@register.simple_tag(takes_context=True)
def sort_head(context: dict[str, Any], label: str, name: str, sort: str, kind: str = "") -> SafeString:
    """Render a column head that sorts by `name`; a second click reverses the order."""
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


@register.filter
def correlation(value: float) -> str:
    """Format with two decimals, no leading 0 and a true minus sign; a dash where undefined."""
    if value != value:
        return f" {DASH}"
    return f" {value:z.2f}".replace("0.", ".", 1).replace("-", "\N{MINUS SIGN}")


@register.simple_tag
def grid_cells(row: Row, columns: Page[GridColumn], suffix: str) -> SafeString:
    """Render a row's cells here: a template loop over up to 1,500 of them is slow."""
    suffix = escape(suffix)
    cells = (
        f'<td aria-colindex="{number}" data-item="{column.short_name}">{grid_cell(cell, suffix)}</td>'
        for number, (column, cell) in enumerate(
            zip(columns, row.cells, strict=True), columns.start_index() + 1
        )
    )
    return mark_safe("".join(cells))  # noqa: S308  (grid_cell escapes)


@register.simple_tag
def grid_cell(cell: GridCell, suffix: str) -> SafeString:
    """Render one cell; rare attributes are left out when empty."""
    seldom = " data-mark" if cell.mark else ""
    seldom += " data-flags" if cell.flags else ""
    seldom += f' data-marks="{cell.marks}"' if cell.marks else ""
    seldom += f' data-seen="{cell.seen}"' if cell.seen else ""
    own = f"<b>{cell.own}</b>" if cell.own else ""
    shade = ANSWER_SHADES.get(cell.state, cell.state)
    text = icon("lock") if cell.state == "hidden" else cell.text
    return mark_safe(  # noqa: S308
        f'<a id="{cell.id}" href="{cell.href}{conditional_escape(suffix)}" data-grade="{shade}"'
        f' aria-label="{html.escape(cell.name)}"{seldom}>{text}{own}</a>'
    )


@register.simple_tag
def separation_sign(separation: str) -> SafeString:
    """Show how well an item separates passages: a full, half or empty disc; a dash where it is undefined."""
    if not separation:
        return format_html('<span class="muted" title="too few grades">{}</span>', DASH)
    return format_html(
        '<span class="separation" data-separates="{0}" title="separates {0}">'
        '<span class="visually-hidden">{0}</span></span>',
        separation,
    )


@register.simple_tag
def answer_chip(state: str) -> SafeString:
    """Render the verdict on an answer as a coloured sign: see `window.ANSWER_SIGNS`."""
    sign, label = ANSWER_SIGNS[state], ANSWER_WORDS[state]
    shade = ANSWER_SHADES[state]
    return format_html('<span class="grade-chip" data-grade="{}" title="{}">{}</span>', shade, label, sign)


@register.simple_tag
def rating_chip(rater: Rater, rating: int) -> SafeString:
    """Render a rating by this rater, or its verdict on an answer."""
    return answer_chip(("wrong", "right")[rating]) if rater.verifies else grade_chip(rating)


@register.simple_tag
def share(estimate: verify.Proportion) -> SafeString:
    """Render a share with its interval and counts; "too few" where the interval would say nothing."""
    if estimate.value is None or estimate.interval is None:
        return format_html('<span class="muted">{}</span>', DASH)
    if estimate.is_too_few:
        return format_html('<span class="small muted">too few: {} of {}</span>', estimate.count, estimate.n)
    low, high = estimate.interval
    return format_html(
        '{} <span class="small muted">{} to {}, {} of {}</span>',
        percent(estimate.value),
        percent(low),
        percent(high),
        estimate.count,
        estimate.n,
    )


@register.simple_tag(takes_context=True)
def open_flags(context: dict[str, Any], item: Item) -> int:
    """Count the item's open flags; one query a request serves a whole topic."""
    request: HttpRequest = context["request"]
    counts: dict[tuple[int, int], flags.OpenCounts] = request.__dict__.setdefault("_open_flags", {})
    place = (item.bank_id, item.topic_id)
    if place not in counts:
        counts[place] = flags.open_counts(*place)
    return counts[place].items.get(item.pk, 0)


@register.simple_tag(takes_context=True)
def own_flags(context: dict[str, Any], bank_id: int) -> str:
    """Return the keys of what the reader has flagged in the bank: "spurious-12 uncovered-7"."""
    own = flags.own_flags(bank_id, context["user"])
    return " ".join(f"{kind}-{passage if item is None else item}" for kind, item, passage in own)
