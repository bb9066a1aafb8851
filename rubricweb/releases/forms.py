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
            "has_runs": "Include the rankings and responses of the runs",
            "is_anonymous": "Replace the names of runs and teams by pseudonyms",
            "freezes_boards": "Publish its boards, frozen",
        }
        help_texts = {
            "license": "For example CC BY 4.0, as far as the sources of the passages allow.",
            "contact": "An email address or a web page.",
            "is_anonymous": "You can download the list of names; the release does not contain it.",
            "freezes_boards": "Each board gets a public link, and its numbers never change.",
        }
        widgets = {"citation": forms.Textarea(attrs={"rows": 2})}
