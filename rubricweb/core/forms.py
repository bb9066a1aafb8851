"""The form renderer, and fields whose choices are known only when a form is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest, QueryDict
from django.utils.html import format_html

from rubricweb.core.ids import parse_id

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet

Choices = Iterable[tuple[object, str | Iterable[tuple[object, str]]]]
"""Values with labels, or group labels with their choices."""


TYPED = {"text", "search"}
"""Types of inputs that take words."""


class ProjectRenderer(TemplatesSetting):
    """Renders fields with the project's field template; what is typed or chosen has its own direction."""

    field_template_name = "core/field.html"

    def render(self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None) -> str:
        """Give what takes words `dir="auto"`, and isolate the labels of boxes and radio buttons."""
        widget = context.get("widget") or {}
        if template_name.endswith("/textarea.html") or widget.get("type") in TYPED:
            widget["attrs"].setdefault("dir", "auto")
        if template_name.endswith(("/checkbox_select.html", "/radio.html")):
            for _, options, _ in widget["optgroups"]:
                for option in options:
                    option["label"] = format_html("<bdi>{}</bdi>", option["label"])
        return super().render(template_name, context, request)


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # of any model
    """Several rows by their ids; a number beyond every id is refused before it reaches the database."""

    def clean(self, value: Any) -> Any:  # Any: as Django has it
        for pk in value or ():
            parse_id(pk)
        return super().clean(value)


class RenamedChoiceField(forms.ChoiceField):
    """A choice whose values had other names, which kept addresses still have: `renamed` has the new ones."""

    def __init__(self, *, renamed: Mapping[str, str], **options: Any) -> None:  # Any: as Django has it
        super().__init__(**options)
        self.renamed = renamed

    def to_python(self, value: Any) -> str:
        return str(super().to_python(self.renamed.get(value, value)))

    def bound_data(self, data: Any, initial: Any) -> Any:
        return self.renamed.get(data, data)


def takes_several(field: forms.Field) -> bool:
    """Whether the field's value is a list."""
    return isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField)


def filled_in(form: forms.Form, sent: Mapping[str, object]) -> dict[str, object]:
    """Return what an address says, without what it leaves empty: a list where a field takes several."""
    several = {name for name, field in form.base_fields.items() if takes_several(field)}
    lists = sent if isinstance(sent, QueryDict) else QueryDict()
    return {name: lists.getlist(name) if name in several else sent[name] for name in sent if sent[name]}


def choice_field(form: forms.BaseForm, name: str) -> forms.ChoiceField:
    """Return the form's choice field of this name."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{type(form).__name__}.{name} offers no choices")
    return field


def offer_choices(form: forms.BaseForm, name: str, choices: Choices) -> None:
    """Set the `choices` of the field `name` of this form."""
    choice_field(form, name).choices = choices


def rows_field(form: forms.BaseForm, name: str) -> forms.ModelChoiceField[Model]:
    """Return the form's model choice field of this name."""
    field = form.fields[name]
    if not isinstance(field, forms.ModelChoiceField):
        raise TypeError(f"{type(form).__name__}.{name} offers no rows")
    return field


def offer_rows(form: forms.BaseForm, name: str, rows: QuerySet[Model] | None) -> None:
    """Set the `rows` that the field `name` of this form offers."""
    rows_field(form, name).queryset = rows


def keep_choices(form: forms.BaseForm, name: str) -> None:
    """Read the rows that the field offers now, so that a page that shows them twice asks once."""
    field = rows_field(form, name)
    rows: Any = field.choices  # Any: an iterator that would count its rows for list()
    field.choices = [choice for choice in rows]  # noqa: C416
