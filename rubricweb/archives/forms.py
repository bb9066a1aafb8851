"""Confirm that a collection shall be deleted."""

from __future__ import annotations

from django import forms


class DeleteForm(forms.Form):
    """The slug, typed; and whether it goes without an archive."""

    slug = forms.CharField(label="Type its slug to confirm", max_length=80)
    without_archive = forms.BooleanField(
        required=False,
        label="Delete it without an archive of its present state",
        help_text="Nobody can bring back what has changed since the last one.",
    )

    expected = ""
    is_archived = False

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"].strip()
        if slug != self.expected:
            raise forms.ValidationError(f"This is not {self.expected}.")
        return slug

    def clean(self) -> None:
        if not self.is_archived and not self.cleaned_data.get("without_archive"):
            self.add_error("without_archive", "Archive it first, or tick this.")
