"""The parameters of the grid's address; a value that cannot be read is named on the page and replaced by its
default.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, QueryDict

from rubricweb.banks.models import Bank
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import parse_ids
from rubricweb.grades.forms import GraderForm, covered_from, select_at_once
from rubricweb.grades.raters import KINDS
from rubricweb.review.selectors.grid_query import (
    GROUPS,
    ITEM_FILTERS,
    ORDERS,
    SHOWS,
    SORTS,
    SOURCES,
    GridQuery,
)


class GridForm(ChipForm, GraderForm):
    """The grid."""

    in_toolbar = ("show", "groups", "sort", "grader", "run")
    in_menu = ("items", "source", "min_grade", "order", "kind", "version", "rows")
    outdated = ("page", "columns", "at")

    show = select_at_once("Passages", [(name, label) for name, (label, _) in SHOWS.items()])
    sort = select_at_once("Sort", [(name, label) for name, (label, _) in SORTS.items()])
    groups = select_at_once("Groups", list(GROUPS.items()))
    kind = select_at_once("Kind of item", [("", "all"), *((str(kind), f"{kind}s") for kind in KINDS)])
    items = select_at_once("Items", [(name, label) for name, (label, _) in ITEM_FILTERS.items()])
    min_grade = covered_from()
    run = select_at_once("Run", ())
    source = select_at_once("Ratings by", [(str(source), label) for source, label in SOURCES.items()])
    order = select_at_once("Order of items", [(name, label) for name, (label, _) in ORDERS.items()])
    version = select_at_once("Rubric", ())
    rows = select_at_once("Rows", (("", "compact"), ("roomy", "with their runs")))
    page = forms.IntegerField(min_value=1, required=False)
    columns = forms.IntegerField(min_value=1, required=False)
    at = forms.RegexField(r"^\d{1,18}-\d{1,18}$", required=False)

    def __init__(self, address: QueryDict) -> None:
        super().__init__(address)
        self.hidden = parse_ids(address.getlist("hide"))
        if self.data.get("rows") == "compact":  # from addresses that people kept: the default now
            self.data["rows"] = ""

    def default_value(self, name: str) -> str:
        named = {"grader": self.data["grader"], "min_grade": str(self.default_min_grade)}
        return named.get(name, str(getattr(_DEFAULT, name, "")))

    def offer_runs(self, run_tags: Iterable[str]) -> None:
        offer_choices(self, "run", [("", "any"), *((tag, tag) for tag in run_tags)])

    def offer_versions(self, bank: Bank) -> None:
        versions = [
            (str(version.number), f"version {version.number}: {version.name}")
            for version in bank.versions.all()
        ]
        offer_choices(self, "version", [("", "as it is"), *versions])

    def query(self, at: tuple[int, int] | None = None) -> GridQuery:
        default = {name: getattr(_DEFAULT, name) for name in QUERIED} | {"min_grade": self.default_min_grade}
        chosen = {name: self.value(name, default[name]) for name in QUERIED}
        is_paged = "page" in self.data or "columns" in self.data
        named = "" if is_paged else self.value("at", "")
        passage, _, item = named.partition("-")
        at = at or ((int(passage), int(item)) if named else None)
        return GridQuery(**chosen | {"version": int(chosen["version"])}, hidden=self.hidden, at=at)


QUERIED = (
    "groups",
    "sort",
    "show",
    "items",
    "order",
    "kind",
    "run",
    "source",
    "version",
    "min_grade",
    "rows",
    "page",
    "columns",
)
_DEFAULT = GridQuery()


def address_kept(request: HttpRequest) -> dict[str, str]:
    """The query strings that links append to keep the chosen grader and version."""
    kept = urlencode({name: request.GET[name] for name in ("grader", "version") if name in request.GET})
    return {"suffix": f"?{kept}" if kept else "", "joiner": f"?{kept}&" if kept else "?"}


def kept_fields(address: QueryDict) -> list[tuple[str, str]]:
    """The grid's parameters, without its window and the ticked heads, for hidden fields."""
    kept = {*GridForm.base_fields, "hide", "passage", "item"} - {"at", "page", "columns"}
    return [(name, value) for name, values in address.lists() if name in kept for value in values]
