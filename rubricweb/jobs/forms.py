"""Where somebody lets a job pause that asks a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from rubricweb.jobs.limited import Limits

MOST_CALLS = 10_000_000
MORE_THAN_EXPECTED = 2
"""Limits are suggested at so many times the estimate."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a job is expected to take of its model."""

    calls: int
    dollars: float | None
    """None for a server's model whose price is not known: only a limit on calls protects from surprises."""


class LimitsForm(forms.Form):
    """Calls, and money where the model has a price."""

    most_calls = forms.IntegerField(label="Maximum number of model calls", min_value=1, max_value=MOST_CALLS)
    most_dollars = forms.FloatField(label="Maximum cost, in US dollars", min_value=0, max_value=1e6)

    def __init__(self, expected: Expected, sent: Mapping[str, Any] | None = None) -> None:
        has_price = expected.dollars is not None
        initial = {
            "most_calls": MORE_THAN_EXPECTED * expected.calls if has_price else None,
            "most_dollars": round(MORE_THAN_EXPECTED * (expected.dollars or 0) + 0.005, 2),
        }
        super().__init__(sent, initial=initial, auto_id="limits-%s")
        if not expected.dollars:
            del self.fields["most_dollars"]
        if not has_price:
            note = f"No price is set for this model. Expected: {expected.calls:,}."
            self.fields["most_calls"].help_text = note

    @property
    def limits(self) -> Limits:
        """Of the valid form."""
        return Limits(self.cleaned_data["most_calls"], self.cleaned_data.get("most_dollars"))
