"""Confirm that a collection shall be deleted; upload an archive."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError

from rubricweb.corpus.models import Collection


class DeleteForm(forms.Form):
    """The collection's slug, typed; and whether it goes without an archive."""

    slug = forms.CharField(label="Type its short name to confirm", max_length=80)
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


class RestoreForm(forms.Form):
    """An archive, and what its collection shall be called."""

    archive = forms.FileField(
        label="Archive", help_text="The zip that an archive of a collection was downloaded as."
    )
    slug = forms.SlugField(
        label="Short name",
        max_length=80,
        required=False,
        help_text="Empty: the one it had, which no other collection may have now.",
    )

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug and Collection.objects.filter(slug=slug).exists():
            raise ValidationError(f"{slug} is taken: choose another.")
        return slug
