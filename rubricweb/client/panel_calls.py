"""Calls about panels of graders. Both clients have these as methods, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from rubricweb.client import rows
from rubricweb.client.core import Request, Steps, document, write


def panels(slug: str) -> Steps[list[rows.Panel]]:
    """Return the panels of a collection, the newest first."""
    listed = yield from document(Request("GET", _of(slug)))
    return cast("list[rows.Panel]", listed)


def form_panel(
    slug: str, *, members: Sequence[int], rule: str = "majority", quorum: int | None = None, name: str = ""
) -> Steps[list[rows.Job]]:
    """Make a panel of graders, by their ids, and return the jobs that combine their grades, which are free.

    `rule` is `majority`, `median`, `weights` or `first`. Raises Invalid for graders that cannot be a panel.
    """
    body = {"members": list(members), "rule": rule, "quorum": quorum, "name": name}
    return _started(_of(slug), body)


def combine_panel(slug: str, panel_id: int) -> Steps[list[rows.Job]]:
    """Combine what the members of a panel have graded since; return the jobs, none where nothing is left."""
    return _started(f"{_of(slug)}{panel_id}/combine/", None)


def _started(path: str, body: dict[str, Any] | None) -> Steps[list[rows.Job]]:
    started = yield from document(write("POST", path, body))
    return cast("list[rows.Job]", started["jobs"])


def _of(slug: str) -> str:
    return f"collections/{slug}/graders/panels/"
