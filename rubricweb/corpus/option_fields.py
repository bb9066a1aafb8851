"""Form fields for the options of a grader back-end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from grading.errors import BadOption
from grading.graders import registry
from grading.graders.backend_options import Option, Value

PREFIX = "option_"


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
