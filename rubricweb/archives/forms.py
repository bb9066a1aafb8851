"""Confirm that a collection shall be deleted; upload an archive."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from rubricweb.corpus.models import Collection


class DeleteForm(forms.Form):
    """The collection's slug, typed; and whether it goes without an archive."""

    slug = forms.CharField(label=gettext_lazy("Type its short name to confirm"), max_length=80)
    without_archive = forms.BooleanField(
        required=False,
        label=gettext_lazy("Delete it without an up-to-date archive"),
        help_text=gettext_lazy("Changes since the last archive cannot be recovered."),
    )

    expected = ""
    is_archived = False

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"].strip()
        if slug != self.expected:
            raise forms.ValidationError(gettext("This is not %(expected)s.") % {"expected": self.expected})
        return slug

    def clean(self) -> None:
        if not self.is_archived and not self.cleaned_data.get("without_archive"):
            self.add_error("without_archive", gettext("Archive the collection first, or tick this."))


class RestoreForm(forms.Form):
    """An archive, and what its collection shall be called."""

    archive = forms.FileField(
        label=gettext_lazy("Archive"),
        help_text=gettext_lazy("The zip file of an archive."),
    )
    slug = forms.SlugField(
        label=gettext_lazy("Short name"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Empty: the name in the archive, which must be free on this server."),
    )

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug and Collection.objects.filter(slug=slug).exists():
            raise ValidationError(gettext("%(slug)s is taken: choose another.") % {"slug": slug})
        return slug
