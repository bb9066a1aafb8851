"""Format estimates with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

register = template.Library()


@register.filter
def estimate(interval: Mapping[str, float | None]) -> str:
    """Return two decimals with the interval; a dash for what is undefined.

    >>> estimate({"value": 0.617, "low": -0.1, "high": 0.7})
    '0.62 (\u22120.10 to 0.70)'
    """
    value, low, high = interval["value"], interval["low"], interval["high"]
    if value is None:
        return "\N{EN DASH}"
    if low is None or high is None:
        return _signed(value)
    return f"{_signed(value)} ({_signed(low)} to {_signed(high)})"


def _signed(value: float) -> str:
    return f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")
