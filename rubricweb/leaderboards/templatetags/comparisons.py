"""Numbers of comparisons as their templates print them."""

from __future__ import annotations

from django import template

from rubricweb.leaderboards.comparison.selectors import number

register = template.Library()


@register.filter
def three(value: float | None) -> str:
    """Return three decimals; a dash for what is undefined."""
    return "\N{EN DASH}" if value is None else number(value)


@register.filter
def plus(value: float) -> str:
    """Return three decimals with their sign; 0 has none."""
    return number(value, signed=True)


@register.filter
def unlocalized(value: float) -> str:
    """Return a number of an SVG, whatever the language."""
    return f"{value:g}"
