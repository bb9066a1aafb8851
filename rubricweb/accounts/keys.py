"""The keys of the review screens: what each does, and which one a person chose for it.

A key is named by what it gives, a letter, a digit or a sign, in the words of `event.code` on an English
keyboard: `KeyS`, `Digit3`, `ArrowLeft`, with `Shift+` in front where Shift is held. Where it gives no Latin
letter, static/js/keys.js goes by its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from grading.types import CONTRADICTS

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

SIGNS = {
    "ArrowLeft": "←",
    "ArrowRight": "→",
    "ArrowUp": "↑",
    "ArrowDown": "↓",
    "Shift+Slash": "?",
    "Slash": "/",
    "Minus": "-",
    "Equal": "=",
    "BracketLeft": "[",
    "BracketRight": "]",
    "Semicolon": ";",
    "Quote": "'",
    "Backquote": "`",
    "Backslash": "\\",
    "Comma": ",",
    "Period": ".",
}
CODE = re.compile(r"(Shift\+)?(Key[A-Z]|Digit[0-9]|Arrow(Left|Right|Up|Down)|Enter|Home|End|PageUp|PageDown)")
ALWAYS = {"Mod+Enter": "complete"}
"""Ctrl+Enter, or Cmd+Enter: not configurable."""


class NoSuchKey(ValueError):
    """A text that names no key, or one that browsers need."""


@dataclass(frozen=True, slots=True)
class KeyAction:
    """Something that a key does on the review screens that have it."""

    name: str
    label: str
    key: str
    """The default."""


ACTIONS = (
    KeyAction("next", "Next", "ArrowRight"),
    KeyAction("previous", "Previous", "ArrowLeft"),
    KeyAction("down", "Down", "ArrowDown"),
    KeyAction("up", "Up", "ArrowUp"),
    KeyAction("topic-after", "Next topic of a comparison", "KeyJ"),
    KeyAction("topic-before", "Topic before it", "KeyK"),
    *(KeyAction(f"rate-{rating}", f"Rate {rating}", f"Digit{rating}") for rating in range(6)),
    KeyAction(f"rate-{CONTRADICTS}", "Rate as a contradiction, where a grader knows that", "Minus"),
    KeyAction("right", "The grader is right", "KeyR"),
    KeyAction("wrong", "The grader is wrong", "KeyW"),
    KeyAction("accept", "Accept the extracted answer", "KeyY"),
    KeyAction("spurious", "Flag a question as misleading", "KeyS"),
    KeyAction("uncovered", "Flag a passage that no question covers", "KeyU"),
    KeyAction("comment", "Comment, or compare the ticked runs", "KeyC"),
    KeyAction("skip", "Skip, or tick a run to compare", "KeyX"),
    KeyAction("undo", "Undo", "KeyZ"),
    KeyAction("find", "Find", "Slash"),
    KeyAction("add", "Add an item", "KeyN"),
    KeyAction("selected", "To the actions for selected items", "KeyA"),
    KeyAction("regrade", "Grade missing pairs", "Shift+KeyG"),
    KeyAction("complete", "Complete and continue", "Enter"),
    KeyAction("view-grid", "The topic as a grid", "KeyG"),
    KeyAction("view-bank", "The topic's rubric", "KeyB"),
    KeyAction("view-both", "Grid and rubric side by side", "Shift+KeyB"),
    KeyAction("item", "Open the question of the column", "KeyQ"),
    KeyAction("home", "To the collection's topics", "KeyT"),
    KeyAction("help", "Keys on this page", "Shift+Slash"),
)
DEFAULTS = {action.name: action.key for action in ACTIONS}


@dataclass(frozen=True, slots=True)
class KeyRow:
    """An action with the key that does it for one person."""

    action: KeyAction
    key: str

    @property
    def sign(self) -> str:
        return sign_of(self.key)


def keys_of(user: User) -> tuple[KeyRow, ...]:
    """Return every action with this person's key; an empty key means none."""
    return _rows(user.key_map)


def _rows(chosen: Mapping[str, str]) -> tuple[KeyRow, ...]:
    return tuple(KeyRow(action, chosen.get(action.name, action.key)) for action in ACTIONS)


def bindings(rows: tuple[KeyRow, ...]) -> dict[str, dict[str, str]]:
    """Return `{"bindings": action by key, "signs": key by sign}`, as static/js/keys.js expects them."""
    actions = {row.key: row.action.name for row in rows if row.key} | ALWAYS
    return {"bindings": actions, "signs": {sign: key for key, sign in SIGNS.items()}}


def changed(chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of `chosen` that differ from the defaults."""
    return {action.name: chosen[action.name] for action in ACTIONS if chosen[action.name] != action.key}


def sign_of(key: str) -> str:
    """Return a key as people read it: `S`, `3`, `→`, `Shift + S`."""
    if key in SIGNS:
        return SIGNS[key]
    shift, _, code = key.rpartition("+")
    name = SIGNS.get(code, re.sub(r"^(Key|Digit)", "", code))
    return f"{shift} + {name}" if shift else name


def parsed(text: str) -> str:
    """Return the key that `text` names, by its sign or its code; empty for none."""
    typed = text.replace(" ", "")
    for key, sign in SIGNS.items():
        typed = key if typed == sign else typed
    shift, _, code = typed.rpartition("+")
    shift = shift.capitalize()
    if len(code) == 1 and code.isascii() and code.isalnum():
        code = f"Digit{code}" if code.isdigit() else f"Key{code.upper()}"
    code = next((key for key, sign in SIGNS.items() if code == sign), code)
    key = f"{shift}+{code}" if shift else code
    is_known = key in SIGNS or key.removeprefix("Shift+") in SIGNS or CODE.fullmatch(key)
    if typed and not is_known:
        raise NoSuchKey(text)
    return key


register = template.Library()


@register.simple_tag
def key_sheet(user: User) -> SafeString:
    """Return the list of keys that every page has; the same for all who chose the same keys."""
    return _sheet(tuple(sorted(user.key_map.items())))


@lru_cache(maxsize=256)
def _sheet(chosen: tuple[tuple[str, str], ...]) -> SafeString:
    return render_to_string("core/_keys.html", {"rows": _rows(dict(chosen))})


@register.filter
def keycap(user: User, action: str) -> SafeString:
    """Return the person's key of the action, as it is printed on a button; nothing if they have none."""
    sign = sign_of(user.key_map.get(action, DEFAULTS[action]))
    return format_html('<kbd aria-hidden="true">{}</kbd>', sign) if sign else SafeString()


@register.filter
def key_bindings(rows: tuple[KeyRow, ...]) -> str:
    """Return the bindings as JSON."""
    return json.dumps(bindings(rows))
