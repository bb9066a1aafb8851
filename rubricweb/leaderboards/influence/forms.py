"""The board that is looked behind, and which runs belong together."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping
from dataclasses import replace

from django import forms
from django.forms import BoundField

from rubricweb.corpus.models import Collection
from rubricweb.grades.scoring import Definition
from rubricweb.leaderboards.board.types import BoardSpec, Missing
from rubricweb.leaderboards.forms import BoardForm

SHOWN = ("grader", "bank", "measure", "min_grade", "cutoff")
FURTHER = ("source", "version", "units", "topic", "facet", "missing", "definition")
"""Out of sight until they are used."""
DEPTH = 20
NO_COLUMNS = {
    "columns": "its further columns: runs are looked at by the measure that ranks them",
}
ALL_TOPICS = {
    "units": "the mean over subtopics: scores are of whole topics here",
    "topic": "the limit to one topic: all topics are compared here",
    "facet": "the limit to one subtopic",
    "missing": "leaving out topics that a run lacks: they count 0, so that all runs have the same topics",
}
BY_ITEMS = {
    "definition": "the Workbench's definition, which takes all items that the grader rated, on the bank or "
    "not, so that no item can be left out: scores are as in the papers",
}
BY_ORIGIN = {name: said for name, said in (ALL_TOPICS | BY_ITEMS).items() if name != "units"}
OF_PAIRS = {"definition": "the Workbench's definition: pairs are of the bank's items"}
OF_VIEW = {"items": BY_ITEMS, "runs": BY_ITEMS, "pairs": OF_PAIRS, "origins": BY_ORIGIN}
"""By view of influence: which options cannot apply, and why."""


class FewShown(BoardForm):
    """The controls of a board, of which few are shown; the others come with the address."""

    shown: tuple[str, ...] = SHOWN
    further: tuple[str, ...] = ()

    def shown_fields(self) -> list[BoundField]:
        return [self[name] for name in self.shown]

    def further_fields(self) -> list[BoundField]:
        return [self[name] for name in self.further]

    def kept_fields(self) -> list[BoundField]:
        known = (*self.shown, *self.further)
        return [self[name] for name in self.fields if name not in known and self[name].value()]

    @property
    def is_refined(self) -> bool:
        return any(self[name].value() or self[name].errors for name in self.further)


class BehindForm(FewShown):
    """A board that a page looks behind, with all its options but those that cannot apply there."""

    unfit: Mapping[str, str] = {}
    """By option of the board: why it cannot apply."""

    def refined(self, spec: BoardSpec) -> BoardSpec:
        return _fitted(replace(super().refined(spec), columns=()), self.unfit)

    def not_applied(self) -> list[str]:
        """What the address asks of the board and the page cannot do, in words."""
        said = {**NO_COLUMNS, **self.unfit}
        return [text for name, text in said.items() if self[name].value()]


class InfluenceForm(BehindForm):
    teams = forms.CharField(
        required=False,
        max_length=400,
        label="Runs of one team or model",
        help_text="Patterns with spaces between, such as bm25* GPT4*; others go by their tag's beginning.",
    )
    depth = forms.IntegerField(min_value=1, max_value=1000, label="Pool depth")

    further = FURTHER

    def __init__(self, sent: Mapping[str, str], *, collection: Collection, view: str) -> None:
        self.shown = (*SHOWN, *({"teams": ("teams", "depth"), "origins": ("teams",)}.get(view, ())))
        self.unfit = OF_VIEW.get(view, {})
        super().__init__({"depth": str(DEPTH), **{name: sent[name] for name in sent}}, collection=collection)

    @property
    def patterns(self) -> list[str]:
        return str(self.cleaned_data["teams"]).split()


def _fitted(spec: BoardSpec, unfit: Container[str]) -> BoardSpec:
    """The board with the defaults of what cannot apply."""
    if "definition" in unfit:
        spec = replace(spec, measure=replace(spec.measure, definition=Definition.PAPERS))
    if "missing" in unfit:
        spec = replace(spec, missing=Missing.ZERO)
    if "units" in unfit:
        spec = replace(spec, by_subtopic=False)
    return replace(spec, topic="", facet="") if "topic" in unfit else spec
