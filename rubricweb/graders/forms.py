"""Forms to write a prompt and to try it, and the fields of a back-end's options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import forms

from grading.errors import BadOption, BadPrompt
from grading.formats.reading import text_lines
from grading.graders import registry
from grading.graders.backend_options import Option, Value
from grading.prompts import ParseRule, Prompt, covering_from, from_template
from grading.types import MAX_RATING, MIN_RATING, ItemKind, Purpose
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection
from rubricweb.graders.dry_runs import MOST_PASSAGES, TrialSample, blind_ids

PREFIX = "option_"

ASKS = {
    "questions": ("Rate how well a passage answers a question", ItemKind.QUESTION, Purpose.RATE),
    "nuggets": ("Rate how well a passage covers a nugget", ItemKind.NUGGET, Purpose.RATE),
    "answers": ("Extract the answer to a question", ItemKind.QUESTION, Purpose.EXTRACT),
    "words": ("Extract the words that carry a nugget", ItemKind.NUGGET, Purpose.EXTRACT),
    "verifies": (
        "Verify an extracted answer to a question, with its answer key",
        ItemKind.QUESTION,
        Purpose.VERIFY,
    ),
    "passages": ("Label a passage directly for the query", ItemKind.DIRECT, Purpose.DIRECT),
}
READ_AS = {
    ParseRule.RATING: "a number of the scale",
    ParseRule.FINAL_SCORE: "a number after some reasoning: the last “final score: n”",
    ParseRule.YES_NO: "yes or no (1 or 0)",
    ParseRule.LABEL: "one of the labels",
}
UNREADABLE = {
    "default": "0 if it is empty or says “unanswerable”, else the rating above the lowest (published rule)",
    "fail": "a failed grade, which counts as nothing and can be retried",
}
FIELD_OF = {
    "prompt_class": "name",
    "kinds": "asks",
    "template": "template",
    "scale": "lowest",
    "labels": "labels",
    "min_grade": "min_grade",
}
_LABEL_LINE = re.compile(r"\s*([0-9])\s*[:=]\s*(\S.*)")
_OTHER_PURPOSE = {
    False: "{answer} stands in prompts that verify an extracted answer; choose that, or leave it out.",
    True: "To verify an extracted answer the prompt needs {answer}.",
}


class OptionField(forms.CharField):
    """Parses the option's value; empty means the default."""

    def __init__(self, option: Option) -> None:
        super().__init__(
            label=option.name,
            required=False,
            help_text=f"{option.help} {_allowed(option)}",
            widget=_widget(option),
        )
        self.option = option

    def clean(self, value: Any) -> Any:  # Any: as Django has it
        text = super().clean(value)
        if not text:
            return self.option.default
        try:
            return self.option.read(text)
        except BadOption as error:
            raise forms.ValidationError(str(error)) from error


def is_chosen(bound: forms.BoundField) -> bool:
    """Return whether the control holds something other than the default."""
    field = bound.field
    return isinstance(field, OptionField) and bound.value() not in (None, "", field.option.default_words)


def _allowed(option: Option) -> str:
    """Return the allowed values and the default: "From 1 to 4,096. If left empty: 64."."""
    if _values(option):
        return f"Unless you choose otherwise: {option.default_words}."
    ranged = f"From {option.range_words}. " if option.range_words else ""
    return f"{ranged}If left empty: {option.default_words}."


def _values(option: Option) -> tuple[str, ...]:
    return option.choices or (("true", "false") if isinstance(option.default, bool) else ())


def _widget(option: Option) -> forms.Widget:
    if values := _values(option):
        return forms.Select(choices=[(value, value) for value in values])
    numeric = {} if isinstance(option.default, str) else {"inputmode": "decimal"}
    return forms.TextInput(attrs={"placeholder": option.default_words, **numeric})


