"""Heads of sortable columns, the grid's cells, and flags where other rooms show an item."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from rubricweb.accounts import roles
from rubricweb.banks.selectors import ItemRow
from rubricweb.core.tags import grade_chip, percent
from rubricweb.editor.rows import ItemWriter, separation_sign
from rubricweb.grades.raters import Rater
from rubricweb.review import flags, verify
from rubricweb.review.rows import GridWriter, grid_cell
from rubricweb.review.selectors.window import ANSWER_SHADES, ANSWER_SIGNS, ANSWER_WORDS

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


register.simple_tag(grid_cell)


@register.simple_tag(takes_context=True)
def grid_writer(context: dict[str, Any], flags_at: str, *, has_ticks: bool) -> GridWriter:
    """Return what writes the head and the rows of the page's grid."""
    address, card = context["request"].GET.copy(), context["card"]
    address.pop("at", None)
    return GridWriter(
        context["grid"],
        flags_at,
        context["suffix"],
        has_ticks=has_ticks,
        shows_runs=context["query"].is_roomy,
        address=address,
        opened=card.column.pk if card else None,
    )


register.simple_tag(separation_sign)


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
def item_writer(context: dict[str, Any], topic_pk: int, kept: str) -> ItemWriter:
    """Return what writes the rows of a topic's list of items; changes keep the query string `kept`."""
    bank, address = context["bank"], context["request"].GET.copy()
    for name in ("changed", "retired", "wording", "beside"):
        address.pop(name, None)
    place = [bank.pk, topic_pk]
    return ItemWriter(
        bank.pk,
        reverse("review:topic", args=place),
        reverse("review:subject-flags", args=place),
        kept,
        address,
        flags.open_counts(*place).items,
        str(context["csrf_token"]),
        can_edit=context["can_edit"],
        may_see_secrets=roles.holds(context["user"], bank.collection, roles.TO_SEE_SECRETS),
        shows_grades=bool(context.get("beside")),
        is_fresh=context.get("is_fresh", False),
    )


@register.filter
def written_by(row: ItemRow, writer: ItemWriter) -> SafeString:
    """Return an item as a row of its list."""
    return writer.row(row)


@register.simple_tag(takes_context=True)
def own_flags(context: dict[str, Any], bank_id: int) -> str:
    """Return the keys of what the reader has flagged in the bank: "spurious-12 uncovered-7"."""
    own = flags.own_flags(bank_id, context["user"])
    return " ".join(f"{kind}-{passage if item is None else item}" for kind, item, passage in own)
