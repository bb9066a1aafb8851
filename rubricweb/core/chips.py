"""Forms whose choices are chips in a toolbar, with a menu for those that are seldom used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from rubricweb.core.forms import takes_several

AT_ONCE = {"data-submits": ""}
"""Attributes of a widget that submits its form on change."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One choice of what a screen shows."""

    field: forms.BoundField
    is_on: bool
    """Whether something else than the default is chosen."""
    is_chosen_here: bool
    """In the toolbar itself, else in its menu."""
    address_without: str

    @property
    def takes_several(self) -> bool:
        return takes_several(self.field.field)

    @property
    def shown(self) -> str:
        """The chosen value in words."""
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
    """Parameters that lose their meaning when a choice is taken back, as the number of a page."""
    address: QueryDict

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as its form has them
        super().__init__(*args, **kwargs)
        for name in self.in_toolbar:
            if not takes_several(self.fields[name]):
                self.fields[name].widget.attrs |= AT_ONCE

    def default_value(self, name: str) -> object:
        """What the field stands for where the address leaves it out: a list where it takes several."""
        initial = self.fields[name].initial
        return "" if initial is None else initial

    @property
    def chips(self) -> list[Chip]:
        """The choices of the toolbar, and those of its menu that are in effect."""
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
        address = self.address.copy()
        for gone in (name, *self.outdated):
            address.pop(gone, None)
        is_on = _in_words(value) != _in_words(default)
        return Chip(self[name], is_on, name in self.in_toolbar, address.urlencode())


def _in_words(value: object) -> list[str]:
    return sorted(str(one) for one in value) if isinstance(value, list) else [str(value)]
