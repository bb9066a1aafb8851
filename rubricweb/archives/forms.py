"""Confirm that a collection shall be deleted; upload an archive."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from rubricweb.corpus.models import Collection


class DeleteForm(forms.Form):
    """The collection's slug, typed; and whether it goes without an archive."""

    slug = forms.CharField(max_length=80)
    without_archive = forms.BooleanField(
        required=False,
        label="Delete it without an up-to-date archive",
        help_text="Changes since the last archive cannot be recovered.",
    )

    def __init__(self, sent: QueryDict | None, *, slug: str, is_archived: bool) -> None:
        super().__init__(sent)
        self.expected, self.is_archived = slug, is_archived
        self.fields["slug"].label = f"Type its short name to confirm: {slug}"
        if is_archived:
            del self.fields["without_archive"]

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"].strip()
        if slug != self.expected:
            raise forms.ValidationError(f"This is not {self.expected}.")
        return slug

    def clean(self) -> None:
        if not self.is_archived and not self.cleaned_data.get("without_archive"):
            self.add_error("without_archive", "Archive the collection first, or tick this.")


class RestoreForm(forms.Form):
    """An archive, and what its collection shall be called."""

    archive = forms.FileField(
        label="Archive",
        help_text="The zip file that was downloaded.",
    )
    slug = forms.SlugField(
        label="Short name",
        max_length=80,
        required=False,
        help_text="Leave empty to keep the name in the archive.",
    )

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug and Collection.objects.filter(slug=slug).exists():
            raise ValidationError(f"{slug} is taken: choose another.")
        return slug
