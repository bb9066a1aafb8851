"""Form fields, filter chips, and uploads with a limit.

Fields are written in Python, since templates take several times as long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.forms.models import ModelChoiceIterator
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest, QueryDict
from django.utils.html import format_html

from rubricweb.core.http import parse_id
from rubricweb.core.tags import as_html

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet


Choices = Iterable[tuple[object, str | Iterable[tuple[object, str]]]]
"""Values with labels, or group labels with their choices."""


Widget = Mapping[str, Any]  # Any: as Django's `Widget.get_context` has it

TYPED = {"text", "search"}
"""Types of inputs that take text."""


def attributes(widget: Widget) -> str:
    return "".join(
        f" {name}" if value is True else f' {name}="{as_html(value)}"'
        for name, value in widget["attrs"].items()
        if value is not False
    )


def text_input(widget: Widget) -> str:
    value = widget["value"]
    attribute = "" if value is None else f' value="{as_html(value)}"'
    name = as_html(widget["name"])
    return f'<input type="{widget["type"]}" name="{name}"{attribute}{attributes(widget)}>'


def text_area(widget: Widget) -> str:
    name, text = as_html(widget["name"]), as_html(widget["value"] or "")
    return f'<textarea name="{name}"{attributes(widget)}>\n{text}</textarea>'


def select(widget: Widget) -> str:
    parts = [f'<select name="{as_html(widget["name"])}"{attributes(widget)}>']
    for group, options, _ in widget["optgroups"]:
        if group:
            parts.append(f'<optgroup label="{as_html(group)}">')
        parts += [
            f'<option value="{as_html(option["value"])}"{attributes(option)}>'
            f"{as_html(option['label'])}</option>"
            for option in options
        ]
        if group:
            parts.append("</optgroup>")
    return "\n".join([*parts, "</select>"])


def boxes(widget: Widget) -> str:
    """Return boxes to tick or radio buttons, each in its label, in groups where these have names."""
    whole = "".join(
        f' {name}="{as_html(widget["attrs"][name])}"' for name in ("id", "class") if widget["attrs"].get(name)
    )
    parts = [f"<div{whole}>"]
    for group, options, _ in widget["optgroups"]:
        if group:
            parts.append(f"<div><label>{as_html(group)}</label>")
        parts += [f"<div>{_labelled(option)}</div>" for option in options]
        if group:
            parts.append("</div>")
    return "\n".join([*parts, "</div>"])


def _labelled(option: Widget) -> str:
    if not option.get("wrap_label"):
        return text_input(option)
    of = option["attrs"].get("id")
    start = f'<label for="{as_html(of)}">' if of else "<label>"
    return f"{start}{text_input(option)} {as_html(option['label'])}</label>"


def field_group(field: forms.BoundField) -> str:
    """Return the field with its label, its help text and what is wrong with it."""
    label, notes = as_html(field.label), _notes(field)
    if field.use_fieldset:
        return f'<div class="field"><fieldset><legend>{label}</legend>{field}{notes}</fieldset></div>'
    of = as_html(field.id_for_label)
    labelled = f'<label for="{of}">{label}</label> {field}'
    if field.widget_type == "checkbox":
        labelled = f'<label for="{of}">{field} {label}</label>'
    return f'<div class="field">{labelled}{notes}</div>'


def _notes(field: forms.BoundField) -> str:
    of, text = as_html(field.auto_id), field.help_text
    # A div, since the rules of passwords are a list.
    hint = f'<div class="hint" id="{of}_helptext">{as_html(text)}</div>' if text else ""
    errors = (f'<p class="field-error" id="{of}_error">{as_html(error)}</p>' for error in field.errors)
    return "".join([hint, *errors])


INPUTS = ("text", "number", "hidden", "checkbox", "search", "email", "url", "password", "date")
WRITERS: Mapping[str, Callable[[Widget], str]] = {
    f"django/forms/widgets/{name}.html": writer
    for name, writer in {
        **dict.fromkeys(INPUTS, text_input),
        "textarea": text_area,
        "select": select,
        "checkbox_select": boxes,
        "radio": boxes,
    }.items()
}
"""Name of Django's template of a widget -> what writes it here."""


class ProjectRenderer(TemplatesSetting):
    """A renderer of the project's fields; typed or chosen text has its own direction."""

    def render(self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None) -> str:
        """Render the field with `dir="auto"` for typed text, and with isolated labels of boxes."""
        if template_name == self.field_template_name:
            return field_group(context["field"])
        widget = context.get("widget") or {}
        if template_name.endswith("/textarea.html") or widget.get("type") in TYPED:
            widget["attrs"].setdefault("dir", "auto")
        if template_name.endswith(("/checkbox_select.html", "/radio.html")):
            for _, options, _ in widget["optgroups"]:
                for option in options:
                    option["label"] = format_html("<bdi>{}</bdi>", option["label"])
        if writer := WRITERS.get(template_name):
            return writer(widget)
        return super().render(template_name, context, request)


class _RowsReadOnce(ModelChoiceIterator):  # type: ignore[type-arg]  # of any model
    def __iter__(self) -> Iterator[Any]:  # Any: as Django has it
        if self.field.empty_label is not None:
            yield "", self.field.empty_label
        yield from map(self.choice, self.queryset)

    def __len__(self) -> int:
        return len(self.queryset) + (self.field.empty_label is not None)

    def __bool__(self) -> bool:
        return len(self) > 0


