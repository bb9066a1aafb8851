"""The forms of a page, and what a browser sends of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode

from django.http import HttpResponse


@dataclass(slots=True)
class Control:
    """A field, a box that may be ticked, an option of a select, or a button that sends."""

    tag: str
    name: str
    value: str
    type: str = ""
    attributes: dict[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class Form:
    """A form of a page, with its controls in their order."""

    attributes: dict[str, str | None]
    controls: list[Control] = field(default_factory=list)

    @property
    def method(self) -> str:
        return (self.attributes.get("method") or "get").lower()

    @property
    def is_multipart(self) -> bool:
        return self.attributes.get("enctype") == "multipart/form-data"

    def all_chosen(self) -> list[tuple[str, str]]:
        """Return the pairs that are sent with every box ticked, every option chosen, and the first button."""
        buttons = [control for control in self.controls if control.type == "submit"]
        fields = [
            control for control in self.controls if control.type not in ("submit", "button", "reset", "file")
        ]
        return [(control.name, control.value) for control in [*fields, *buttons[:1]] if control.name]

    def as_shown(self) -> list[tuple[str, str]]:
        """Return the pairs that are sent of what is chosen on the page, with every box ticked."""
        chosen: dict[str, Control] = {}
        for control in self.controls:
            is_chosen = {"selected", "checked"} & control.attributes.keys()
            if control.type in ("option", "radio") and (is_chosen or control.name not in chosen):
                chosen[control.name] = control
        others = ("option", "radio", "button", "submit", "reset", "file")
        fields = [control for control in self.controls if control.type not in others]
        return [(control.name, control.value) for control in (*fields, *chosen.values()) if control.name]

    def body(self) -> str:
        return urlencode(self.all_chosen())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._select = ""
        self._text: Control | None = None
        self._is_open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name, value = attributes.get("name") or "", attributes.get("value") or ""
        if tag == "form":
            self.forms.append(Form(attributes))
            self._is_open = True
        elif not self._is_open:
            return
        elif tag == "input":
            self._add(Control(tag, name, value or "on", attributes.get("type") or "text", attributes))
        elif tag == "button":
            self._add(Control(tag, name, value, attributes.get("type") or "submit", attributes))
        elif tag == "select":
            self._select = name
        elif tag == "option":
            self._add(Control(tag, self._select, value, "option", attributes))
        elif tag == "textarea":
            self._text = Control(tag, name, "", "textarea", attributes)
            self._add(self._text)

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.value += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = None
        if tag == "form":
            self._is_open = False

    def _add(self, control: Control) -> None:
        self.forms[-1].controls.append(control)


def forms_of(response: HttpResponse) -> list[Form]:
    """Return the forms of the page, those in its templates too."""
    reader = _Reader()
    reader.feed(response.content.decode())
    return reader.forms
