"""Why a board that somebody asked for cannot be made."""

from __future__ import annotations


class BoardError(Exception):
    """Its text is for the person who asked; `field` names the control that it is about."""

    def __init__(self, field: str, text: str) -> None:
        self.field = field
        super().__init__(text)
