"""One look for all forms, and fields that offer what is known only when a form is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.forms.renderers import TemplatesSetting

from rubricweb.core.ids import parse_id

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet

Choices = Iterable[tuple[object, str | Iterable[tuple[object, str]]]]
"""Values with labels, or labels of groups with what is in them."""


class ProjectRenderer(TemplatesSetting):
    """Fields render through the project's one field template."""

    field_template_name = "core/field.html"


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # of any model
    """Several rows by their ids; a number beyond every id is refused before the database is asked for it."""

    def clean(self, value: Any) -> Any:  # Any: as Django has it
        for pk in value or ():
            parse_id(pk)
        return super().clean(value)


def choice_field(form: forms.BaseForm, name: str) -> forms.ChoiceField:
    """The form's field of this name, which must be one of choices."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{type(form).__name__}.{name} offers no choices")
    return field


def offer_choices(form: forms.BaseForm, name: str, choices: Choices) -> None:
    """Let the field `name` of this one form choose among `choices`."""
    choice_field(form, name).choices = choices


def rows_field(form: forms.BaseForm, name: str) -> forms.ModelChoiceField[Model]:
    """The form's field of this name, which must be one of rows."""
    field = form.fields[name]
    if not isinstance(field, forms.ModelChoiceField):
        raise TypeError(f"{type(form).__name__}.{name} offers no rows")
    return field


def offer_rows(form: forms.BaseForm, name: str, rows: QuerySet[Model] | None) -> None:
    """Let the field `name` of this one form choose among `rows`."""
    rows_field(form, name).queryset = rows
