"""Forms of the settings page."""

from __future__ import annotations

from django import forms

from grading.graders import registry
from grading.prompts import Prompt
from grading.types import ItemKind, Purpose
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.actions import CollectionSettings


def _backends() -> list[tuple[str, str]]:
    return [(backend.name, backend.label) for backend in registry.known_backends()]


PURPOSES = {
    Purpose.RATE: "Rates questions or nuggets",
    Purpose.EXTRACT: "Extracts answers",
    Purpose.VERIFY: "Verifies answers against answer keys (of questions that have one)",
    Purpose.DIRECT: "Labels passages directly, without questions",
}


def _prompts() -> list[tuple[str, list[tuple[str, str]]]]:
    """What the back-ends can be told to ask, by purpose; one with a single prompt leaves no choice."""
    several = [backend.choices for backend in registry.known_backends() if len(backend.choices) > 1]
    prompts = dict.fromkeys(prompt for choices in several for prompt in choices)
    by_purpose = {
        purpose: [prompt for prompt in prompts if prompt.purpose is purpose] for purpose in PURPOSES
    }
    return [
        (PURPOSES[purpose], [(prompt.prompt_class, _prompt_name(prompt)) for prompt in found])
        for purpose, found in by_purpose.items()
        if found
    ]


def _prompt_name(prompt: Prompt) -> str:
    """The class with what it is asked about and its scale."""
    kinds = sorted(f"{kind}s" for kind in prompt.kinds if kind is not ItemKind.DIRECT)
    scale = [f"{prompt.scale[0]} to {prompt.scale[1]}"] if prompt.scale else []
    return f"{prompt.prompt_class} ({', '.join([*kinds, *scale])})"


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

    grader_prompts = forms.MultipleChoiceField(
        label="What Re-grade asks",
        required=False,
        choices=_prompts,
        widget=forms.CheckboxSelectMultiple,
        help_text="With none, the grader's default prompts are asked. The lexical baseline has one way only.",
    )

    def settings(self) -> CollectionSettings:
        """The valid form's settings; a baseline without a model always goes by its own name."""
        fields = self.cleaned_data
        backend = registry.BACKENDS[fields["grader_backend"]]
        llm = fields["grader_llm"].strip() if backend.needs_model else ""
        chosen = backend.chosen(fields["grader_prompts"])
        return CollectionSettings(
            fields["name"],
            fields["min_relevant"],
            backend.name,
            llm or backend.default_llm,
            () if set(chosen) == set(backend.prompt_classes) else chosen,
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
