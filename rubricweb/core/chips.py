"""Forms whose choices are chips in a toolbar, with a menu for those that are seldom used."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms
from django.http import QueryDict


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
    def shown(self) -> str:
        """The chosen value in words."""
        value = str(self.field.value())
        choices = getattr(self.field.field, "choices", ())
        return next((str(label) for choice, label in choices if str(choice) == value), value)


class ChipForm(forms.Form):
    """A toolbar: fields of `in_toolbar` are chips, those of `in_menu` become chips once they are chosen."""

    in_toolbar: tuple[str, ...] = ()
    in_menu: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    """Parameters that lose their meaning when a choice is taken back, as the number of a page."""
    address: QueryDict

    def default_value(self, name: str) -> str:
        """What the field stands for where the address leaves it out."""
        raise NotImplementedError

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
        value = str(self.data.get(name) or default)
        address = self.address.copy()
        for gone in (name, *self.outdated):
            address.pop(gone, None)
        return Chip(self[name], value not in (default, "0"), name in self.in_toolbar, address.urlencode())
