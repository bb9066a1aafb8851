"""Forms of the settings page."""

from __future__ import annotations

from django import forms

from grading.graders import registry
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.actions import CollectionSettings


def _backends() -> list[tuple[str, str]]:
    return [(backend.name, backend.label) for backend in registry.known_backends()]


class SettingsForm(forms.Form):
    """Name, relevance level and grader of a collection."""

    name = forms.CharField(max_length=200)
    min_relevant = forms.IntegerField(
        label="First relevant judgment",
        min_value=1,
        max_value=10,
        help_text="Human judgments from here on count as relevant. TREC DL and LLMJudge use 2.",
    )
    grader_backend = forms.ChoiceField(label="Grader", choices=_backends)
    grader_llm = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        help_text="A model name or folder that the worker can load; empty takes the grader's default.",
    )

    def settings(self) -> CollectionSettings:
        """The valid form's settings; a baseline without a model always goes by its own name."""
        fields = self.cleaned_data
        backend = registry.BACKENDS[fields["grader_backend"]]
        llm = fields["grader_llm"].strip() if backend.needs_model else ""
        return CollectionSettings(
            fields["name"], fields["min_relevant"], backend.name, llm or backend.default_llm
        )


class MemberForm(forms.Form):
    """Give an account a role."""

    username = forms.CharField(max_length=150)
    role = forms.ChoiceField(choices=Role.choices)

    def clean_username(self) -> User:
        user = User.objects.filter(username=self.cleaned_data["username"].strip(), is_active=True).first()
        if user is None:
            raise forms.ValidationError("No account has this name. Whoever runs the server can make one.")
        return user
