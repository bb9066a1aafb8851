"""What somebody says of one cell."""

from __future__ import annotations

from django import forms

from grading.types import MAX_RATING, MIN_RATING


class SayingForm(forms.Form):
    """What every saying brings along."""

    seen = forms.IntegerField(min_value=0)
    """The number of what the person said last of the cell, as the page had it."""
    revision = forms.IntegerField(min_value=1)
    """The wording that the page had."""
    uid = forms.UUIDField(required=False)
    """Made in the page: what is sent twice is saved once."""

    @property
    def why(self) -> str:
        """What is wrong with it, in one line."""
        return " ".join(f"{name}: {error}" for name, errors in self.errors.items() for error in errors)


class RatingForm(SayingForm):
    rating = forms.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING)
