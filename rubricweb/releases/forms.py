"""What an organizer chooses of a release."""

from __future__ import annotations

from django import forms

from rubricweb.releases.models import Release


class ReleaseForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic when it runs
    class Meta:
        model = Release
        fields = ("title", "license", "citation", "contact", "has_runs", "is_anonymous", "freezes_boards")
        labels = {
            "license": "Licence of the data",
            "citation": "How to cite it",
            "has_runs": "With the rankings and responses of the runs",
            "is_anonymous": "Runs and teams go by made-up names",
            "freezes_boards": "Publish its boards, frozen",
        }
        help_texts = {
            "license": "CC BY 4.0, or what the sources of the passages allow.",
            "contact": "A mail address or a page.",
            "is_anonymous": "You can download which name is whose; no file of the release tells.",
            "freezes_boards": "Each gets a link that everybody can read and that never changes.",
        }
        widgets = {"citation": forms.Textarea(attrs={"rows": 2})}