def add_options(form: forms.Form, backend_name: str, chosen: Mapping[str, Value]) -> None:
    """Add a field for each option of the back-end; an unknown back-end has none."""
    backend = registry.BACKENDS.get(backend_name)
    for name, option in backend.options.items() if backend else ():
        field = OptionField(option)
        value = chosen.get(name, option.default if isinstance(field.widget, forms.Select) else "")
        field.initial = str(value).lower() if isinstance(value, bool) else value
        form.fields[PREFIX + name] = field


def chosen_options(form: forms.Form) -> dict[str, Value]:
    """Return the options of the valid form that differ from their defaults."""
    return {
        field.option.name: form.cleaned_data[name]
        for name, field in form.fields.items()
        if isinstance(field, OptionField) and form.cleaned_data[name] != field.option.default
    }


class PromptForm(forms.Form):
    """A collection's own prompt. Once valid it has a `prompt`."""

    name = forms.CharField(
        label="Name",
        max_length=64,
        help_text="A letter, then letters, digits or _. The name appears in every export.",
    )
    asks = forms.ChoiceField(
        label="What it asks", choices=[(name, text) for name, (text, _, _) in ASKS.items()]
    )
    system = forms.CharField(
        label="System message",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "true"}),
        help_text="Optional: instructions that a chat model gets first. Placeholders work here, too.",
    )
    template = forms.CharField(
        label="Prompt text",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 9, "spellcheck": "true"}),
        help_text=(
            "{question}, {nugget} or, for a direct label, {query} is what is asked about; {context} is"
            " the passage. Also {query}, {answer_key} and, to verify, {answer}. Other braces are plain text."
        ),
    )
    read_as = forms.ChoiceField(
        label="The reply is",
        required=False,
        choices=[(rule.value, text) for rule, text in READ_AS.items()],
    )
    lowest = forms.IntegerField(
        label="Lowest rating",
        required=False,
        min_value=MIN_RATING,
        max_value=MAX_RATING,
        initial=0,
    )
    highest = forms.IntegerField(
        label="Highest rating",
        required=False,
        min_value=MIN_RATING,
        max_value=MAX_RATING,
        initial=5,
    )
    min_grade = forms.IntegerField(
        label="Threshold",
        required=False,
        min_value=MIN_RATING + 1,
        max_value=MAX_RATING,
        help_text=(
            "The lowest rating that covers an item. Empty: 4 on the scale 0 to 5; for direct labels,"
            " 2 on the scale 0 to 3."
        ),
    )
    labels = forms.CharField(
        label="Labels, one rating a line",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "2: support, supported\n1: partial_support"}),
        help_text="The first label names the rating on screens; where the reply is a label, all are read.",
    )
    unreadable = forms.ChoiceField(
        label="A reply without a readable rating",
        required=False,
        choices=list(UNREADABLE.items()),
        help_text="If the reply is one of the labels, or for direct labels, this is always a failed grade.",
    )

    prompt: Prompt

    def clean_labels(self) -> dict[str, int]:
        labels: dict[str, int] = {}
        for number, line in enumerate(text_lines(self.cleaned_data["labels"]), start=1):
            match = _LABEL_LINE.fullmatch(line.strip())
            if line.strip() and not match:
                raise forms.ValidationError(
                    f"Line {number}: write a rating, a colon and its labels, as in “2: support, supported”."
                )
            for name in match[2].split(",") if match else ():
                if name.strip() in labels:
                    raise forms.ValidationError(f"Line {number}: {name.strip()} appears twice.")
                labels[name.strip()] = int(match[1]) if match else 0
        return labels

    def clean(self) -> None:
        fields = self.cleaned_data
        if {"name", "asks", "template", "labels"} - set(fields):
            return
        _, kind, purpose = ASKS[fields["asks"]]
        try:
            self.prompt = from_template(
                fields["name"], fields["template"], {kind}, system=fields["system"], **self._reading(purpose)
            )
            if fields.get("min_grade") and self.prompt.scale:
                self.prompt = covering_from(self.prompt, fields["min_grade"])
        except BadPrompt as problem:
            text = str(problem)
            text = text if text.startswith("{") else text[:1].upper() + text[1:]
            self.add_error(FIELD_OF.get(problem.part), text)
            return
        if self.prompt.purpose is not purpose:
            self.add_error("template", _OTHER_PURPOSE[purpose is Purpose.VERIFY])

    def _reading(self, purpose: Purpose) -> dict[str, Any]:  # Any: the keywords of from_template
        """Return scale, rule and labels, as far as they apply to the purpose."""
        fields = self.cleaned_data
        if purpose is Purpose.EXTRACT:
            return {}
        rule = ParseRule(fields.get("read_as") or ParseRule.RATING)
        is_counted = rule in (ParseRule.RATING, ParseRule.FINAL_SCORE)
        ends = fields.get("lowest"), fields.get("highest")
        is_always = rule is ParseRule.LABEL or purpose is Purpose.DIRECT
        is_strict = fields.get("unreadable") == "fail" and not is_always
        return {
            "rule": rule,
            "scale": ends if is_counted and None not in ends else None,
            "labels": fields["labels"],
            "is_strict": is_strict,
        }