class RowField(forms.ModelChoiceField):  # type: ignore[type-arg]  # of any model
    """A choice among few rows, which one query reads however often they are checked and rendered."""

    iterator = _RowsReadOnce

    def offer(self, rows: Iterable[Model]) -> None:
        """Offer rows that somebody has read already."""
        self._queryset = tuple(rows)
        self.widget.choices = self.choices

    def to_python(self, value: Any) -> Any:  # Any: as Django has it
        if value in self.empty_values:
            return None
        named = str(getattr(value, "pk", value)).strip()
        row = next((row for row in self.queryset or () if str(row.pk) == named), None)
        if row is None:
            code = "invalid_choice"
            raise forms.ValidationError(self.error_messages[code], code=code, params={"value": value})
        return row


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # of any model
    """A choice of rows by ids that refuses numbers beyond every id before they reach the database."""

    def clean(self, value: Any) -> Any:  # Any: as Django has it
        for pk in value or ():
            parse_id(pk)
        return super().clean(value)


class RenamedChoiceField(forms.ChoiceField):
    """A choice whose values had other names, which old addresses still use: `renamed` maps them."""

    def __init__(self, *, renamed: Mapping[str, str], **options: Any) -> None:  # Any: as Django has it
        super().__init__(**options)
        self.renamed = renamed

    def to_python(self, value: Any) -> str:
        return str(super().to_python(self.renamed.get(value, value)))

    def bound_data(self, data: Any, initial: Any) -> Any:
        return self.renamed.get(data, data)


def takes_several(field: forms.Field) -> bool:
    """Return whether the field's value is a list."""
    return isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField)


def filled_in(form: forms.Form, submitted: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that have a value: a list where a field takes several."""
    several = {name for name, field in form.base_fields.items() if takes_several(field)}
    lists = submitted if isinstance(submitted, QueryDict) else QueryDict()
    return {
        name: lists.getlist(name) if name in several else submitted[name]
        for name in submitted
        if submitted[name]
    }


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


def offer_read(form: forms.BaseForm, name: str, rows: Iterable[Model]) -> None:
    """Set the rows that the field `name` of this form offers, which are read already."""
    field = form.fields[name]
    if not isinstance(field, RowField):
        raise TypeError(f"{type(form).__name__}.{name} takes no rows that are read")
    field.offer(rows)


AT_ONCE = {"data-submits": ""}
"""Attributes of a widget that submits its form on change."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A choice in a toolbar."""

    field: forms.BoundField
    is_on: bool
    """Whether a value other than the default is chosen."""
    is_chosen_here: bool
    """Whether it is chosen in the toolbar itself, else in its menu."""
    address_without: str
    """Empty where it is not on."""

    @property
    def takes_several(self) -> bool:
        return takes_several(self.field.field)

    @property
    def chosen(self) -> str:
        """Return the label of the chosen value."""
        choices = getattr(self.field.field.widget, "choices", ())
        if self.takes_several:
            return f"{len(self.field.value() or ())} of {len(choices)}"
        value = str(self.field.value())
        return next((str(label) for choice, label in choices if str(choice) == value), value)


class ChipForm(forms.Form):
    """A toolbar: fields of `in_toolbar` are chips, those of `in_menu` become chips once they are chosen."""

    in_toolbar: tuple[str, ...] = ()
    in_menu: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    """Parameters that a removed choice makes meaningless, such as the number of a page."""
    address: QueryDict

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as its form has them
        super().__init__(*args, **kwargs)
        for name in self.in_toolbar:
            if not takes_several(self.fields[name]):
                self.fields[name].widget.attrs |= AT_ONCE

    def default_value(self, name: str) -> object:
        """Return the value that the address may leave out: a list where the field takes several."""
        initial = self.fields[name].initial
        return "" if initial is None else initial

    @cached_property
    def chips(self) -> list[Chip]:
        """Return the choices of the toolbar, and those of its menu that are in effect."""
        offered = [self._chip(name) for name in self.in_toolbar if self._has_choice(name)]
        return offered + [chip for chip in map(self._chip, self.in_menu) if chip.is_on]

    @property
    def menu(self) -> list[forms.BoundField]:
        return [self[name] for name in self.in_menu]

    def _has_choice(self, name: str) -> bool:
        choices = getattr(self.fields[name], "choices", None)
        return choices is None or len(choices) > 1 or bool(self[name].errors)

    def _chip(self, name: str) -> Chip:
        default = self.default_value(name)
        value = self[name].value() or default
        is_on = _in_words(value) != _in_words(default)
        return Chip(self[name], is_on, name in self.in_toolbar, self._address_without(name) if is_on else "")

    def _address_without(self, name: str) -> str:
        address = self.address.copy()
        for gone in (name, *self.outdated):
            address.pop(gone, None)
        return address.urlencode()


def _in_words(value: object) -> list[str]:
    return sorted(str(each) for each in value) if isinstance(value, list) else [str(value)]


class LimitedUploads(FileUploadHandler):
    """An upload handler for files beyond the limit, before those that keep files.

    `too_large` holds the names of the files that were left out.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.left = settings.UPLOAD_BYTES

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.left -= len(raw_data)
        if self.left < 0:
            self.left += start + len(raw_data)
            too_large(self.request).append(self.file_name or "file")
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> UploadedFile[bytes] | None:
        """Leave the file to the next handler."""
        return None


def write_chunks(path: Path, chunks: Iterable[bytes]) -> tuple[int, str]:
    """Write a file, and return its bytes and its SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("wb") as target:
        for chunk in chunks:
            digest.update(chunk)
            target.write(chunk)
    return path.stat().st_size, digest.hexdigest()


def too_large(request: HttpRequest | None) -> list[str]:
    """Return the names of the request's files that exceeded `settings.UPLOAD_BYTES`, all files together."""
    names: list[str] = request.__dict__.setdefault("_too_large_uploads", [])
    return names
