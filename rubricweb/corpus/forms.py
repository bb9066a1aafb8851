"""Forms of the settings page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from grading.graders import registry
from grading.graders.registry import Backend
from grading.prompts import Prompt
from grading.types import ItemKind, Purpose
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.actions import CollectionSettings, settings_digest
from rubricweb.corpus.models import Collection
from rubricweb.corpus.option_fields import PREFIX, add_options, chosen_options, is_chosen
from rubricweb.corpus.prompts import active_prompts, named, own_prompts, unextracted

_EXTRACT_FIRST = "{} asks about extracted answers: tick a prompt that extracts them, or choose others below."


def _backends() -> list[tuple[str, str]]:
    return [(backend.name, backend.label) for backend in registry.known_backends()]


SWITCHES = (
    *("public_counts_blind", "shows_run_tags", "requires_calibration"),
    *("assessors_edit", "assessors_grade"),
)
PURPOSES = {
    Purpose.RATE: "Rates questions or nuggets",
    Purpose.EXTRACT: "Extracts answers",
    Purpose.VERIFY: "Verifies answers against answer keys (of questions that have one)",
    Purpose.DIRECT: "Labels passages directly, without questions",
}


def _prompts(own: Iterable[Prompt] = ()) -> list[tuple[str, list[tuple[str, SafeString]]]]:
    """The prompts that back-ends with several can be set to ask, by purpose."""
    several = [backend.choices for backend in registry.known_backends() if len(backend.choices) > 1]
    offered = dict.fromkeys([*(prompt for choices in several for prompt in choices), *own])
    by_purpose = {
        purpose: [prompt for prompt in offered if prompt.purpose is purpose] for purpose in PURPOSES
    }
    return [
        (PURPOSES[purpose], [(named(prompt), _described(prompt)) for prompt in of_purpose])
        for purpose, of_purpose in by_purpose.items()
        if of_purpose
    ]


def _described(prompt: Prompt) -> SafeString:
    """What the prompt asks and its scale, then its name."""
    kinds = sorted(f"{kind}s" for kind in prompt.kinds if kind is not ItemKind.DIRECT)
    scale = [f"{prompt.scale[0]} to {prompt.scale[1]}"] if prompt.scale else []
    words = ", ".join([prompt.summary or " ".join(kinds), *scale])
    return format_html('<span>{} <span class="muted">{}</span></span>', words, named(prompt))


class SettingsForm(forms.Form):
    """Name, description, relevance level and grader of a collection."""

    name = forms.CharField(max_length=200)
    description = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    min_relevant = forms.IntegerField(
        label=gettext_lazy("First relevant judgment"),
        min_value=1,
        max_value=10,
        help_text=gettext_lazy(
            "Judgments at or above this value count as relevant. TREC DL and LLMJudge use 2."
        ),
    )
    grader_backend = forms.ChoiceField(label=gettext_lazy("Grader"), choices=_backends)
    grader_llm = forms.CharField(
        label=gettext_lazy("Model"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "A model name or folder that the worker can load. Empty: the grader's default."
        ),
    )

    grader_prompts = forms.MultipleChoiceField(
        label=gettext_lazy("What Re-grade asks"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("If you tick none: the grader's default prompts."),
    )

    blind_sums = forms.ChoiceField(
        label=gettext_lazy("Boards and files for people with cells to rate blind"),
        choices=Collection.BlindSums.choices,
        required=False,
        help_text=gettext_lazy(
            "Each cell appears once they have rated it. All other pages leave these cells out."
        ),
    )
    public_counts_blind = forms.BooleanField(
        label=gettext_lazy("Public boards count cells that are still to be rated blind"),
        required=False,
        help_text=gettext_lazy("Assessors can read public boards, too, and could compare."),
    )
    shows_run_tags = forms.BooleanField(
        label=gettext_lazy("Assessors and viewers see the names of runs"),
        required=False,
        help_text=gettext_lazy("Otherwise each run has a fixed pseudonym."),
    )
    requires_calibration = forms.BooleanField(
        label=gettext_lazy("Publish only calibrated boards"),
        required=False,
        help_text=gettext_lazy(
            "A board needs a current card that compares its grader with people, and warns without one."
        ),
    )
    assessors_edit = forms.BooleanField(
        label=gettext_lazy("Assessors may edit questions and nuggets"),
        required=False,
        help_text=gettext_lazy("Except items that they are still to rate blind."),
    )
    assessors_grade = forms.BooleanField(label=gettext_lazy("Assessors may start grading"), required=False)
    assessors_grade_up_to = forms.DecimalField(
        label=gettext_lazy("Limit per job started by an assessor, in US dollars"),
        min_value=0,
        max_digits=8,
        decimal_places=2,
        required=False,
        help_text=gettext_lazy(
            "Compared with the estimate beside Re-grade. Models without a known price "
            "are for topic developers only."
        ),
    )

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    """The digest of the settings that the writer started from."""

    own: tuple[Prompt, ...] = ()
    """The collection's own prompts."""
    reads_others = False
    """The answers that are verified come from another grader."""

    def chosen(self) -> tuple[Prompt, ...]:
        return self._backend.chosen(self.cleaned_data["grader_prompts"], self.own)

    def clean(self) -> None:
        if not self.errors and not self.reads_others and (without := unextracted(self.chosen())):
            self.add_error("grader_prompts", _EXTRACT_FIRST.format(", ".join(map(named, without))))

    @property
    def option_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(PREFIX)]

    @property
    def shows_options(self) -> bool:
        """Whether an option was set, or is wrong."""
        return any(field.errors or is_chosen(field) for field in self.option_fields)

    @property
    def _backend(self) -> Backend:
        return registry.BACKENDS[self.cleaned_data["grader_backend"]]

    def settings(self) -> CollectionSettings:
        """The settings of the valid form; a baseline without a model goes by its own name."""
        fields = self.cleaned_data
        backend = self._backend
        llm = fields["grader_llm"].strip() if backend.needs_model else ""
        chosen = tuple(map(named, self.chosen()))
        return CollectionSettings(
            fields["name"],
            fields["min_relevant"],
            backend.name,
            llm or backend.default_llm,
            fields["description"].strip(),
            () if set(chosen) == set(backend.prompt_classes) else chosen,
            grader_options=chosen_options(self),
            blind_sums=fields["blind_sums"] or Collection.BlindSums.LEFT_OUT,
            assessors_grade_up_to=fields["assessors_grade_up_to"] or Decimal(0),
            **{name: fields[name] for name in SWITCHES},
        )


def settings_form(collection: Collection, sent: Mapping[str, Any] | None = None) -> SettingsForm:
    """As sent, or with the present settings; prompts asked by default are ticked."""
    initial: dict[str, Any] = {
        name: getattr(collection, name) for name in SettingsForm.base_fields if name != "seen"
    }
    initial["seen"] = settings_digest(collection)
    initial["grader_prompts"] = [named(prompt) for prompt in active_prompts(collection)]
    if not registry.BACKENDS[collection.grader_backend].needs_model:
        initial["grader_llm"] = ""  # its name is no model of another grader
    form = SettingsForm(sent, initial=initial)
    form.own, form.reads_others = tuple(own_prompts(collection)), bool(collection.answers_by)
    offer_choices(form, "grader_prompts", _prompts(form.own))
    backend = (sent or {}).get("grader_backend", collection.grader_backend)
    add_options(form, backend, collection.grader_options)
    return form