class TrialForm(forms.Form):
    """The model that tries the prompt; `dry_runs.sample_of` reads the sample."""

    backend = forms.ChoiceField(label="Asked of", required=False)
    llm = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        help_text="Empty: the default model.",
    )


def model_form(
    collection: Collection, submitted: Mapping[str, Any] | None = None, initial: dict[str, Any] | None = None
) -> TrialForm:
    """Return the form, by default with the collection's model, unless that has only prompts of its own."""
    able = [backend for backend in registry.known_backends() if backend.asks_any]
    own = {"backend": collection.grader_backend, "llm": collection.grader_llm}
    default = own if any(backend.name == collection.grader_backend for backend in able) else {}
    form = TrialForm(submitted, initial=initial or default)
    choices = [("", "no model: only show the prompt"), *((backend.name, backend.label) for backend in able)]
    offer_choices(form, "backend", choices)
    return form


def initial_of(prompt: Prompt) -> dict[str, Any]:
    """Return initial values for a new prompt like `prompt`."""
    asks = next(
        (
            name
            for name, (_, kind, purpose) in ASKS.items()
            if kind in prompt.kinds and purpose is prompt.purpose
        ),
        "questions",
    )
    lowest, highest = prompt.scale or (None, None)
    ratings = dict.fromkeys(rating for _, rating in prompt.labels)
    return {
        "name": prompt.prompt_class,
        "asks": asks,
        "system": prompt.system,
        "template": prompt.template,
        "read_as": prompt.rule.value if prompt.rule in READ_AS else "",
        "lowest": lowest,
        "highest": highest,
        "min_grade": prompt.min_grade,
        "labels": "\n".join(
            f"{rating}: {', '.join(name for name, value in prompt.labels if value == rating)}"
            for rating in ratings
        ),
        "unreadable": "fail" if prompt.is_strict else "default",
    }


def why_not_ask(sample: TrialSample) -> str:
    """Return why no model may be asked about the chosen passages; empty if one may be."""
    if sample.unknown:
        return f"The pool of topic {sample.topic.query_id} has no passage {', '.join(sample.unknown)}."
    if blind := blind_ids(sample.topic.collection_id, sample.doc_ids):
        return f"You still have to rate passage {blind[0]} blind. Rate it first, then ask a model about it."
    return ""


def passage_fields(sample: TrialSample) -> list[tuple[str, str]]:
    """Return pairs of a field's name and its value."""
    ids = (*sample.doc_ids, *[""] * MOST_PASSAGES)
    return [(f"passage_{place}", ids[place - 1]) for place in range(1, MOST_PASSAGES + 1)]
