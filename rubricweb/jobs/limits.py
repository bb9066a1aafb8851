"""What a job of model calls is expected to take, and the form by which people limit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from django import forms

from rubricweb.jobs.models import LimitedJob
from rubricweb.jobs.progress import Price, Range
from rubricweb.jobs.steering import Limits, cost

MOST_CALLS = 10_000_000
MORE_THAN_EXPECTED = 2
"""Factor by which suggested limits exceed the estimate."""


def price_of_calls(
    backend: str, llm: str, *, calls: int, read: float, written: float, seconds: Range | None
) -> Price:
    """Return what so many calls of a model take that read and write so many tokens in all."""
    dollars = cost(backend, llm, read, written)
    return Price(cells=calls, tokens=round(read + written), seconds=seconds, dollars=dollars)


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """The expected calls and costs of a job."""

    calls: int
    dollars: float | None
    """Expected cost; None for a server's model without a price, where only a limit on calls protects."""

    @classmethod
    def of(cls, price: Price) -> Self:
        """Return what the price says, where each of its cells is a call."""
        return cls(price.cells, price.dollars)


class LimitsForm(forms.Form):
    """A limit on calls, and on money where the model has a price."""

    most_calls = forms.IntegerField(label="Maximum number of model calls", min_value=1, max_value=MOST_CALLS)
    most_dollars = forms.FloatField(label="Maximum cost, in US dollars", min_value=0, max_value=1e6)

    def __init__(self, expected: ExpectedCost, submitted: Mapping[str, Any] | None = None) -> None:
        has_price = expected.dollars is not None
        initial = {
            "most_calls": MORE_THAN_EXPECTED * expected.calls if has_price else None,
            "most_dollars": round(MORE_THAN_EXPECTED * (expected.dollars or 0) + 0.005, 2),
        }
        super().__init__(submitted, initial=initial, auto_id="limits-%s")
        if not expected.dollars:
            del self.fields["most_dollars"]
        if not has_price:
            note = f"No price is set for this model. Expected: {expected.calls:,}."
            self.fields["most_calls"].help_text = note

    @property
    def limits(self) -> Limits:
        """Return the limits of the valid form."""
        return Limits(self.cleaned_data["most_calls"], self.cleaned_data.get("most_dollars"))

    @classmethod
    def of_job(
        cls, job: LimitedJob, expected: ExpectedCost, submitted: Mapping[str, Any] | None = None
    ) -> Self:
        """Return the form with the limits that the job has."""
        form = cls(expected, submitted)
        form.initial = {"most_calls": job.most_calls, "most_dollars": job.most_dollars}
        return form
