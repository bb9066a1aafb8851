"""What addresses may say; where one says something else, the page names it and takes the default."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.validators import MaxValueValidator
from django.http import HttpRequest, QueryDict

from grading.types import MAX_RATING
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_choices
from rubricweb.core.ids import parse_ids
from rubricweb.grades.scales import PAPERS_MIN_GRADE, scale_of, threshold_note
from rubricweb.review.selectors.grid_query import ITEM_FILTERS, ORDERS, SHOWS, SORTS, SOURCES, GridQuery
from rubricweb.review.selectors.raters import KINDS, Rater
from rubricweb.review.selectors.topics import SORTS as TOPIC_SORTS


class AddressForm(forms.Form):
    """A form over the query part of the address; what that leaves out has its initial value."""

    data: dict[str, str]

    def __init__(self, address: QueryDict) -> None:
        super().__init__()
        initial = {
            name: str(field.initial) for name, field in self.fields.items() if field.initial is not None
        }
        self.said = {name: str(value) for name, value in address.items()}
        self.data, self.is_bound = {**initial, **self.said}, True

    def value(self, name: str, default: Any) -> Any:  # Any: as the field cleans it
        """The field's value, or `default` where the address says none or a wrong one."""
        self.is_valid()
        found = self.cleaned_data.get(name)
        return default if found in (None, "") else found


AT_ONCE = {"data-submits": ""}
"""Of a widget whose choice takes effect at once."""


def _select(label: str, choices: Iterable[tuple[str, str]]) -> forms.ChoiceField:
    """A choice that takes effect at once."""
    return forms.ChoiceField(
        label=label, choices=list(choices), required=False, widget=forms.Select(attrs=AT_ONCE)
    )


def covered_from() -> forms.IntegerField:
    """From which grade on a rating covers; GraderForm fits it to the scale of its grader."""
    return forms.IntegerField(
        label="Covered from grade",
        min_value=1,
        max_value=MAX_RATING,
        required=False,
        initial=PAPERS_MIN_GRADE,
        widget=forms.NumberInput(attrs=AT_ONCE),
    )


def rater_choices(raters: Iterable[Rater]) -> list[tuple[str, str]]:
    """One choice a rater, told apart by their prompt classes where a name comes twice."""
    listed = list(raters)
    names = [rater.name for rater in listed]
    return [
        (
            str(rater.pk),
            rater.name if names.count(rater.name) == 1 else f"{rater.name}: {rater.prompt_classes}",
        )
        for rater in listed
    ]


def chosen_rater(raters: tuple[Rater, ...], said: str) -> Rater:
    """The rater with config `said`, else the first."""
    for rater in raters:
        if said in {str(config.pk) for config in rater.configs}:
            return rater
    return raters[0]


class GraderForm(AddressForm):
    """Which grader to look at; any of its configs names it."""

    grader = _select("Grader", ())
    default_min_grade = PAPERS_MIN_GRADE

    def offer(self, raters: tuple[Rater, ...]) -> Rater:
        """Offer these, and give the one that the address names."""
        choices = rater_choices(raters)
        said = self.data.get("grader", "")
        chosen = chosen_rater(raters, said)
        offer_choices(self, "grader", choices)
        if not said or said in {str(config.pk) for config in chosen.configs}:
            self.data["grader"] = str(chosen.pk)
        self._fit_scale(chosen)
        return chosen

    def _fit_scale(self, rater: Rater) -> None:
        """A threshold goes as far as the rater's scale, and is by default the first config's own."""
        self.default_min_grade = rater.min_grade
        if field := self.fields.get("min_grade"):
            highest = max(scale_of(config)[1] for config in rater.configs)
            field.validators.append(MaxValueValidator(highest))
            field.widget.attrs["max"] = highest
            field.help_text = threshold_note(rater.configs[0]) or field.help_text
            self.data["min_grade"] = self.said.get("min_grade") or str(self.default_min_grade)


class TopicsForm(GraderForm):
    """The collection page."""

    bank = _select("Bank", ())
    q = forms.CharField(
        label="Topic or query holds", required=False, widget=forms.TextInput(attrs={"type": "search"})
    )
    sort = forms.ChoiceField(
        choices=[(sign + name, name) for name in TOPIC_SORTS for sign in ("", "-")],
        required=False,
        widget=forms.HiddenInput,
    )
    page = forms.IntegerField(min_value=1, required=False)

    def offer_banks(self, banks: list[Bank]) -> Bank:
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        by_pk = {str(bank.pk): bank for bank in banks}
        chosen = by_pk.get(self.data.get("bank", ""), banks[0])
        self.data.setdefault("bank", str(chosen.pk))
        return chosen


class GridForm(GraderForm):
    """The grid."""

    show = _select("Passages", [(name, label) for name, (label, _) in SHOWS.items()])
    sort = _select("Sort passages by", [(name, label) for name, (label, _) in SORTS.items()])
    kind = _select("Kind of item", [("", "all"), *((str(kind), f"{kind}s") for kind in KINDS)])
    items = _select("Items", [(name, label) for name, (label, _) in ITEM_FILTERS.items()])
    min_grade = covered_from()
    run = _select("Retrieved by", ())
    source = _select("Ratings by", [(str(source), label) for source, label in SOURCES.items()])
    order = _select("Order of items", [(name, label) for name, (label, _) in ORDERS.items()])
    version = _select("Bank", ())
    rows = _select("Rows", (("", "usual"), ("compact", "compact")))
    heads = _select("Heads", (("", "cut"), ("whole", "wrapped")))
    page = forms.IntegerField(min_value=1, required=False)
    columns = forms.IntegerField(min_value=1, required=False)
    at = forms.RegexField(r"^\d{1,18}-\d{1,18}$", required=False)

    def __init__(self, address: QueryDict) -> None:
        super().__init__(address)
        self.hidden = parse_ids(address.getlist("hide"))

    def offer_runs(self, run_tags: Iterable[str]) -> None:
        offer_choices(self, "run", [("", "any run"), *((tag, tag) for tag in run_tags)])

    def offer_versions(self, bank: Bank) -> None:
        versions = [(str(one.number), f"version {one.number}: {one.name}") for one in bank.versions.all()]
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
    "sort",
    "show",
    "items",
    "order",
    "kind",
    "run",
    "source",
    "version",
    "min_grade",
    "page",
    "columns",
)
_DEFAULT = GridQuery()


def address_kept(request: HttpRequest) -> dict[str, str]:
    """How links keep the chosen grader and version: behind an address, and before more parameters."""
    kept = urlencode({name: request.GET[name] for name in ("grader", "version") if name in request.GET})
    return {"suffix": f"?{kept}" if kept else "", "joiner": f"?{kept}&" if kept else "?"}


def kept_fields(address: QueryDict) -> list[tuple[str, str]]:
    """The grid that an address shows, without its window, and what is ticked there: for hidden fields."""
    kept = {*GridForm.base_fields, "hide", "passage", "item"} - {"at", "page", "columns"}
    return [(name, value) for name, values in address.lists() if name in kept for value in values]
