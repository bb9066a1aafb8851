"""Forms for a rating of one cell."""

from __future__ import annotations

from django import forms

from grading.types import MAX_RATING, MIN_RATING


class CellForm(forms.Form):
    """What every saying brings along."""

    seen = forms.IntegerField(min_value=0)
    """The number of the person's latest event for the cell, as the page had it."""
    revision = forms.IntegerField(min_value=1)
    """The wording that the page showed."""
    uid = forms.UUIDField(required=False)
    """Made in the page; a request sent twice is saved once."""

    @property
    def why(self) -> str:
        """The first error, in one line."""
        return " ".join(f"{name}: {error}" for name, errors in self.errors.items() for error in errors)


class RatingForm(CellForm):
    rating = forms.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING)
