"""Why a change of grades is refused."""

from __future__ import annotations


class GradesError(Exception):
    """Root of the tree; the text is for people."""


class CannotAskAgain(GradesError):
    """The grader of this grade cannot be asked the same once more."""
